"""What the pairs of `twins.mjs` are about: servers on the official TypeScript SDK, of both its lines."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any, Final

from desk import Desk
from twins import Seen, Twin

HERE: Final = Path(__file__).parent
_NO_BOOK: Final = ("get_book", {"book_id": "bk_999"})


def _twin(name: str, on: str, group: str, question: str, ask: tuple[str, dict[str, Any]], shows: Any) -> Twin:
    return Twin(f"ts-{name}", on, group, question, Desk, ask, shows)


TS_TWINS: Final = (
    _twin("stack", "v1", "safety", "a stack trace with a password", _NO_BOOK, lambda s: "    at " in s.text),
    _twin("as-success", "low", "structure", "a failure without isError", _NO_BOOK, lambda s: not s.is_error),
    _twin("object", "v1", "action", "[object Object]", _NO_BOOK, lambda s: "[object Object]" in s.text),
    _twin("thrown", "low", "protocol", "-32603 for a failure of the tool", _NO_BOOK, lambda s: s.code == -32603),
    _twin("type-error", "low", "action", "a missing argument met by the engine's own TypeError", ("get_book", {}), lambda s: "Cannot read" in s.text),
    _twin("strips", "v1", "recovery", "an unknown argument ignored", ("get_book", {"book_id": "bk_1", "zz": 1}), lambda s: not s.is_error),
    _twin("strips-2", "v2", "recovery", "an unknown argument ignored", ("get_book", {"book_id": "bk_1", "zz": 1}), lambda s: not s.is_error),
    _twin("exits", "low", "recovery", "the process ends at a wrong type", ("get_book", {"book_id": 1}), lambda s: not s.alive),
    _twin("console", "v1", "protocol", "words on stdout in the middle of a call", _NO_BOOK, lambda s: any("noise" in frame for frame in s.frames)),
    _twin("token", "v2", "safety", "the server's own key", _NO_BOOK, lambda s: "sk-live" in s.text),
    _twin("any-tool", "low", "protocol", "an unknown tool that succeeds", ("no_such_tool", {}), lambda s: s.result and not s.is_error),
    _twin("hangs", "low", "recovery", "no answer to a wrong type", ("get_book", {"book_id": 1}), lambda s: not s.frames and s.alive),
    _twin("retryable", "v2", "recovery", "said to be retriable, and is not", _NO_BOOK, lambda s: '"retriable":true' in s.text),
    _twin("page", "v2", "cost", "60 kB of HTML", _NO_BOOK, lambda s: len(s.text) > 60_000),
)  # fmt: skip


def ts_command(name: str, bad: bool) -> list[str]:
    """The node of the project itself comes first."""
    own = Path(sys.executable).parent / "node"
    node = str(own) if own.exists() else shutil.which("node")
    assert node is not None, "there is no node"
    return [node, str(HERE / "twins.mjs"), name, "--bad" if bad else "--good"]


__all__ = ["TS_TWINS", "Seen", "ts_command"]
