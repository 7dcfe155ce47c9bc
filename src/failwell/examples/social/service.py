"""A social network on loopback, for one user, with a language model beside it. It fails when it is told to."""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from failwell.examples.loopback import JSON, Answer, Loopback, Request

Json = dict[str, Any]
TOKEN: Final = "demo"
USERS: Final[dict[str, Json]] = {
    "ann": {"id": "u1", "username": "ann", "protected": False, "followers_count": 1200},
    "ghost": {"id": "u2", "username": "ghost", "protected": True, "followers_count": 3},
}


@dataclass
class Fault:
    """What happens instead of an answer to `request`, such as "POST /2/tweets": after `skip` of them, `times` times.

    Status 0 hangs up, after `seconds`. With `done` the request is carried out first, and only its answer is lost.
    """

    request: str
    status: int = 0
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    skip: int = 0
    times: int = 1
    seconds: float = 0
    done: bool = False


class Service(Loopback):
    def __init__(self) -> None:
        self.posts: dict[str, Json] = {}
        self.asked: Counter[str] = Counter()
        self.faults: list[Fault] = []
        self._count = 1000
        self._lock = threading.Lock()
        super().__init__()

    def fault(self, request: str) -> Fault | None:
        with self._lock:
            self.asked[request] += 1
            found = next((each for each in self.faults if each.request == request and each.times > 0), None)
            if found is None or found.skip > 0:
                if found is not None:
                    found.skip -= 1
                return None
            found.times -= 1
            return found

    def answer(self, request: Request) -> Answer | None:
        fault = self.fault(f"{request.method} {request.path}")
        if fault is None or fault.done:
            if request.headers.get("authorization") == f"Bearer {TOKEN}":
                try:
                    status, data = self._answer(request.method, request.path, request.query, request.body)
                except (ValueError, LookupError, TypeError):
                    status, data = 400, {"title": "Bad Request", "detail": "the request makes no sense"}
            else:
                status, data = 401, {"title": "Unauthorized", "detail": "the token has expired"}
        if fault is None:
            return status, json.dumps(data), JSON
        if fault.status:
            return fault.status, fault.body, fault.headers
        self.ended.wait(fault.seconds)
        return None

    def _answer(self, method: str, path: str, query: dict[str, str], body: bytes) -> tuple[int, Json]:
        with self._lock:
            match method, *path.strip("/").split("/"):
                case ["POST", "2", "tweets"]:
                    return 201, {"data": self._post(json.loads(body))}
                case ["DELETE", "2", "tweets", id] if self.posts.pop(id, None):
                    return 200, {"data": {"deleted": True}}
                case ["GET", "2", "users", "me", "tweets"]:
                    return 200, self._page(int(query["max_results"]), int(query.get("pagination_token", "0")))
                case ["GET", "2", "users", "by", "username", name] if name in USERS:
                    return 200, {"data": USERS[name]}
                case ["POST", "2", "media", "upload"] if body:
                    return 200, {"data": {"id": f"m{len(body)}"}}
                case ["POST", "v1", "completions"]:
                    return 200, {"choices": [{"text": f"Some thoughts about {json.loads(body)['prompt']}."}]}
            return (400, {"detail": "the file is empty"}) if method == "POST" else (404, {"detail": "no such thing"})

    def _post(self, sent: Json) -> Json:
        self._count += 1
        metrics = {"like_count": 10 * len(self.posts), "reply_count": len(self.posts)} if "#" in sent["text"] else None
        reply_to = sent.get("reply", {}).get("in_reply_to_tweet_id")
        post = {"id": str(self._count), "text": sent["text"], "reply_to": reply_to, "public_metrics": metrics}
        self.posts[post["id"]] = post
        return post

    def _page(self, size: int, start: int) -> Json:
        newest = list(self.posts.values())[::-1]
        more = {"next_token": str(start + size)} if start + size < len(newest) else {}
        return {"data": newest[start : start + size], "meta": more}
