"""What stands behind the social example in its tests, and the calls that are made to it one after the other."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from running import Client, Example, talking

from failwell.examples.social.service import Fault, Service

NOW: Final = 1767225600


class World:
    """The network, the database, the policy and the pictures of one server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.service = Service()
        self._db, self._policy = folder / "social.db", folder / "policy.json"
        media = folder / "media"
        media.mkdir()
        (media / "cat.png").write_bytes(b"meow")
        (media / "empty.png").touch()
        (media / "notes.txt").write_text("no picture")
        self.set_policy()
        self._settings = {
            "SOCIAL_API": self.service.url,
            "SOCIAL_DB": str(self._db),
            "SOCIAL_POLICY": str(self._policy),
            "SOCIAL_MEDIA": str(media),
            "SOCIAL_NOW": str(NOW),
        }

    def set_policy(self, **settings: Any) -> None:
        self._policy.write_text(json.dumps(settings))

    def fail(self, request: str, status: int = 0, body: str = "", **more: Any) -> None:
        """The network fails at the next such request."""
        self.service.faults.append(Fault(request, status, body, **more))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Somebody else holds the database."""
        with closing(sqlite3.connect(self._db, isolation_level=None)) as db:
            db.execute("BEGIN EXCLUSIVE")
            yield
            db.execute("ROLLBACK")

    def later(self, seconds: float) -> None:
        """Time goes by for the calls that were made."""
        with closing(sqlite3.connect(self._db)) as db, db:
            db.execute("UPDATE calls SET at = at - ?", (seconds,))

    def texts(self) -> list[str]:
        """What is out on the network."""
        return [post["text"] for post in self.service.posts.values()]

    @contextmanager
    def server(self, transport: str, **settings: str) -> Iterator[Example]:
        errors = self._folder / "errors.log"
        process = Example("social", errors, {**self._settings, **settings}, http=transport == "http")
        try:
            yield process
        finally:
            process.close()

    @contextmanager
    def client(self, transport: str, era: str, **settings: str) -> Iterator[Client]:
        """A client of a server of its own."""
        with (
            self.server(transport, **settings) as process,
            talking(process, era, http=transport == "http") as client,
        ):
            yield client


@dataclass
class Step:
    """One call, the code it must fail with, and what happens before, meanwhile and afterwards."""

    name: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    code: str | None = None
    before: Callable[[World], object] | None = None
    during: Callable[[World], Any] | None = None
    after: Callable[[World], None] | None = None


def told(client: Client, world: World, steps: list[Step]) -> dict[str, Any]:
    """The answers by step."""
    answers: dict[str, Any] = {}
    for step in steps:
        assert step.name not in answers, step.name
        if step.before is not None:
            step.before(world)
        with step.during(world) if step.during is not None else nullcontext():
            answers[step.name] = client.call(step.tool, step.arguments).value
        if step.after is not None:
            step.after(world)
        unused = [fault for fault in world.service.faults if fault.times]
        assert not unused, (step.name, unused, answers[step.name])
    return answers
