"""The tools, and which of them a profile has."""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx2
from mcp.server import MCPServer
from mcp_types import CallToolResult, ToolAnnotations

import failwell as fw
import failwell.server
from failwell.model.declared import declared
from failwell.server import Envelope, reply

from .api import NAMED, UPLOAD, llm_api, x_api
from .codes import ANY, DB, LLM, MEDIA, POLICY, TABLE, S, X, validation_error
from .policy import Once, Policy
from .publishing import Publisher
from .service import TOKEN, Service
from .store import Store
from .weight import check_length

API, WORKFLOW, BOTH = ("api",), ("workflow",), ("workflow", "api")
# What a tool needs, and what it may fail with for that reason.
reads = partial(fw.raises, *ANY, *X, mutation=False, requires=("x_client",))
writes = partial(fw.raises, *ANY, *DB, *X, mutation=True, requires=("x_client", "db"))
posts = partial(writes, S.tweet_too_long, category="write")
decides = partial(fw.raises, *ANY, *DB, requires=("db",), profiles=WORKFLOW)
SUFFIXES: Final = (".png", ".jpg", ".jpeg", ".gif", ".mp4")


class Tools:
    """Each tool says what it may fail with, what it needs, and in which profiles it is; `build` goes by that."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        now = environment.get("SOCIAL_NOW")
        path = environment.get("SOCIAL_DB") or f"{_temporary_folder()}/social.db"
        # With SOCIAL_NOW time stands still, for tests.
        self.store = Store(path, time.time if now is None else lambda: float(now))
        http = httpx2.Client(
            base_url=environment.get("SOCIAL_API") or Service().url,
            timeout=float(environment.get("SOCIAL_TIMEOUT", "5")),
            trust_env=False,
        )
        self.x = x_api(http, environment.get("SOCIAL_TOKEN", TOKEN))
        self.llm = llm_api(http, environment.get("SOCIAL_LLM_KEY", TOKEN))
        self.publisher = Publisher(self.x, self.store)
        self.media = Path(environment.get("SOCIAL_MEDIA", "."))
        mode, approval = environment.get("SOCIAL_MODE", "autopilot"), environment.get("SOCIAL_APPROVAL") == "1"
        self.policy = Policy(environment.get("SOCIAL_POLICY"), mode, approval, self.store)

    @reads(S.not_found, category="read", profiles=BOTH)
    def get_user(self, username: str) -> dict[str, Any]:
        """Read an account."""
        if not re.fullmatch(r"\w{1,15}", username, re.ASCII):
            raise S.invalid_input("That is no username.", suggestion="Use up to 15 letters, digits and underscores.")
        user: dict[str, Any] = self.x.ask("GET", f"/2/users/by/username/{username}", "data", statuses=NAMED)
        return user

    @reads(category="read", profiles=BOTH)
    def list_posts(self, limit: int = 10, cursor: str | None = None) -> CallToolResult:
        """List your own posts, the newest first."""
        if not 1 <= limit <= 100:
            nearest = fw.Patch("set", ("limit",), value=min(max(limit, 1), 100))
            raise S.invalid_input(f"limit is 1 to 100, not {limit}.", patch=[nearest])
        page = self.x.ask("GET", "/2/users/me/tweets", params={"max_results": limit, "pagination_token": cursor or "0"})
        token = page.get("meta", {}).get("next_token")
        pagination = {"result_count": len(page["data"]), "has_more": token is not None}
        if token is not None:
            pagination = {"next_token": token, **pagination}
        return reply({"posts": page["data"]}, meta={"pagination": pagination, "provider_backend": "x_api"})

    @writes(*MEDIA, category="media", profiles=BOTH)
    def upload_media(self, path: str) -> dict[str, Any]:
        """Upload a picture or a film from the media folder, to be posted."""
        file = (self.media / path).resolve()
        if not file.is_relative_to(self.media.resolve()):
            raise S.invalid_input("The path leads out of the media folder.", suggestion="Name a file that is in it.")
        if file.suffix.lower() not in SUFFIXES:
            raise S.unsupported_media_type(f"{file.suffix or file.name} cannot be posted; {', '.join(SUFFIXES)} can.")
        try:
            content = file.read_bytes()
        except OSError as exc:
            raise S.file_read_error(f"{path} cannot be read.", effect="none", cause=exc) from None
        return {"media_id": self.x.ask("POST", "/2/media/upload", "data", "id", content=content, statuses=UPLOAD)}

    @writes(S.thread_partial_failure, S.not_found, category="write", profiles=BOTH)
    def resume_thread(self, thread_id: int) -> dict[str, Any]:
        """Post what is missing of a thread that stopped half way; nothing is posted twice."""
        return self.publisher.resume(thread_id)

    @writes(S.not_found, category="write", profiles=BOTH)
    def delete_post(self, post_id: str) -> dict[str, Any]:
        """Delete a post of your own."""
        self.x.ask("DELETE", f"/2/tweets/{quote(post_id, safe='')}", "data", statuses=NAMED)
        return {"deleted": post_id}

    @posts(profiles=API)
    def x_post(self, text: str, media_id: str | None = None) -> CallToolResult:
        """Post a text."""
        return self._publish([text], media_id)

    @posts(S.thread_partial_failure, profiles=API)
    def x_post_thread(self, texts: list[str]) -> CallToolResult:
        """Post several texts, each as the answer to the one before."""
        return self._publish(_thread(texts))

    @posts(*POLICY, profiles=WORKFLOW)
    def compose_post(self, text: str, media_id: str | None = None) -> CallToolResult:
        """Post a text, or have it approved first, as the policy says."""
        return self._gated([text], media_id)

    @posts(*POLICY, S.thread_partial_failure, profiles=WORKFLOW)
    def compose_thread(self, texts: list[str]) -> CallToolResult:
        """Post several texts, each as the answer to the one before, or have them approved first."""
        return self._gated(_thread(texts))

    @decides(category="approval", mutation=False)
    def list_approvals(self) -> dict[str, Any]:
        """List what waits for approval."""
        return {"waiting": self.store.waiting()}

    @writes(*POLICY, S.thread_partial_failure, S.not_found, category="approval", profiles=WORKFLOW)
    def approve(self, approval_id: int) -> dict[str, Any]:
        """Post what waits for approval."""
        self.policy.check(self._waiting(approval_id))
        self.store.decide(approval_id, "open")
        return self.publisher.resume(approval_id)

    @decides(S.not_found, category="approval", mutation=True)
    def reject(self, approval_id: int) -> dict[str, Any]:
        """Turn down what waits for approval."""
        self._waiting(approval_id)
        self.store.decide(approval_id, "rejected")
        return {"rejected": approval_id}

    @decides(S.tweet_too_long, category="content", mutation=True)
    def save_draft(self, text: str) -> dict[str, Any]:
        """Keep a text for later."""
        _check(text)
        return {"draft_id": self.store.add_draft(text), "text": text}

    @decides(*LLM, S.tweet_too_long, category="content", mutation=True, requires=("llm", "db"))
    def write_draft(self, topic: str) -> dict[str, Any]:
        """Have the language model write a draft."""
        return self.save_draft(self.llm.ask("POST", "/v1/completions", "choices", 0, "text", json={"prompt": topic}))

    @posts(*POLICY, S.not_found, profiles=WORKFLOW)
    def post_draft(self, draft_id: int) -> CallToolResult:
        """Post a draft, or have it approved first."""
        drafts = self.store.drafts()
        if draft_id not in drafts:
            known = ", ".join(map(str, drafts)) or "none"
            raise S.not_found(f"There is no draft {draft_id}; there are: {known}.", actions=["save_draft"])
        return self._gated([drafts[draft_id]])

    @reads(S.context_error, S.not_found, category="context", profiles=WORKFLOW)
    def author_context(self, username: str) -> dict[str, Any]:
        """What there is to know about an author before answering them."""
        user = self.get_user(username)
        if user["protected"]:
            raise S.context_error(f"@{username} shows nothing to strangers.", suggestion="Do without the context.")
        return {"username": username, "reach": "wide" if user["followers_count"] > 1000 else "small"}

    @reads(S.recommendation_error, S.not_found, category="context", profiles=WORKFLOW)
    def recommend_action(self, post_id: str) -> dict[str, Any]:
        """Whether a post of yours deserves another one."""
        metrics = self.x.ask("GET", f"/2/tweets/{quote(post_id, safe='')}", "data", "public_metrics", statuses=NAMED)
        if metrics is None:
            raise S.recommendation_error(f"Nobody has counted post {post_id} yet.", suggestion="Decide without it.")
        return {"post_id": post_id, "action": "follow_up" if metrics["like_count"] >= 10 else "leave"}

    @reads(S.topic_error, category="analytics", profiles=WORKFLOW)
    def topic_performance(self, topic: str) -> dict[str, Any]:
        """How posts about a topic do."""
        likes = [each["public_metrics"]["like_count"] for each in self._counted() if topic in each["text"]]
        if len(likes) < 2:
            raise S.topic_error(f"It takes 2 posts about {topic}, and there are {len(likes)}.", suggestion="Post more.")
        return {"topic": topic, "posts": len(likes), "likes": sum(likes) / len(likes)}

    @reads(category="analytics", profiles=WORKFLOW)
    def export_analytics(self) -> dict[str, Any]:
        """The numbers of all posts as one JSON text."""
        try:
            return {"json": json.dumps(self._counted(), allow_nan=False)}
        except ValueError as exc:
            raise S.serialization_error("X reports a number that JSON cannot hold.", effect="none", cause=exc) from None

    def _publish(self, texts: list[str], media: str | None = None) -> CallToolResult:
        _check(*texts)
        done = self.publisher.publish(texts, media)
        undo = [{"tool": "delete_post", "arguments": {"post_id": post}} for post in reversed(done["posts"])]
        return reply({"status": "posted", **done}, meta={"provider_backend": "x_api", "rollback": undo})

    def _gated(self, texts: list[str], media: str | None = None) -> CallToolResult:
        _check(*texts)
        self.policy.check(texts)
        if not self.policy.approval():
            return self._publish(texts, media)
        thread, _ = self.store.begin(texts, media, "waiting")
        return reply({"status": "routed_to_approval", "approval_id": thread})

    def _waiting(self, approval: int) -> list[str]:
        thread = self.store.thread(approval, "waiting")
        if thread is None:
            raise S.not_found(f"Nothing with the id {approval} waits for approval.", actions=["list_approvals"])
        return thread.texts

    def _counted(self) -> list[dict[str, Any]]:
        posts = self.x.ask("GET", "/2/users/me/tweets", "data", params={"max_results": 100})
        return [each for each in posts if each["public_metrics"] is not None]


def _temporary_folder() -> str:
    folder = tempfile.mkdtemp(prefix="social-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _thread(texts: list[str]) -> list[str]:
    if not 2 <= len(texts) <= 25:
        raise S.invalid_input(f"A thread has 2 to 25 posts, not {len(texts)}.")
    return texts


def _check(*texts: str) -> None:
    if not all(text.strip() for text in texts):
        raise validation_error(text="A post must not be empty.")
    check_length(*texts)


def build(environment: Mapping[str, str] = os.environ) -> MCPServer[Any]:
    profile = environment.get("SOCIAL_PROFILE", "workflow")
    if profile not in BOTH:
        raise ValueError(f"SOCIAL_PROFILE is api or workflow, not {profile!r}.")
    tools = Tools(environment)
    if profile == "api":
        envelope = Envelope(profile="api", strict=True)
    else:
        mode, approval = tools.policy.mode, tools.policy.approval
        envelope = Envelope(profile="workflow", mode=mode, approval_mode=approval, strict=True)
    server = MCPServer[Any]("social", log_level="ERROR")
    for name in vars(Tools):
        tool, said = getattr(tools, name), declared(getattr(tools, name))
        if profile in said.profiles:
            hints = ToolAnnotations(read_only_hint=not said.mutation, destructive_hint=name == "delete_post")
            function = Once(name, tools.store)(tool) if said.mutation else tool
            server.add_tool(function, annotations=hints, structured_output=False)
    return failwell.server.install(server, format=envelope, table=TABLE)
