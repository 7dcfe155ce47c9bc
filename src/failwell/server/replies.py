"""What leaves beside failures: successes as contracts 001 and 003 have them, remarks, progress, and results that cannot
leave as they are."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from pydantic_core import PydanticSerializationError, to_jsonable_python

from failwell.formats import FORMATS, GATES, META_KEY, keys, pretty, read_json, render, success, v1
from failwell.model import Json, ToolError, plain, text, unwrapped
from failwell.redact import Guard, masked, shorten
from failwell.schema import Checker, properties_of
from failwell.sdk import GENERATION, CallToolResult, ContentBlock, TextContent, changed, field
from failwell.sdk import result as result_of

from .options import Envelope, Options
from .served_call import BrokenResult, ServedCall, ToolInfo, UnwritableResult, current, gate_of

if TYPE_CHECKING:
    from .boundary import FrameworkCall

log = logging.getLogger("failwell.server")

Gate = Literal["markdown", "json", "both"]
T = TypeVar("T")
IGNORED: Final = keys.IGNORED_ARGUMENTS
"""The key in the `_meta` of a result under which stand the arguments that the tool does not have."""
STREAM: Final = "stream_progress"
_WRAPPED: Final = {"result"}
_STRUCTURED: Final = "structured_content" if GENERATION == 2 else "structuredContent"
_FRAMEWORKS: Final = ("mcp", "mcp_types", "fastmcp", "fastmcp_slim")
_ENVELOPE: Final = frozenset({"success", "data", "error", "meta"})
_MOST_NAMES: Final = 20
_LONGEST_NAME: Final = 100
# How long texts and how many items stay, from what hardly shows to what is hardly left.
_PLANS: Final = ((4000, 500), (2000, 200), (1000, 100), (500, 50), (200, 20), (100, 10), (60, 5), (40, 2), (20, 1))
_DEEPEST: Final = 40
# Arguments by which tools usually let themselves be asked for less.
_LESS: Final = (
    *("limit", "max_results", "page_size", "per_page", "count", "top_k", "offset", "page", "cursor"),
    *("start", "end", "filter", "filters", "query", "fields", "select"),
)


def reply(
    data: object, *, markdown: str | None = None, meta: Mapping[str, Any] | None = None, gate: Gate | None = None
) -> CallToolResult:
    """The result of a tool that answers people and programs: a text, the data as JSON, or both, as the caller asked.

    The caller asks with the tool's `format` argument, where it offers `markdown`, `json` and `both`; a tool without one
    answers in `markdown`. `meta` is for contract 003: `pagination`, `retry_count`, `provider_backend`, `rollback`.
    """
    if gate is not None and gate not in GATES:
        raise ValueError(f"There is no gate {gate!r}; use 'markdown', 'json' or 'both'.")
    sent, call = _json(data), current.get()
    if markdown is None:
        # Data for people, where the tool has no words of its own.
        def inline(value: Any) -> str:
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

        lines = [inline(sent)]
        if isinstance(sent, dict):
            lines = [f"- **{name}**: {inline(each)}" for name, each in sent.items()]
        elif isinstance(sent, list):
            lines = [f"- {inline(each)}" for each in sent]
        markdown = "\n".join(lines)
    people, programs = TextContent(type="text", text=markdown), TextContent(type="text", text=pretty(sent))
    blocks: dict[str, list[Any]] = {"markdown": [people], "json": [programs], "both": [people, programs]}
    asked = gate or (call.arguments.get("format") if call is not None else None)
    made = result_of(
        blocks[asked if asked in GATES else GATES[0]], structured_content=sent if isinstance(sent, dict) else None
    )
    if call is not None:
        call.data, call.meta, call.replied = (sent,), dict(meta or {}), made
        if gate is None and "format" not in call.arguments:
            call.ungated = blocks
    return made


def tool_result(
    content: str | ContentBlock | Sequence[ContentBlock] | Mapping[str, Any],
    *,
    is_error: bool = False,
    meta: Mapping[str, Any] | None = None,
) -> CallToolResult:
    """Contract 004's `format_tool_result`: a text, a block or several, with `isError` and `_meta`."""
    several = isinstance(content, Sequence) and not isinstance(content, str)
    blocks = [
        TextContent(type="text", text=each) if isinstance(each, str) else each
        for each in (content if several else [content])
    ]
    return result_of(blocks, is_error=is_error, meta=dict(meta) if meta else None)


