"""The library as a service: HTTP on loopback, an API key, and faults that can be switched on."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

from failwell.examples.loopback import JSON, Answer, Loopback, Request

from .store import Store


class Refusal(NamedTuple):
    """An answer that is no success."""

    status: int
    error: str
    headers: Mapping[str, str] = {}


class Service(Loopback):
    """`fault` is what happens to every request instead of its answer: another one, none at all before `resume` is set
    ("silence"), none ever ("hang up"), or one that is not JSON ("garbage").
    """

    def __init__(self, store: Store, api_key: str, port: int = 0) -> None:
        self.store = store
        self.api_key = api_key
        self.fault: Refusal | Literal["silence", "hang up", "garbage"] | None = None
        self.resume = threading.Event()
        super().__init__(port)

    def close(self) -> None:
        self.resume.set()
        super().close()

    def answer(self, request: Request) -> Answer | None:
        said: Any = self.fault
        if said == "silence":
            self.resume.wait()
        if said in ("silence", "hang up"):
            return None
        if said == "garbage":
            return 200, "<html>Please log in to the guest network.</html>", JSON
        if said is None and request.headers.get("x-api-key") != self.api_key:
            said = Refusal(401, "Authentication required: Missing or invalid API key")
        try:
            said = self.read(request.path, request.query) if said is None else said
        except sqlite3.Error:
            said = Refusal(500, "Internal server error: Database connection failed")
        if isinstance(said, Refusal):
            return said.status, json.dumps({"error": said.error}), {**JSON, **said.headers}
        return 200, json.dumps(said), JSON

    def read(self, path: str, query: Mapping[str, str]) -> Any:
        """What a request is answered with."""
        match [unquote(part) for part in path.removeprefix("/").split("/")]:
            case ["api", "patterns"]:
                return self._search(**query)
            case ["api", "patterns", id] if pattern := self.store.pattern(id):
                return pattern
            case ["api", "suggestions", id]:
                return self.store.similar(id, 5)
            case ["api", "rule-sets", name] if rules := self.store.rules(name):
                return rules
        return Refusal(404, f"Resource not found: {path}")

    def _search(self, query: str = "", category: str | None = None, limit: str = "10") -> Any:
        if category is not None and category not in (known := self.store.categories()):
            return Refusal(400, f"Invalid request: category must be one of {', '.join(known)}")
        if not limit.isdecimal() or not 1 <= int(limit) <= 100:
            return Refusal(400, "Invalid request: limit must be between 1 and 100")
        return self.store.search(query, category, int(limit))
