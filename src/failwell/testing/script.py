"""What a scripted server does: its tools, and the faults that successive calls of each tool meet.

    Script(
        Tool("pay", effect=True, key="id", faults=[Fault.crash(at="after")]),
        Tool("get_payment", read_only=True, key="id", reads="pay"),
    )

A script is plain data. It goes to the server as `script.json`, so a program in any language can write one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, Self, get_args

from failwell.formats import Outcome, canonical, to_result
from failwell.model import Json, ToolError

At = Literal["before", "during", "after"]
"""When a fault strikes: before the effect, when a part of it has happened, or after it."""

# What each kind of fault must be told, beside when it strikes.
KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "error": ("error", "format"),
    "text": ("text", "is_error"),
    "protocol": ("code", "message"),
    "http": ("status",),
    "raw": ("frame",),
    "garbage": ("text",),
    "cut": ("midway",),
    "crash": ("code",),
    "hang": (),
    "late": ("seconds",),
    "twice": (),
    "noise": ("text",),
}
MALFORMED: Final[Mapping[str, Json]] = {
    "null_result": {"result": None},
    "no_content": {"result": {"isError": True}},
    "string_code": {"error": {"code": "E_BUSY", "message": "Try again later."}},
    "no_message": {"error": {"code": -31000}},
    "other_id": {"id": "somebody-else", "result": {"content": []}},
    "neither": {},
}
"""Answers that are JSON and no JSON-RPC response, or a response that is no result, by name."""

FILE: Final = "script.json"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong with one call. Made by the methods below, never by hand."""

    kind: str
    at: At = "before"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"There is no fault {self.kind!r}; there are: {', '.join(KINDS)}.")
        if self.at not in get_args(At):
            raise ValueError(f"A fault strikes 'before', 'during' or 'after' the effect, not {self.at!r}.")
        missing = [name for name in KINDS[self.kind] if name not in self.options]
        if missing:
            raise ValueError(f"The fault {self.kind!r} must say: {', '.join(missing)}.")

    @classmethod
    def error(
        cls, error: Outcome, at: At = "before", format: str = "text", *, protocol: bool = False, **options: Any
    ) -> Self:
        """The call is answered with this error, as the result `failwell.to_result` makes of it with these options.

        `meta=False` leaves the canonical error out, as a server does that knows only `format`. With `protocol=True` the
        error leaves as a JSON-RPC error instead.
        """
        to_result(error, format, **options)  # what is wrong with the options is said here, not in the server
        data = error.to_dict()
        return cls("error", at, {"error": data, "format": format, "protocol": protocol, "options": options})

    @classmethod
    def text(cls, text: str, at: At = "before", *, is_error: bool = True) -> Self:
        """The call is answered with this prose; with `is_error=False` the failure looks like a success."""
        return cls("text", at, {"text": text, "is_error": is_error})

    @classmethod
    def protocol(cls, code: int, message: str, data: Json = None, at: At = "before") -> Self:
        """The call is answered with this JSON-RPC error."""
        return cls("protocol", at, {"code": code, "message": message, "data": data})

    @classmethod
    def http(
        cls, status: int, headers: Mapping[str, str] | None = None, body: str | None = None, at: At = "before"
    ) -> Self:
        """HTTP answers with this status. Over stdio it is an error result that says what the status means."""
        return cls("http", at, {"status": status, "headers": dict(headers or {}), "body": body})

    @classmethod
    def raw(cls, frame: Mapping[str, Json], at: At = "before") -> Self:
        """The answer is exactly this: a result, or a whole frame if it has `result` or `error`; its id is filled in."""
        return cls("raw", at, {"frame": dict(frame)})

    @classmethod
    def malformed(cls, name: str = "null_result", at: At = "before") -> Self:
        """The answer is JSON but breaks JSON-RPC, in one of the ways of `MALFORMED`."""
        if name not in MALFORMED:
            raise ValueError(f"There is no malformed answer {name!r}; there are: {', '.join(MALFORMED)}.")
        return cls("raw", at, {"frame": MALFORMED[name], "whole": True})

    @classmethod
    def garbage(cls, text: str = "<html>Bad Gateway</html>", at: At = "before") -> Self:
        """The answer is not JSON."""
        return cls("garbage", at, {"text": text})

    @classmethod
    def cut(cls, at: At = "before", *, midway: bool = False) -> Self:
        """The connection ends without an answer; with `midway=True` after half of it."""
        return cls("cut", at, {"midway": midway})

    @classmethod
    def crash(cls, at: At = "before", code: int = 1) -> Self:
        """The server's process dies."""
        return cls("crash", at, {"code": code})

    @classmethod
    def hang(cls, at: At = "before") -> Self:
        """There is never an answer."""
        return cls("hang", at)

    @classmethod
    def late(cls, seconds: float, at: At = "after") -> Self:
        """The right answer comes late; with `at="before"` the effect comes late as well."""
        return cls("late", at, {"seconds": seconds})

    @classmethod
    def twice(cls) -> Self:
        """The right answer comes twice."""
        return cls("twice", "after")

    @classmethod
    def noise(cls, text: str = "Connecting to the bank ...") -> Self:
        """The right answer comes, after a log line that went to stdout. Over HTTP stdout is not heard."""
        return cls("noise", "after", {"text": text})

    def to_dict(self) -> dict[str, Json]:
        """As it stands in `script.json`."""
        return {"fault": self.kind, "at": self.at, **self.options}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The fault behind a row of `script.json`."""
        options = {name: value for name, value in data.items() if name not in ("fault", "at")}
        fault = cls(str(data.get("fault")), data.get("at", "before"), options)
        if fault.kind == "error":
            outcome_of(fault)
        return fault

    def __str__(self) -> str:
        return f"{self.kind} {self.at} the effect"


def outcome_of(fault: Fault) -> Outcome:
    """The error that a fault of the kind `error` is answered with."""
    outcome = canonical.load(fault.options["error"])
    if outcome is None:
        raise ValueError("The error of a fault must be in the canonical form: see `failwell convert --to canonical`.")
    # The server's own, though it was read.
    return outcome.replace(origin=None) if isinstance(outcome, ToolError) else outcome


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of a scripted server."""

    name: str
    _: KW_ONLY
    effect: bool = False
    """Whether a call changes something: each time it does, the ledger gets a line."""
    faults: Sequence[Fault] = ()
    """What successive calls of the same key meet, in order; when the list is used up, calls succeed."""
    key: str | None = None
    """The argument that tells calls apart; without it all calls of the tool count together."""
    plan: Mapping[str, Sequence[Fault]] = field(default_factory=dict)
    """Faults by the value of the key, for those that have a list of their own."""
    reads: str | None = None
    """The tool with an effect that this one tells of: how often it took effect for the same key."""
    read_only: bool | None = None
    idempotent: bool | None = None
    destructive: bool | None = None
    description: str | None = None
    answer: Mapping[str, Json] | None = None
    """What a call that works is answered; by default `{"ok": true, "attempt": n}`."""
    input_schema: Mapping[str, Json] = field(default_factory=lambda: {"type": "object"})
    output_schema: Mapping[str, Json] | None = None

    def __post_init__(self) -> None:
        if self.plan and self.key is None:
            raise ValueError(f"The tool {self.name!r} has a plan, so it must say which argument is the key.")
        if self.output_schema is not None and self.answer is None:
            raise ValueError(f"The tool {self.name!r} has an output schema, so it must say what it answers.")

    def key_of(self, arguments: Mapping[str, Any]) -> str:
        """What a call with these arguments is counted under."""
        return "" if self.key is None else str(arguments.get(self.key, ""))

    def fault(self, key: str, attempt: int) -> Fault | None:
        """What the `attempt`th call under this key meets, counted from 1."""
        planned = self.plan.get(key, self.faults)
        return planned[attempt - 1] if attempt <= len(planned) else None

    def to_dict(self) -> dict[str, Json]:
        """As it stands in `script.json`; what was not given is left out."""
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("faults", "plan")}
        data: dict[str, Json] = {name: value for name, value in given.items() if value is not None}
        if self.faults:
            data["faults"] = [fault.to_dict() for fault in self.faults]
        if self.plan:
            data["plan"] = {key: [fault.to_dict() for fault in faults] for key, faults in self.plan.items()}
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The tool behind a row of `script.json`."""
        known = {each.name for each in fields(cls)}
        unknown = [name for name in data if name not in known]
        if unknown or not isinstance(data.get("name"), str):
            raise ValueError(f"A tool has a name, and may have {', '.join(sorted(known - {'name'}))}: not {unknown}.")
        faults = [Fault.from_dict(fault) for fault in data.get("faults", ())]
        plan = {key: [Fault.from_dict(fault) for fault in row] for key, row in data.get("plan", {}).items()}
        return cls(**{**data, "faults": faults, "plan": plan})


class Script:
    """The tools of a scripted server."""

    def __init__(self, *tools: Tool) -> None:
        self.tools: Mapping[str, Tool] = {tool.name: tool for tool in tools}
        if len(self.tools) < len(tools):
            raise ValueError("Two tools of the script have the same name.")
        for tool in tools:
            if tool.reads is not None and tool.reads not in self.tools:
                raise ValueError(f"The tool {tool.name!r} reads {tool.reads!r}, which the script does not have.")

    def save(self, directory: Path) -> None:
        """Write `script.json` into the directory of a server."""
        data = {"tools": [tool.to_dict() for tool in self.tools.values()]}
        (directory / FILE).write_text(json.dumps(data), encoding="utf-8")

    @classmethod
    def load(cls, directory: Path) -> Self:
        """Read `script.json` from the directory of a server."""
        data = json.loads((directory / FILE).read_text(encoding="utf-8"))
        if not isinstance(data, dict) or not isinstance(data.get("tools"), list):
            raise ValueError(f"{FILE} must be an object with a list of tools.")
        return cls(*(Tool.from_dict(tool) for tool in data["tools"]))
