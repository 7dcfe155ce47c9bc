"""Posting, one after the other, in such a way that nothing is posted twice."""

from __future__ import annotations

import sqlite3
import threading

import failwell as fw

from .api import Api
from .codes import S, db_error
from .store import Store, Thread

_alone = threading.Lock()


def publish(x: Api, store: Store, id: int) -> list[str]:
    """Post what is missing of a thread. What went out without our hearing of it is found, not posted again."""
    with _alone:
        thread = store.thread(id, "open")
        missing = thread.texts[len(thread.posted) :]
        try:
            out = _out(x, store) if missing else {}
            for text in missing:
                before = thread.posted[-1] if thread.posted else None
                post = out.get((before, text)) or _send(x, text, before, thread.media)
                store.add_post(id, len(thread.posted), post)
                thread.posted.append(post)
        except fw.ToolError as error:
            raise _stopped(thread, error) from None
        except sqlite3.Error as exc:
            raise _stopped(thread, db_error(exc).replace(effect="unknown")) from None
        return thread.posted


def _send(x: Api, text: str, before: str | None, media: str | None) -> str:
    reply = {"reply": {"in_reply_to_tweet_id": before}} if before else {}
    picture = {"media": {"media_ids": [media]}} if media and not before else {}
    return str(x.ask("POST", "/2/tweets", "data", "id", json={"text": text, **reply, **picture}))


def _out(x: Api, store: Store) -> dict[tuple[str | None, str], str]:
    """The latest posts that we know nothing of, by what they answer and say."""
    posts = x.ask("GET", "/2/users/me/tweets", "data", params={"max_results": 100})
    known = store.posts()
    return {(each["reply_to"], each["text"]): each["id"] for each in posts if each["id"] not in known}


def _stopped(thread: Thread, error: fw.ToolError) -> fw.ToolError:
    rest = {"tool": "resume_thread", "description": "Posts what is missing.", "arguments": {"thread_id": thread.id}}
    if thread.posted:
        count, size, wait = len(thread.posted), len(thread.texts), error.retry_after
        text = f"{count} of {size} posts are out ({', '.join(thread.posted)}), then it failed: {error.message}"
        advice = f"Wait {wait} seconds before you post the rest." if wait else None
        about = {"thread_id": thread.id, "posted": thread.posted, "missing": size - count, "cause": error.code}
        return S.thread_partial_failure(
            text, suggestion=advice, retry_after=wait, actions=[rest], details=about, cause=error
        )
    if error.effect == "none":
        return error
    return error.replace(verify="list_posts", actions=[rest])
