"""`jsonrpc`: contract 004, a JSON-RPC error whose `data` says what to do."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

from failwell.model import (
    IN_DOUBT,
    MAX_ITEMS,
    UNSET,
    Code,
    FieldError,
    Json,
    Kind,
    RetryRules,
    Strategy,
    ToolError,
    compact,
    find,
    text,
)

from .crosswalk import default_code, number_of
from .doubt import recovery
from .keys import TOOL_ERROR
from .text import stands_alone
from .wire import (
    OBJECT,
    RESERVED,
    Format,
    Places,
    Sign,
    as_text,
    build,
    is_number,
    is_objects,
    is_only_error,
    is_text,
    is_texts,
    only_if,
    open_details,
    restore,
    stated,
    stow_in,
    take_fields,
    whole,
)
from .xml import path_from

MODERN_ERA: Final = "2026-07-28"
ERA: Final = re.compile(r"\d{4}-\d\d-\d\d")
_NUMBER: Final = re.compile(r"-(?=0*[1-9])[0-9]{1,10}")
SHIFT: Final = 1000
"""What is added to the contract's own numbers where the protocol has taken their range for itself."""

_SPECIFIED: Final = frozenset({-32020, -32021, -32022})

# The contract's own example has this number, and no row of its table.
_NUMBERED_BY_HAND: Final = {"INVALID_DEVICE_ID": -32602}

DEFAULT_WAIT: Final = 60
_SUGGESTIONS: Final = {
    Strategy.RETRY: "Wait {wait} seconds and retry. This is likely a temporary issue.",
    Strategy.USER_ACTION: "User intervention required. Check permissions or configuration and try again.",
    Strategy.FIX: "Fix the input parameters based on the validation errors below, then retry the request.",
    Strategy.ABORT: "This error cannot be resolved automatically. Report to system administrator.",
}
_SUGGESTION_ENDS: Final = tuple(suggestion.rpartition("}")[2] for suggestion in _SUGGESTIONS.values())

# The contract's keys that are fields of the model under another name or the same, and what must stand there.
_READ: Final[Places] = {
    "recovery_strategy": ("strategy", Strategy.of),
    "retry_after": ("retry_after", only_if(is_number)),
    "tool_name": ("tool", only_if(is_text)),
    "tool_tier": ("tier", only_if(is_text)),
    "suggestion": ("suggestion", only_if(is_text)),
    "next_steps": ("next_steps", only_if(is_texts)),
    "suggestions": ("next_steps", only_if(is_texts)),
    "alternatives": ("actions", only_if(is_objects)),
}
_OF_FIELD: Final = ("field", "value", "expected", "options", "errors")
_OWN: Final = frozenset({*_READ, "mcp_error_code", "details", *_OF_FIELD, "_debug_details"})
_PLACES: Final[Places] = {**_READ, **dict.fromkeys(_OF_FIELD, ("fields", lambda value: None))}


