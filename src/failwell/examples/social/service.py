"""A social network on loopback, for one user, with a language model beside it. It fails when it is told to."""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

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


class Service:
    def __init__(self) -> None:
        self.posts: dict[str, Json] = {}
        self.asked: Counter[str] = Counter()
        self.faults: list[Fault] = []
        self._count = 1000
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"service": self}))
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()

    def wait(self, seconds: float) -> None:
        self._ended.wait(seconds)

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

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: bytes) -> tuple[int, Json]:
        with self._lock:
            match method, *path.strip("/").split("/"):
                case ["POST", "2", "tweets"]:
                    return 201, {"data": self._post(json.loads(body))}
                case ["DELETE", "2", "tweets", id] if self.posts.pop(id, None):
                    return 200, {"data": {"deleted": True}}
                case ["GET", "2", "users", "me", "tweets"]:
                    return 200, self._page(int(query["max_results"][0]), int(query.get("pagination_token", ["0"])[0]))
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


class _Handler(BaseHTTPRequestHandler):
    service: Service

    def _serve(self) -> None:
        address, method = urlsplit(self.path), self.command
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        fault = self.service.fault(f"{method} {address.path}")
        if fault is None or fault.done:
            if self.headers.get("authorization") == f"Bearer {TOKEN}":
                try:
                    status, data = self.service.answer(method, address.path, parse_qs(address.query), body)
                except (ValueError, LookupError, TypeError):
                    status, data = 400, {"title": "Bad Request", "detail": "the request makes no sense"}
            else:
                status, data = 401, {"title": "Unauthorized", "detail": "the token has expired"}
        if fault is None:
            self._send(status, json.dumps(data), {"content-type": "application/json"})
        elif fault.status:
            self._send(fault.status, fault.body, fault.headers)
        else:
            self.service.wait(fault.seconds)

    do_GET = do_POST = do_DELETE = _serve

    def _send(self, status: int, body: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Standard output belongs to the protocol."""
