"""Which read call tells whether a call took effect, guessed from what the server lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from failwell.model.decide import Traits
from failwell.model.parts import Action

_READS: Final = frozenset(
    "get list find search read show fetch describe query lookup view check status count history".split()
)
_DOES: Final = frozenset(
    """create add make new insert send submit post put update set edit change modify patch delete remove drop cancel
    close open start stop run execute apply book order buy pay charge refund transfer move copy upload write save
    publish approve reject assign invite register issue""".split()
)
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# A stem that short says nothing: `up` is in `upload` and in `update`.
_SHORTEST_STEM: Final = 3


def find_check(tool: str, arguments: Mapping[str, Any], tools: Iterable[Any], *, trusted: bool = True) -> Action | None:
    """A tool of the server that only reads, is about the same thing, and can be called with what the call held.

    >>> listed = [{"name": "get_order", "inputSchema": {"properties": {"id": {}}, "required": ["id"]}}]
    >>> find_check("cancel_order", {"id": 7, "reason": "late"}, listed)
    Action(tool='get_order', description=None, arguments={'id': 7})
    """
    best: tuple[int, int, int] | None = None
    found = None
    things = _things(tool)
    for listed in tools:
        traits = Traits.of(listed)
        if traits.name is None or traits.name == tool or not _reads(traits, trusted):
            continue
        shared = sum(any(_related(one, other) for other in things) for one in _things(traits.name))
        sent, is_whole = _arguments(listed, arguments)
        if not shared or not is_whole:
            continue
        rank = (shared, len(sent), _verb(traits.name) == "get")
        if best is None or rank > best:
            best, found = rank, Action(traits.name, arguments=sent or None)
    return found


def _reads(tool: Traits, trusted: bool) -> bool:
    if tool.read_only is not None and trusted:
        return tool.read_only
    return tool.read_only is not False and _verb(tool.name or "") in _READS


def _arguments(listed: Any, sent: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """What of the arguments a tool takes too, and whether that is all it needs."""
    schema = listed.get("inputSchema") if isinstance(listed, Mapping) else getattr(listed, "input_schema", None)
    taken = schema.get("properties") if isinstance(schema, Mapping) else None
    required = schema.get("required") if isinstance(schema, Mapping) else None
    names = taken if isinstance(taken, Mapping) else {}
    needed = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    fitting = {name: sent[name] for name in names if name in sent}
    return fitting, all(name in fitting for name in needed)


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _verb(name: str) -> str | None:
    """What a tool does: the first word for it. A later one is a thing, as in `cancel_order`."""
    return next((word for word in _words(name) if word in _READS or word in _DOES), None)


def _things(name: str) -> set[str]:
    """What a tool is about: the other words of its name, or what it does if there is nothing else."""
    verb = _verb(name)
    return {word for word in _words(name) if word != verb} or ({verb} if verb in _DOES else set())


def _related(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) >= _SHORTEST_STEM and longer.startswith(shorter.removesuffix("s") or shorter)