def dump(
    error: ToolError,
    *,
    number: int | None = None,
    actionable: bool = False,
    era: str = "2025-11-25",
    debug: bool = False,
) -> dict[str, Json]:
    """The error object. `actionable` names the strategy and a suggestion even where the author gave none; `debug`
    sends what is otherwise for logs only."""
    if number is not None and (not isinstance(number, int) or isinstance(number, bool)):
        raise ValueError("A JSON-RPC error number is an integer.")
    if not isinstance(era, str) or not ERA.fullmatch(era):
        raise ValueError(f"{era!r} is not a protocol version; it looks like '2025-11-25'.")
    error = stated(error, FORMAT)
    said: dict[str, Json] = {}
    # A client that reads no strategy would look the number up, and find nothing about a call that may have been done.
    insisted = actionable or error.given("strategy") or error.effect in IN_DOUBT
    if insisted:
        said["recovery_strategy"] = error.strategy.value
    if error.tool is not None:
        said["tool_name"] = error.tool
    if error.tier is not None:
        said["tool_tier"] = error.tier
    if error.given("retry_after"):
        # Of a call that may have been done it is a fact; the strategy forbids.
        said["retry_after"] = whole(error._given["retry_after"])
    said |= _problems(error.fields)
    if error.next_steps:
        # The contract has two names for the same list; this one where something was not found.
        said["suggestions" if error.kind is Kind.NOT_FOUND else "next_steps"] = list(error.next_steps)
    if error.actions:
        said["alternatives"] = [action.to_dict() for action in error.actions]
    # A bare value or expectation says nothing by itself, so only beside a field are the names taken.
    context = open_details(
        error, _OWN if "field" in said or "errors" in said else _OWN - {"value", "expected", "options"}
    )
    for name in ("device_id", "routeros_error"):
        if name in context and not isinstance(context[name], str):
            context[name] = as_text(context[name])
    if error.effect in IN_DOUBT:
        # The contract's sentences end with trying again, and would have a payment made twice.
        suggestion: str | None = recovery(error)
    else:
        is_default = insisted and not stands_alone(error)
        suggestion = error.suggestion or (_default_suggestion(error) if is_default else None)
    if suggestion is not None:
        said["suggestion"] = suggestion
    data = {
        "mcp_error_code": error.code or default_code(error),
        "details": error.message,
        **({"recovery_strategy": said.pop("recovery_strategy")} if insisted else {}),
        **context,
        **said,
    }
    if debug and error.debug is not None:
        data["_debug_details"] = as_text(error.debug)
    return {"code": on_wire(number, error, era), "message": _label(error, number), "data": data}


def shifted(number: int, era: str) -> int:
    """A number as it may leave, where the protocol keeps the contract's range for itself."""
    return number + SHIFT if era >= MODERN_ERA and -32099 <= number <= -32000 else number


def on_wire(number: int | None, error: ToolError, era: str) -> int:
    """The number that may leave: outside the range the protocol keeps for itself, where it keeps one."""
    wanted = number if number is not None else _NUMBERED_BY_HAND.get(error.code or "") or number_of(error)
    if error.info is None and number is None and (wire := _own_number(error.code)) is not None:
        wanted = wire
    return wanted if number is not None and wanted in _SPECIFIED else shifted(wanted, era)


@cache
def _numbered() -> dict[int, Code]:
    """The contract's codes by number; the catalogues are loaded when somebody needs one."""
    from failwell.model import JsonRpc

    return {code.number: code for code in JsonRpc if code.number is not None}


def _standard(number: int | None) -> Code | None:
    """The code behind a number that JSON-RPC itself gave a meaning."""
    return None if number is None or number > -32100 else _numbered().get(number)


def _own_number(code: str | None) -> int | None:
    """The number behind a code that was nothing but a number when it was read."""
    return int(code) if code and _NUMBER.fullmatch(code) else None


def _label(error: ToolError, number: int | None) -> str:
    if not error.given("title") and (known := _standard(number or _NUMBERED_BY_HAND.get(error.code or ""))):
        return known.title
    if not error.given("title") and error.code is None and (known := find(default_code(error))) is not None:
        return known.title
    return error.title


def _problems(fields: tuple[FieldError, ...]) -> dict[str, Json]:
    if len(fields) == 1 and (fields[0].sent is not UNSET or fields[0].expected):
        one = fields[0]
        said: dict[str, Json] = {"field": one.name}
        if one.sent is not UNSET:
            said["value"] = one.sent
        if one.expected:
            said["expected"] = one.expected
        said |= _choice(one)
        # The contract's client looks for a list, also of one.
        return said | ({"errors": [{"field": one.name, "message": one.message}]} if one.message else {})
    found = [{"field": each.name, "message": each.message, **_choice(each)} for each in fields]
    return {"errors": found} if found else {}


def _choice(one: FieldError) -> dict[str, Json]:
    """What there is to choose from, in words and as it is; nothing where there is no choice."""
    options = one.options
    return {"expected": one.expected or _spelt(options), "options": list(options)} if options else {}


