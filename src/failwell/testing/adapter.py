"""Failwell behind the conformance protocol: one JSON request per line in, one JSON answer per line out.

`failwell conformance -- python -m failwell.testing.adapter` tests Failwell itself, and this file shows authors of other
implementations what each operation is given and what it gives.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from failwell.formats import FORMATS, Outcome, canonical, losses, parse, to_wire
from failwell.model import Json, Policy, ToolError, decide, instant


class Unsupported(Exception):
    """An operation or a format that this implementation does not have."""


def perform(operation: str, format: str, options: Mapping[str, Any], given: Json) -> Json:
    """What the library makes of one request."""
    if operation not in _OPERATIONS or (operation != "decide" and format not in FORMATS):
        raise Unsupported
    return _OPERATIONS[operation](format, dict(options), given)


def _render(format: str, options: dict[str, Any], given: Json) -> Json:
    if "now" in options:
        options["now"] = instant(options["now"])
    return to_wire(read(given), format, **options)


def _parse(format: str, options: dict[str, Any], given: Json) -> Json:
    outcome = parse(given, format)
    if not isinstance(outcome, ToolError):
        return None if outcome is None else outcome.to_dict()
    data = outcome.to_dict(provenance=False)
    return {**data, "legacy": True} if outcome.legacy else data


def _losses(format: str, options: dict[str, Any], given: Json) -> Json:
    return sorted(losses(read(given), format))


def _decide(format: str, options: dict[str, Any], given: Json) -> Json:
    decision = decide(
        _as_read(given),
        tool=options.get("tool"),
        delivery=options.get("delivery"),
        history=[error for item in options.get("history", ()) if isinstance(error := _as_read(item), ToolError)],
        policy=Policy(**options.get("policy", {})),
        now=instant(options.get("now")),
    )
    data: dict[str, Json] = {"next": decision.next.value}
    return data if decision.delay is None else {**data, "delay": decision.delay}


_OPERATIONS: dict[str, Callable[[str, dict[str, Any], Json], Json]] = {
    "render": _render,
    "parse": _parse,
    "losses": _losses,
    "decide": _decide,
}


def read(given: Json) -> Outcome:
    """The outcome behind a canonical object."""
    outcome = canonical.load(given) if isinstance(given, Mapping) else None
    if outcome is None:
        raise ValueError("the input is not a canonical object")
    return outcome


def _as_read(given: Json) -> Outcome:
    """The same, with where it came from, which a decision may depend on."""
    outcome = read(given)
    if isinstance(outcome, ToolError):
        outcome = outcome.replace(**{name: given[name] for name in ("origin", "format") if name in given})
    return outcome


def answer(line: bytes) -> dict[str, Json]:
    """The answer to one request."""
    id: Json = None
    try:
        request = json.loads(line)
        id = request["id"]
        return {"id": id, "output": perform(*(request[name] for name in ("operation", "format", "options", "input")))}
    except Unsupported:
        return {"id": id, "unsupported": True}
    except Exception as problem:
        return {"id": id, "error": f"{type(problem).__name__}: {problem}"}


def serve(source: BinaryIO, target: BinaryIO) -> None:
    """Answer until the requests end."""
    for line in source:
        target.write(json.dumps(answer(line)).encode() + b"\n")
        target.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
