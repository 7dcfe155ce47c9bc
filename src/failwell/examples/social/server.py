"""The tools, and which of them a profile has."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import httpx2
from mcp.server import MCPServer
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import Field

import failwell as fw
import failwell.server
from failwell.server import Envelope, reply

from .api import LLM_STATUSES, UPLOAD_STATUSES, X_STATUSES, Api
from .codes import MEDIA, NEEDS, POLICY, TABLE, S, checked, llm_not_configured, x_not_configured
from .policy import Once, Policy
from .publishing import publish
from .service import TOKEN, Service
from .store import State, Store

API, WORKFLOW, BOTH = ("api",), ("workflow",), ("workflow", "api")
X, DB, X_DB, LLM_DB = ("x_client",), ("db",), ("x_client", "db"), ("llm", "db")
SUFFIXES: Final = (".png", ".jpg", ".jpeg", ".gif", ".mp4")
MINE: Final = "/2/users/me/tweets"

Texts = Annotated[list[str], Field(min_length=1, max_length=25, description="A post, or several: a thread")]
PostId = Annotated[str, Field(pattern=r"^\d{1,20}$")]
Words = tuple[str, ...]
Function = Callable[..., Any]


def profiles(environment: Mapping[str, str] = os.environ) -> list[MCPServer[Any]]:
    """The server in each of its profiles: what the manifest is made of."""
    return [build({**environment, "SOCIAL_PROFILE": profile}) for profile in BOTH]


def build(environment: Mapping[str, str] = os.environ) -> MCPServer[Any]:
    get = environment.get
    profile: Any = get("SOCIAL_PROFILE", "workflow")
    now = get("SOCIAL_NOW")
    path = get("SOCIAL_DB") or f"{tempfile.mkdtemp(prefix='social-')}/social.db"
    # With SOCIAL_NOW time stands still, for tests.
    store = Store(path, time.time if now is None else lambda: float(now))
    url, timeout = get("SOCIAL_API") or Service().url, float(get("SOCIAL_TIMEOUT", "5"))
    http = httpx2.Client(base_url=url, timeout=timeout, trust_env=False)
    key = get("SOCIAL_LLM_KEY", TOKEN)
    x = Api("X", http, get("SOCIAL_TOKEN", TOKEN), x_not_configured, S.x_network_error, X_STATUSES)
    llm = Api("The language model", http, key, llm_not_configured, S.llm_error, LLM_STATUSES, only_reads=True)
    media = Path(get("SOCIAL_MEDIA", ".")).resolve()
    server = MCPServer[Any]("social", log_level="ERROR")

    def tool(category: str, needs: Words, profiles: Words, *codes: fw.Code, changes: bool = True) -> Function:
        """A tool of some profiles: what it may fail with is what it needs, what is its own, and what any tool may."""
        every = (S.validation_error, S.serialization_error, *codes, *(code for need in needs for code in NEEDS[need]))
        raises = fw.raises(*every, category=category, mutation=changes, requires=needs, profiles=profiles)

        def register(function: Function) -> Function:
            if profile in profiles:
                ruled = Once(function.__name__, store)(function) if changes else function
                hints = ToolAnnotations(read_only_hint=not changes, destructive_hint=category == "delete")
                server.add_tool(raises(ruled), annotations=hints, structured_output=False)
            return function

        return register

    def policy() -> Policy:
        return Policy.read(get("SOCIAL_POLICY"))

    def posted(thread: int) -> CallToolResult:
        posts = publish(x, store, thread)
        undo = [{"tool": "delete_post", "arguments": {"post_id": post}} for post in reversed(posts)]
        done = {"status": "posted", "thread_id": thread, "posts": posts}
        return reply(done, meta={"provider_backend": "x_api", "rollback": undo})

    def waiting(texts: list[str], media: str | None = None) -> CallToolResult:
        thread = store.begin(texts, media, "waiting")
        return reply({"status": "routed_to_approval", "thread_id": thread, "texts": texts})

    def counted() -> list[dict[str, Any]]:
        posts = x.ask("GET", MINE, "data", params={"max_results": 100})
        return [each for each in posts if each["public_metrics"] is not None]

    @tool("write", X_DB, API, S.tweet_too_long, S.thread_partial_failure)
    def x_post(texts: Texts, media_id: str | None = None) -> CallToolResult:
        """Post a text, or several, each as the answer to the one before."""
        return posted(store.begin(checked(texts), media_id, "open"))

    @tool("write", X_DB, WORKFLOW, S.tweet_too_long, S.thread_partial_failure, *POLICY)
    def compose_post(texts: Texts, media_id: str | None = None) -> CallToolResult:
        """Post a text, or several as a thread, or have them approved first, as the policy says."""
        policy().check(checked(texts), store)
        return waiting(texts, media_id) if policy().asks() else posted(store.begin(texts, media_id, "open"))

    @tool("write", X_DB, BOTH, S.thread_partial_failure)
    def resume_thread(thread_id: int) -> CallToolResult:
        """Post what is missing of a thread that stopped half way; nothing is posted twice."""
        return posted(thread_id)

    @tool("read", DB, BOTH, changes=False)
    def list_threads(state: State) -> dict[str, Any]:
        """List what waits for approval, what was posted and how far, or what was turned down."""
        return {"threads": [vars(thread) for thread in store.threads(state)]}

    @tool("approval", X_DB, WORKFLOW, S.thread_partial_failure, *POLICY)
    def decide(thread_id: int, approve: bool) -> CallToolResult:
        """Post what waits for approval, or turn it down."""
        # A call that failed after the approval may be made again.
        thread = store.thread(thread_id, "waiting", "open")
        if approve:
            policy().check(thread.texts[len(thread.posted) :], store)
        store.move(thread_id, "open" if approve else "rejected")
        return posted(thread_id) if approve else reply({"status": "rejected", "thread_id": thread_id})

    @tool("content", LLM_DB, WORKFLOW, S.tweet_too_long)
    def write_draft(topic: str) -> CallToolResult:
        """Have the language model write a draft, to be approved or rejected."""
        return waiting(checked([llm.ask("POST", "/v1/completions", "choices", 0, "text", json={"prompt": topic})]))

    @tool("media", X_DB, BOTH, *MEDIA)
    def upload_media(path: str) -> dict[str, Any]:
        """Upload a picture or a film from the media folder, to be posted."""
        file = (media / path).resolve()
        if not file.is_relative_to(media):
            raise S.invalid_input("The path leads out of the media folder.", suggestion="Name a file that is in it.")
        if file.suffix.lower() not in SUFFIXES:
            raise S.unsupported_media_type(f"{file.suffix or file.name} cannot be posted; {', '.join(SUFFIXES)} can.")
        try:
            content = file.read_bytes()
        except OSError as exc:
            raise S.file_read_error(f"{path} cannot be read.", effect="none") from exc
        return {"media_id": x.ask("POST", "/2/media/upload", "data", "id", content=content, statuses=UPLOAD_STATUSES)}

    @tool("read", X, BOTH, changes=False)
    def list_posts(limit: Annotated[int, Field(ge=1, le=100)] = 10, cursor: str = "0") -> CallToolResult:
        """List your own posts, the newest first."""
        page = x.ask("GET", MINE, params={"max_results": limit, "pagination_token": cursor})
        pagination = {**page["meta"], "result_count": len(page["data"]), "has_more": "next_token" in page["meta"]}
        return reply({"posts": page["data"]}, meta={"pagination": pagination, "provider_backend": "x_api"})

    @tool("delete", X_DB, BOTH)
    def delete_post(post_id: PostId) -> dict[str, Any]:
        """Delete a post of your own."""
        x.ask("DELETE", f"/2/tweets/{post_id}", "data")
        return {"deleted": post_id}

    @tool("context", X, WORKFLOW, S.context_error, changes=False)
    def author_context(username: Annotated[str, Field(pattern=r"^[A-Za-z0-9_]{1,15}$")]) -> dict[str, Any]:
        """What there is to know about an author before answering them."""
        user = x.ask("GET", f"/2/users/by/username/{username}", "data")
        if user["protected"]:
            raise S.context_error(f"@{username} shows nothing to strangers.", suggestion="Do without the context.")
        return {"username": username, "reach": "wide" if user["followers_count"] > 1000 else "small"}

    @tool("context", X, WORKFLOW, S.recommendation_error, changes=False)
    def recommend_action(post_id: PostId) -> dict[str, Any]:
        """Whether a post of yours deserves another one."""
        likes = [each["public_metrics"]["like_count"] for each in counted() if each["id"] == post_id]
        if not likes:
            raise S.recommendation_error(f"Nobody has counted post {post_id} yet.", suggestion="Decide without it.")
        return {"post_id": post_id, "action": "follow_up" if likes[0] >= 10 else "leave"}

    @tool("analytics", X, WORKFLOW, S.topic_error, changes=False)
    def topic_performance(topic: str) -> dict[str, Any]:
        """How posts about a topic do."""
        likes = [each["public_metrics"]["like_count"] for each in counted() if topic in each["text"]]
        if len(likes) < 2:
            raise S.topic_error(f"It takes 2 posts about {topic}, and there are {len(likes)}.", suggestion="Post more.")
        return {"topic": topic, "posts": len(likes), "likes": sum(likes) / len(likes)}

    @tool("analytics", X, WORKFLOW, changes=False)
    def export_analytics() -> dict[str, Any]:
        """The numbers of all posts as one JSON text."""
        try:
            return {"json": json.dumps(counted(), allow_nan=False)}
        except ValueError as exc:
            raise S.serialization_error("X reports a number that JSON cannot hold.", effect="none") from exc

    modes: dict[str, Any] = {"mode": lambda: policy().mode, "approval_mode": lambda: policy().asks()}
    envelope = Envelope(profile=profile, strict=True, **(modes if profile == "workflow" else {}))
    return failwell.server.install(server, format=envelope, table=TABLE)