def _spelt(options: Iterable[Json]) -> str:
    return f"One of: {', '.join([each if isinstance(each, str) else compact(each) for each in options])}"


def _unspelt(one: FieldError) -> FieldError:
    """The problem as it was before its options were put into words."""
    if not one.options or one.expected != _spelt(one.options):
        return one
    return FieldError(one.path, one.message, one.sent, None, one.options, one.rule)


def sniff(data: Mapping[str, Any]) -> bool:
    # Below zero, as all codes of the specification are: 0 and 200 are how other people say that all is well.
    code = data.get("code")
    return isinstance(code, int) and not isinstance(code, bool) and code < 0 and "message" in data


def load_response(data: Mapping[str, Any]) -> ToolError | None:
    """From a whole response that holds an error object."""
    inner = data.get("error")
    return _load(inner) if "jsonrpc" in data and isinstance(inner, OBJECT) else None


def load(data: Mapping[str, Any]) -> ToolError | None:
    """From an error object, or from a whole response."""
    inner = data.get("error")
    if inner is not None and isinstance(inner, OBJECT) and ("jsonrpc" in data or sniff(inner)):
        return _load(inner)
    return _load(data) if sniff(data) else None


def is_structured(error: object) -> bool:
    """Whether a JSON-RPC error says in an object what went wrong. Its number and its words say it to people."""
    data = error.get("data") if isinstance(error, Mapping) else None
    return isinstance(data, Mapping) and (isinstance(data.get("mcp_error_code"), str) or TOOL_ERROR in data)


def load_bare(data: Mapping[str, Any]) -> ToolError | None:
    """From an error object that is nothing else, whatever its number; for where an error is expected."""
    code = data.get("code")
    if not isinstance(code, int) or isinstance(code, bool) or code > 0 or "message" not in data:
        return None
    return _load(data) if data.keys() <= {"code", "message", "data"} else None


def _load(data: Mapping[str, Any]) -> ToolError:
    notes: list[str] = []
    number = data.get("code")
    if not isinstance(number, int) or isinstance(number, bool):
        notes.append("The code was not a number.")
        number = None
    message = data.get("message", "")
    attached = data.get("data")
    context: dict[str, Json] = dict(attached) if isinstance(attached, OBJECT) else {}
    if not context and attached not in (None, "", {}):
        context = {"data": attached}
    carried = context.pop(RESERVED, None)
    code = context.pop("mcp_error_code", None)
    if code is not None and not isinstance(code, str):
        notes.append("mcp_error_code was not a text.")
        code = text(code)
    known = None if number is None or number > -32100 else _standard(number)
    if code is None and number is not None:
        # Servers use the same numbers for different things, so only those of JSON-RPC itself mean anything alone.
        code = known.name if known else as_text(number)
    kind = None if find(code) else known.kind if known else _kind_of_group(code, number)
    details = context.pop("details") if isinstance(context.get("details"), str) else None
    fields: dict[str, Any] = {"code": code, "debug": context.pop("_debug_details", None)}
    if details is not None and isinstance(message, str):
        fields["title"] = message
    fields |= _fields_in(context)
    fields["details"] = context
    error = build(
        "jsonrpc",
        message if details is None else details,
        fields,
        kind=kind,
        notes=notes,
    )
    said = error._given.get("suggestion")
    if said is not None and said.endswith(_SUGGESTION_ENDS) and said == _default_suggestion(error):
        error.suggestion = None
    if carried is None:
        return error
    return restore(
        error,
        carried,
        lambda whole, **way: _load(dump(whole, **way)),
        [{"number": each, "actionable": told} for told in (False, True) for each in dict.fromkeys((None, number))],
    )


def _default_suggestion(error: ToolError) -> str:
    wait = whole(error.retry_after) if error.retry_after is not None else DEFAULT_WAIT
    return _SUGGESTIONS[error.strategy].replace("{wait}", str(wait))


