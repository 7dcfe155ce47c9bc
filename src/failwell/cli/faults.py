"""Faults as they are written on the command line, made of those of `failwell.testing`."""

from __future__ import annotations

import re
from math import inf
from typing import Any, Final

from failwell.formats import to_result
from failwell.model import ToolError
from failwell.relay import KINDS, Injected

from .io import Stop

_FAULT: Final = re.compile(
    r"(?P<tool>[^=]+)=(?P<kind>[a-z]+)(?::(?P<text>.*?))?(?:@(?P<at>before|after))?(?:\*(?P<times>\d*))?", re.DOTALL
)


def read_fault(text: str) -> Injected:
    """A fault as it is written on the command line: `pay=crash@after`, `get_*=text:Error 503*3`."""
    from failwell.testing import Fault

    found = _FAULT.fullmatch(text)
    if found is None or found["kind"] not in KINDS:
        raise Stop(f"{text!r} is no fault; it looks like pay=crash@after; there are: {', '.join(KINDS)}")
    if "[" in found["tool"].rpartition("]")[2]:
        raise Stop(f"{text!r}: {found['tool']!r} names no tool: a [ without its ], as in [ab]*")
    kind, words, at = found["kind"], found["text"] or "", found["at"]
    when: Any = at or ("after" if kind in ("twice", "noise", "late") else "before")
    answer: dict[str, Any] | None = None
    if kind == "text":
        fault = Fault.text(words or "Error: it failed on purpose", when)
        content = [{"type": "text", "text": fault.options["text"]}]
        answer = {"result": {"content": content, "isError": True}}
    elif kind == "error":
        error = ToolError("It failed on purpose.", code=words or "INTERNAL_ERROR")
        fault, answer = Fault.error(error, when), {"result": to_result(error)}
    elif kind == "protocol":
        fault = Fault.protocol(-32603, words or "It failed on purpose.", at=when)
        answer = {"error": {"code": -32603, "message": fault.options["message"]}}
    elif kind == "raw":
        try:
            fault = Fault.malformed(words or "null_result", when)
        except ValueError as problem:
            raise Stop(f"{text!r}: {problem}") from None
        answer = dict(fault.options["frame"])
    elif kind == "garbage":
        fault = Fault.garbage(words or "<html>Bad Gateway</html>", when)
    elif kind == "late":
        fault = Fault.late(_seconds(words or "2", text), when)
    elif kind == "noise":
        fault = Fault.noise(words or "Connecting to the bank ...")
    else:
        fault = (
            {"crash": Fault.crash, "hang": Fault.hang, "cut": Fault.cut}[kind](when)
            if kind != "twice"
            else Fault.twice()
        )
    times = 1 if found["times"] is None else int(found["times"]) if found["times"] else None
    if times == 0:
        raise Stop(f"{text!r} is made no times: write *3 for three times, or * for always")
    return Injected(found["tool"], fault.to_dict(), answer, times)


def _seconds(words: str, text: str) -> float:
    try:
        seconds = float(words)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < inf:
        raise Stop(f"{text!r}: a late answer says by how many seconds, as in pay=late:3")
    return seconds