async def progress(message: str, *, percent: float | None = None, data: object = None) -> dict[str, Json] | None:
    """Tell the caller how far it is, if they asked for it; what was told, or None.

    They ask with the tool's `stream_progress` argument, and with a progress token, as the protocol has it.
    """
    call = current.get()
    if call is None or call.arguments.get(STREAM) is not True:
        return None
    wire: dict[str, Json] = {"type": "progress", "message": message}
    if percent is not None and percent == percent:
        wire["percent"] = min(100, max(0, percent))
    if data is not None:
        wire["data"] = plain(data)
    await call.request.session.report_progress(wire.get("percent", 0), 100, message)
    return wire


def convert_result(convert: Callable[[Any], T], returned: Any) -> T:
    """What a framework makes of what a tool returned. A failure in that is raised; of data an envelope is to hold just
    this, and not what the framework has made of it."""
    value = unwrapped(returned)
    call = current.get()
    try:
        result = convert(value)
        if call is not None and call.enveloped and value is not call.replied:
            some = value if isinstance(value, (list, tuple)) else (value,)
            # It is for the framework to say what a result, a block or a picture is.
            is_content = any(type(each).__module__.partition(".")[0] in _FRAMEWORKS for each in some)
            call.data = () if is_content else (_data(value, result),)
        return result
    except (PydanticSerializationError, UnwritableResult) as exc:
        raise UnwritableResult(value) from exc
    except Exception as exc:
        # The tool has done its work by now.
        raise BrokenResult(value) from exc


def _data(value: object, result: Any) -> Any:
    """The data that a framework has made of a value: what it holds as data, else the value itself, by the names that
    the framework writes. NaN is no JSON, whatever the framework makes of it."""
    own, held = _json(value), getattr(result, _STRUCTURED, None)
    if held is None:
        named, blocks = _json(value, by_alias=False), getattr(result, "content", ())
        return named if [read_json(getattr(each, "text", "")) for each in blocks] == [named] else own
    if held.keys() == _WRAPPED:
        # It puts what is no object under this key, and nothing says whether it did.
        raw = to_jsonable_python(value, fallback=str)
        if not isinstance(raw, dict) or raw.keys() != _WRAPPED or held["result"] == raw:
            return _json(held["result"])
    return _json(held)


def _json(value: object, *, by_alias: bool = True) -> Any:
    """A value as JSON, all of it; raises where that cannot be."""
    try:
        data = to_jsonable_python(value, by_alias=by_alias)
        json.dumps(data, ensure_ascii=False, allow_nan=False)
    except (PydanticSerializationError, ValueError, RecursionError) as exc:
        raise UnwritableResult(value) from exc
    return writable(data)


def read_envelope(call: ServedCall, result: CallToolResult) -> tuple[dict[str, Any] | None, CallToolResult]:
    """The envelope that a tool has made itself, if it has, and the result with just that: contract 003's own functions
    return one, or its text."""
    made = call.data[0] if call.data else None
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    is_text = not isinstance(made, dict) and len(texts) == len(result.content) == 1 and texts[0][:1] == "{"
    if is_text:
        try:
            made = json.loads(texts[0])
        except (ValueError, RecursionError):
            return None, result
    if not isinstance(made, dict) or not made.keys() <= _ENVELOPE or "data" not in made:
        return None, result
    error = made.get("error")
    is_failure = isinstance(error, dict) and isinstance(error.get("code"), str)
    if made.get("success") is not (not is_failure) or (error is not None and not is_failure):
        return None, result
    return made, result if is_text else changed(result, content=[TextContent(type="text", text=pretty(made))])


def report_unknown_arguments(call: ServedCall, unknown: list[str]) -> None:
    """Have the `_meta` of the result name the arguments that were ignored."""
    call.ignored = tuple(name[:_LONGEST_NAME] for name in unknown[:_MOST_NAMES])