def _kind_of_group(code: str | None, number: int | None) -> Kind | None:
    """The kind of a code nobody knows: by the number's group, which counts because the peer speaks the contract."""
    if number is None or code is None or _NUMBER.fullmatch(code):
        return None
    own = _numbered().get(number - SHIFT if -31099 <= number <= -31000 else number)
    return own.kind if own else None


def _fields_in(context: dict[str, Json], places: Places = _READ) -> dict[str, Any]:
    """The fields of an error that the contract's keys are; these are taken out."""
    fields: dict[str, Any] = {}
    if ("field" in context or "errors" in context) and (problems := _load_problems(context)):
        fields["fields"] = problems
    return fields | take_fields(context, places)


def _load_problems(context: dict[str, Json]) -> tuple[FieldError, ...]:
    if is_objects(errors := context.get("errors")):
        problems = []
        for item in errors:
            if "field" not in item or "message" not in item:
                break
            found = _load_problem(item)
            if found is not None:
                problems.append(found)
        else:
            del context["errors"]
            if len(problems) == 1 and context.get("field") == problems[0].name:
                # Said twice: for programs that look for a list, and in full.
                (whole,) = _load_problems(context)
                problems = [replace(whole, message=problems[0].message)]
            return tuple(problems[:MAX_ITEMS])
    if is_text(context.get("field")):
        name = context.pop("field")
        expected = context.pop("expected") if is_text(context.get("expected")) else None
        options = context.pop("options") if isinstance(context.get("options"), list) else ()
        return (_unspelt(FieldError(path_from(name), "", context.pop("value", UNSET), expected, options)),)
    return ()


def _load_problem(item: dict[str, Json]) -> FieldError | None:
    found = FieldError.of({**item, "field": path_from(item["field"])} if is_text(item["field"]) else item)
    return None if found is None else _unspelt(found)


def check_request(message: object) -> ToolError | None:
    """What is wrong with a JSON-RPC request as contract 004 wants it; None when nothing is.

    >>> check_request({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "system/reboot"}})
    """
    if not isinstance(message, Mapping):
        return ToolError("A request must be a JSON object.", code="INVALID_REQUEST")
    if message.get("jsonrpc") != "2.0":
        return ToolError('The field "jsonrpc" must be exactly "2.0".', code="INVALID_REQUEST")
    if not isinstance(message.get("method"), str):
        return ToolError('The field "method" must be a text.', code="INVALID_REQUEST")
    if "id" in message and not is_id(message["id"]):
        return ToolError('The field "id" must be a text, a number or null.', code="INVALID_REQUEST")
    params = message.get("params", {})
    if not isinstance(params, (Mapping, list)):
        return ToolError('The field "params" must be an object or a list.', code="INVALID_REQUEST")
    if message["method"] == "tools/call":
        named = params if isinstance(params, Mapping) else {}
        if not isinstance(named.get("name"), str):
            return ToolError('The parameter "name" must be a text.', code="INVALID_PARAMS")
        if not isinstance(named.get("arguments", {}), Mapping):
            return ToolError('The parameter "arguments" must be an object.', code="INVALID_PARAMS")
    return None


def is_id(value: object) -> bool:
    """Whether `value` can be the id of a request."""
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or (isinstance(value, (str, int)) and not isinstance(value, bool))


FORMAT: Final = Format(
    "jsonrpc",
    "004, JSON-RPC taxonomy",
    dump,
    load,
    compact,
    options=("number", "actionable", "era", "debug"),
    stow=stow_in("data", dump),
    places=_PLACES,
    take=_fields_in,
    # A response is one whatever is in it; an error object by itself looks like many others.
    signs=(
        Sign(10, "jsonrpc", load_response, lambda data: is_structured(data["error"])),
        Sign(70, "code", load),
        Sign(80, "error", load, is_whole=is_only_error),
    ),
    bare=load_bare,
    attaches=True,
    room="data",
    worded="number",
    own_words=frozenset({"strategy"}),
    question={"number": -32602},
    again=RetryRules(plans=True, first_delay=60.0),
)
