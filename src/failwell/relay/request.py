"""One request of the client while it is under way."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from .messages import Message, key_of, params_of, with_id
from .states import State

if TYPE_CHECKING:
    from failwell.recovery import Run

ERA_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_KEY: Final = "io.modelcontextprotocol/clientInfo"
# High among the numbers that fit in 32 bits, where no client counts: most begin at 0.
_LEAST: Final = 1_500_000_000
_MOST: Final = 2**31 - 1


@dataclass(slots=True, eq=False)
class RelayedRequest:
    """What the client asked, as it asked it, and what is known of it."""

    id: Any
    frame: bytes
    message: Message
    method: str
    own_key: bytes
    """Its id, as it can be looked up."""
    key: bytes
    """The id by which the server knows it."""
    state: State = State.NEW
    run: Run | None = None
    """The attempts at it, if it is a call of a tool."""
    tool: str = ""
    is_again: bool = False
    """Whether it was made before, so that an answer to that may still come."""
    losses: int = 0
    """How many servers ended while they had it."""
    last: Any = None
    """What the latest attempt failed with, and the answer that said so."""
    answer: bytes | None = None
    said: Any = None
    """The JSON of that answer, or of as much as is read of it."""
    is_redacted: bool = False
    """Whether something was taken out of that answer."""
    is_vouched: bool = False
    """Whether the operator's rules say of that answer that nothing was done."""
    was_let_down: bool = False
    """Whether the client could not give the server what it asked for meanwhile: then the tool was at work."""
    was_relisted: bool = False
    """Whether the tools were listed anew because of it."""
    deadline: float | None = None
    began: float = 0.0
    ids: list[bytes] = field(default_factory=list)
    """The ids under which it was sent to the server, for each time."""
    claim: str = ""
    """The key under which its answer is kept."""
    joined: str = ""
    """That of the call whose answer it waits for."""
    trace: Mapping[str, str] = field(default_factory=dict)
    """What the transport says of the trace that it belongs to."""
    params: Mapping[str, Any] = field(init=False)
    meta: Mapping[str, Any] = field(init=False)
    arguments: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.params = params = params_of(self.message)
        meta, arguments = params.get("_meta"), params.get("arguments")
        self.meta = meta if type(meta) is dict else {}
        self.arguments = arguments if type(arguments) is dict else {}

    @classmethod
    def of(cls, frame: bytes, message: Message) -> RelayedRequest:
        key = key_of(message["id"])
        return cls(message["id"], frame, message, str(message.get("method")), key, key)

    @property
    def is_call(self) -> bool:
        """Whether it is a call of a tool."""
        return self.method == "tools/call" and isinstance(self.params.get("name"), str)

    @property
    def has_key(self) -> bool:
        """Whether a call was sent with an idempotency key, or with something in its place; null is as if without."""
        from failwell.formats import keys

        return self.meta.get(keys.IDEMPOTENCY_KEY) is not None

    def for_client(self, frame: bytes, message: Message | None) -> bytes:
        """An answer under the id by which the client knows the request."""
        return frame if self.key == self.own_key else with_id(frame, message, self.id)


class OwnIds:
    """Ids that nobody else has given: from a random place on, so that those of two relays differ, too."""

    def __init__(self) -> None:
        self._nonce = os.urandom(4)
        self._count = count(1)

    def new(self, like: type | None, is_taken: Callable[[bytes], bool]) -> int | str:
        """One of the kind that is in use: a text for texts, and otherwise a whole number, which any server takes."""
        start = int.from_bytes(self._nonce)
        while True:
            number = next(self._count)
            id = (
                f"failwell-{self._nonce.hex()}-{number}"
                if like is str
                else _LEAST + (start - number) % (_MOST - _LEAST)
            )
            if not is_taken(key_of(id)):
                return id


def client_name(info: object) -> str | None:
    """A client as `name/version`."""
    if type(info) is not dict or not isinstance(info.get("name"), str):
        return None
    version = info.get("version")
    return f"{info['name']}/{version}" if isinstance(version, str) else str(info["name"])