async def dress_result(call: ServedCall, result: Any, framework: FrameworkCall, options: Options) -> Any:
    """A success in the server's envelope, not too long, and with what there is to say beside it."""
    try:
        whole = framework.to_sdk(result)
        if not isinstance(whole, CallToolResult):
            return result
        if not is_writable(whole):
            log.warning("A result of %s held half a character, which was replaced.", call.tool[:200])
            whole = replace_surrogates(whole)
        tool, guard = await framework.facts(), options.guard
        if call.ungated and not call.enveloped:
            is_gated = options.form == v1.FORMAT.name
            if (gate := gate_of(tool.schema, call.arguments, is_own=is_gated)) is not None:
                whole = changed(whole, content=call.ungated[gate])
        if (most := options.wire.get("max_output")) is not None:
            whole = truncate_result(call, whole, most, tool)
        if isinstance(options.format, Envelope) and call.enveloped:
            whole = _in_envelope(call, whole, options.format, tool.output)
        if call.ignored:
            # Whoever sends a secret by mistake sends it under any name.
            held = guard(ToolError("", details={"names": list(call.ignored)})).details.get("names", ())
            whole = changed(
                whole, meta={**(whole.meta or {}), IGNORED: [name for name in held if isinstance(name, str)]}
            )
        if call.remarks:
            # In words, or as contract 002 has remarks.
            format = call.wanted_format()[0] or options.form
            format = format if FORMATS[format].remarks else "text"
            remarks = [guard(remark) for remark in call.remarks]
            # Nothing about how to call again: the call worked.
            texts = [render(remark.replace(fields=(), patch=()), format, guard=None) for remark in remarks]
            content = [*whole.content, *(TextContent(type="text", text=text) for text in texts)]
            whole = changed(whole, content=content, meta={**(whole.meta or {}), META_KEY: remarks[0].to_dict()})
        return framework.from_sdk(whole)
    except Exception as exc:
        # The tool did its work, and whoever called it must know; how it looks comes second.
        log.error("A result of %s was sent as it was: %s.", call.tool[:200], type(exc).__name__)
        return result


def _in_envelope(
    call: ServedCall, result: CallToolResult, envelope: Envelope, output: Mapping[str, Any] | None
) -> CallToolResult:
    """A result in the envelope. What the tool's output schema promises stays in `structuredContent`."""
    texts = [block for block in result.content if isinstance(block, TextContent)]
    rest: list[Any] = [block for block in result.content if not isinstance(block, TextContent)]
    held = field(result, "structured_content")
    if call.data:
        (data,) = call.data
    elif held is not None:
        # FastMCP says in the schema that it has put what is no object under this key.
        data = held["result"] if (output or {}).get("x-fastmcp-wrap-result") and held.keys() == _WRAPPED else held
        # A text beside the data is for people, unless it is the data once more.
        rest = [block for block in result.content if not (isinstance(block, TextContent) and _is_json(block.text))]
    else:
        # A text is a text, whatever it looks like.
        data = "\n".join(block.text for block in texts) if texts else None
    wire = success(data, call.meta, **envelope.settings(), elapsed_ms=int(call.seconds * 1000))
    changes: dict[str, Any] = {"content": [TextContent(type="text", text=pretty(wire)), *rest]}
    if output is None:
        changes["structured_content"] = wire
    return changed(result, **changes)


def _is_json(said: str) -> bool:
    return read_json(said) is not None or said == "null"


def promised_remark(said: str, promised: Checker) -> dict[str, Any] | None:
    """What a tool returns that has nothing but a remark to say: the text in the place that its output schema has for
    one, else the least that the schema allows. None where it wants to see data."""
    least: tuple[dict[str, Any], ...] = ({"result": said}, {"result": None}, {}, {"result": []}, {"result": {}})
    return next((content for content in least if promised.fits(content)), None)


def is_writable(result: Any) -> bool:
    """Whether the texts of a result can be written. A file's name may hold half of a character, and whoever writes that
    to a pipe takes the whole server down."""
    content = getattr(result, "content", None)
    for block in content if isinstance(content, list) else ():
        said = getattr(block, "text", None)
        if type(said) is not str:
            continue
        if not said.isascii():
            try:
                said.encode()
            except UnicodeEncodeError:
                return False
        elif "\\ud" in said and getattr(block, "type", None) == "text":
            # Escaped it can be written, but beside it stands the same as data.
            held = field(result, "structured_content")
            return bool(writable(held) == held)
    return True


