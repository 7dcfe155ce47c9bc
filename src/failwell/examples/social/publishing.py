"""Posting, one after the other, in such a way that nothing is posted twice."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from typing import Any

import failwell as fw

from .api import Api
from .codes import S, db_error
from .store import Store, Thread


class Publisher:
    def __init__(self, x: Api, store: Store) -> None:
        self._x, self._store = x, store
        self._alone = threading.Lock()

    def publish(self, texts: Sequence[str], media: str | None = None) -> dict[str, Any]:
        thread, new = self._store.begin(texts, media)
        return self.resume(thread, look_first=not new)

    def resume(self, id: int, *, look_first: bool = True) -> dict[str, Any]:
        """Post what is missing of a thread. What went out without our hearing of it is found, not posted again."""
        with self._alone:
            return self._resumed(id, look_first)

    def _resumed(self, id: int, look_first: bool) -> dict[str, Any]:
        thread = self._store.thread(id)
        if thread is None:
            raise S.not_found(f"There is no thread {id} to go on with.", actions=["list_posts"])
        out = self._out() if look_first and len(thread.posted) < len(thread.texts) else {}
        for text in thread.texts[len(thread.posted) :]:
            before = thread.posted[-1] if thread.posted else None
            try:
                post = out.get((before, text)) or self._send(text, before, thread.media)
                self._store.posted(id, len(thread.posted), post)
            except fw.ToolError as error:
                raise _stopped(thread, error) from None
            except sqlite3.Error as exc:
                raise _stopped(thread, db_error(exc).replace(effect="unknown")) from None
            thread.posted.append(post)
        return {"thread_id": id, "posts": thread.posted}

    def _send(self, text: str, before: str | None, media: str | None) -> str:
        post: dict[str, Any] = {"text": text}
        if before is not None:
            post["reply"] = {"in_reply_to_tweet_id": before}
        elif media is not None:
            post["media"] = {"media_ids": [media]}
        return str(self._x.ask("POST", "/2/tweets", "data", "id", json=post))

    def _out(self) -> dict[tuple[str | None, str], str]:
        """The latest posts that we know nothing of, by what they answer and say."""
        posts = self._x.ask("GET", "/2/users/me/tweets", "data", params={"max_results": 100})
        return {(each["reply_to"], each["text"]): each["id"] for each in posts if not self._store.knows(each["id"])}


def _stopped(thread: Thread, error: fw.ToolError) -> fw.ToolError:
    rest = fw.Action("resume_thread", "Posts what is missing.", {"thread_id": thread.id})
    unclear = error.effect is not fw.Effect.NONE
    if not thread.posted:
        return error.replace(verify=fw.Action("list_posts"), actions=[rest]) if unclear else error
    count, size = len(thread.posted), len(thread.texts)
    wait = f"Wait {error.retry_after} seconds before you post the rest." if error.retry_after else None
    return S.thread_partial_failure(
        f"{count} of {size} posts are out ({', '.join(thread.posted)}), then it failed: {error.message}",
        suggestion=wait,
        retry_after=error.retry_after,
        reset_at=error.reset_at,
        actions=[rest],
        details={"thread_id": thread.id, "posted": thread.posted, "missing": size - count, "cause": error.code},
        cause=error,
    )
