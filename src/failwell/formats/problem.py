"""`problem`: RFC 9457, problem details for HTTP (`application/problem+json`).

The code is the problem type and all else the model knows is an extension member: nothing is lost. Members are
named as in the canonical object, but for `detail` (the message), `status`, and `errors`, which follows the RFC's own
example: `detail` and a JSON `pointer` for each argument that was wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, unquote

from failwell.model import MAX_ITEMS, FieldError, Json, Kind, Path, ToolError, compact

from .canonical import FIELDS, LISTS, list_fields
from .wire import OBJECT, Format, Sign, build, kept_map

TYPE_PREFIX: Final = "urn:failwell:code:"
_RENAMED: Final = frozenset({"failwell", "message", "title", "http_status", "fields"})


def dump(error: ToolError) -> dict[str, Json]:
    data = error.to_dict(provenance=False)
    wire: dict[str, Json] = {
        "type": TYPE_PREFIX + quote(error.code, safe="") if error.code else "about:blank",
        "title": error.title,
    }
    if error.http_status is not None:
        wire["status"] = error.http_status
    wire["detail"] = error.message
    wire |= {name: value for name, value in data.items() if name not in _RENAMED}
    if error.fields:
        wire["errors"] = [_error(problem) for problem in data["fields"]]
    return wire


def _error(problem: dict[str, Json]) -> dict[str, Json]:
    pointer = "#" + "".join(f"/{_escape(part)}" for part in problem["path"])
    rest = {name: value for name, value in problem.items() if name not in ("path", "message")}
    if any(isinstance(part, str) and part.isdecimal() for part in problem["path"]):
        # A pointer cannot tell the name "0" from the first item.
        rest["path"] = problem["path"]
    return {"detail": problem["message"], "pointer": pointer, **rest}


def _escape(part: str | int) -> str:
    return quote(str(part).replace("~", "~0").replace("/", "~1"), safe="~")


def sniff(data: Mapping[str, Any]) -> bool:
    kind, status = data.get("type"), data.get("status")
    said = isinstance(data.get("title"), str) or isinstance(data.get("detail"), str)
    named = isinstance(kind, str) and (":" in kind or kind.startswith("/"))
    if named and "detail" in data and "retryable" in data:
        return True
    failed = isinstance(status, int) and 400 <= status <= 599
    return said and (named or kind is None) and (failed or (named and status is None and "detail" in data))


def load(data: Mapping[str, Any]) -> ToolError | None:
    if not sniff(data):
        return None
    notes: list[str] = []
    own = data.get("code")
    code = own if isinstance(own, str) else _code(data.get("type"))
    title, detail = data.get("title"), data.get("detail")
    status, errors = data.get("status"), data.get("errors")
    fields: dict[str, Any] = {
        "code": code,
        "title": title if detail is not None and isinstance(title, str) else None,
        "severity": data.get("severity"),
        "http_status": status,
    }
    if isinstance(errors, list):
        fields["fields"] = [problem for item in errors[:MAX_ITEMS] if (problem := _load_error(item)) is not None]
    extra: dict[str, Json] = {}
    for name, value in data.items():
        if name in _READ:
            fields[name] = value
        elif name not in _KNOWN:
            extra[name] = value
    list_fields(fields, notes, _LISTS)
    if extra or not isinstance(fields.get("details", {}), dict):
        fields["details"] = {**kept_map(fields.get("details"), notes, "details"), **extra}
    kind = _kind(data.get("kind"))
    if kind is None:
        # Any HTTP service speaks so, and a tool that passes the body on says nothing about its own call by it.
        fields["standing"] = "quoted"
    retryable = data.get("retryable")
    if kind is None and isinstance(status, int):
        # A status alone is no permission to repeat the call, unless it says that the call was turned away.
        retryable = retryable if retryable is not None or status in (408, 425, 429, 503) else False
        kind = _KIND_OF_STATUS.get(status) or (Kind.TRANSIENT if status >= 500 else Kind.VALIDATION)
    return build(
        "problem",
        detail if detail is not None else title,
        fields,
        kind=kind,
        retryable=retryable,
        notes=notes,
    )


_kind: Final = Kind.of
_READ: Final = FIELDS - {"code", "title", "fields", "http_status"}
_LISTS: Final = tuple(name for name in LISTS if name in _READ)
_KNOWN: Final = FIELDS | {"type", "title", "status", "detail", "instance", "errors", "kind", "retryable", "severity"}
_KIND_OF_STATUS: Final = {
    401: Kind.PERMISSION,
    403: Kind.PERMISSION,
    404: Kind.NOT_FOUND,
    408: Kind.TRANSIENT,
    409: Kind.CONFLICT,
    410: Kind.NOT_FOUND,
    412: Kind.CONFLICT,
    423: Kind.CONFLICT,
    425: Kind.TRANSIENT,
    429: Kind.TRANSIENT,
}


def _code(kind: object) -> str | None:
    if not isinstance(kind, str) or kind in ("", "about:blank"):
        return None
    if kind.startswith(TYPE_PREFIX):
        return unquote(kind.removeprefix(TYPE_PREFIX))
    return kind.rstrip("/").rpartition("/")[2].rpartition("#")[2].rpartition(":")[2] or None


def _load_error(item: object) -> FieldError | None:
    if not isinstance(item, OBJECT):
        return None
    get = item.get
    path, pointer = get("path"), get("pointer")
    if not isinstance(path, list):
        path = _path(pointer) if isinstance(pointer, str) else ()
    message = get("detail", get("message", ""))
    about = {name: item[name] for name in ("sent", "expected", "options", "rule") if name in item}
    return FieldError.of({"path": path, "message": message, **about})


def _path(pointer: str) -> Path:
    # Most arguments are no deeper than this, and have plain names.
    parents, _, name = pointer.rpartition("/")
    if parents == "#" and name.isidentifier():
        return (name,)
    return tuple([_step(unquote(part)) for part in pointer.lstrip("#").split("/")[1:]])


def _step(part: str) -> str | int:
    if part.isdecimal() and part.isascii() and len(part) < 10:
        return int(part)
    return part.replace("~1", "/").replace("~0", "~")


def _is_ours(data: Mapping[str, Any]) -> bool:
    """Whether it states the failure of a tool. Any other is what web services answer, perhaps about something that the
    tool did last."""
    return "kind" in data or str(data.get("type", "")).startswith(TYPE_PREFIX)


FORMAT: Final = Format(
    "problem",
    "RFC 9457, problem details",
    dump,
    load,
    compact,
    signs=(Sign(90, "title", load, is_whole=_is_ours), Sign(91, "detail", load, is_whole=_is_ours)),
    gate="markdown",
    whole=True,
)