def replace_surrogates(result: CallToolResult) -> CallToolResult:
    """A result whose texts can be written: with a replacement character for each half of one."""
    content = [
        block.model_copy(update={"text": text(block.text)}) if isinstance(block, TextContent) else block
        for block in result.content
    ]
    return changed(result, content=content, structured_content=writable(field(result, "structured_content")))


def writable(value: Any) -> Any:
    """Data whose texts can be written."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        return {writable(name): writable(item) for name, item in value.items()}
    return [writable(item) for item in value] if isinstance(value, list) else value


def redact_result(result: CallToolResult, guard: Guard) -> CallToolResult:
    """An error that a tool has built itself, without the secrets in it; the very same if there are none."""
    content: list[Any] = []
    for block in result.content:
        held = block.model_dump(by_alias=True, mode="json", exclude_none=True)
        if (told := masked(held, redact=guard.redact)) == held:
            content.append(block)
            continue
        try:
            content.append(type(block).model_validate(told))
        except ValueError:
            # Without its password an address may be none.
            content.append(TextContent(type="text", text=guard.redact.mask))
    changes: dict[str, Any] = {} if all(map(is_, content, result.content)) else {"content": content}
    for name in ("structured_content", "meta"):
        held = field(result, name)
        if held is not None and (told := masked(held, redact=guard.redact)) != held:
            changes[name] = told
    return changed(result, **changes) if changes else result


def truncate_result(call: ServedCall, result: CallToolResult, most: int, tool: ToolInfo) -> CallToolResult:
    """The result in about `most` characters; itself if it fits. What an output schema promises is never cut."""
    texts = [block for block in result.content if isinstance(block, TextContent)]
    total = sum(len(block.text) for block in texts)
    if total <= most:
        return result
    share = most // len(texts)
    content = [
        block.model_copy(update={"text": _truncate(block.text, share)}) if isinstance(block, TextContent) else block
        for block in result.content
    ]
    changes: dict[str, Any] = {"content": content}
    held = field(result, "structured_content")
    if held is not None and tool.output is None:
        changes["structured_content"] = truncate_data(held, most)
    if call.data:
        call.data = (truncate_data(call.data[0], most),)
    offered = [name for name in _LESS if name in properties_of(tool.schema)]
    how = f"use {' or '.join(offered[:3])}" if offered else "ask for a part of it"
    remark = ToolError(
        f"The output had {total} characters and was cut to about {most}.",
        code="OUTPUT_CUT",
        kind="validation",
        severity="warning",
        suggestion=f"To see the rest, {how}.",
        details={"characters": total, "max_output": most},
    )
    call.remarks += (remark,)
    return changed(result, **changes)


def _truncate(said: str, limit: int) -> str:
    if len(said) > limit and said.lstrip()[:1] in ("{", "["):
        try:
            data = truncate_data(json.loads(said), limit)
        except (ValueError, RecursionError):
            return shorten(said, limit)
        return pretty(data) if "\n" in said else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return shorten(said, limit)


def truncate_data(value: Any, limit: int) -> Any:
    """JSON data in about `limit` characters: long texts lose their middle, long lists and objects their end."""

    def cut(value: Any, longest: int, most: int, depth: int) -> Any:
        if isinstance(value, str):
            return shorten(value, longest)
        if not isinstance(value, (dict, list)):
            return value
        if depth == 0:
            return f"({len(value)} more)"
        more = len(value) - most
        if isinstance(value, dict):
            kept = {name: cut(item, longest, most, depth - 1) for name, item in list(value.items())[:most]}
            return kept if more <= 0 else {**kept, "…": f"{more} more"}
        items = [cut(item, longest, most, depth - 1) for item in value[:most]]
        return items if more <= 0 else [*items, f"…({more} more)"]

    for longest, most in _PLANS:
        shorter = cut(value, longest, most, _DEEPEST)
        if len(json.dumps(shorter, ensure_ascii=False)) <= limit:
            break
    return shorter
