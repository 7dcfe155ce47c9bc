"""`parse`: any outcome that came over a wire, in any of the formats, told or not which one it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from failwell.model import IN_DOUBT, NeedsInput, Severity, Strategy, ToolError, pattern

from . import canonical, text
from .keys import TOOL_ERROR
from .table import FORMATS
from .wire import OBJECT, Format, Outcome, Sign, doubted, read_json

META_KEY: Final = TOOL_ERROR
_SIGNS: Final[tuple[tuple[Sign, Format], ...]] = tuple(
    sorted(((sign, spec) for spec in FORMATS.values() for sign in spec.signs), key=lambda row: row[0].rank)
)
_STARTS: Final[Mapping[str, Format]] = {spec.start: spec for spec in FORMATS.values() if spec.start}
_BARE: Final[tuple[Format, ...]] = tuple(spec for spec in FORMATS.values() if spec.bare is not None)
_OURS: Final = canonical.FORMAT.name
_SDK_PREFIX = pattern(r"(?:Error (?:executing|calling) tool '?[^:'\n]{1,200}'?: )+")


def parse(source: object, format: str | None = None) -> Outcome | None:
    """The failure or the question that `source` says in one of the wire formats; None when there is neither.

    It is the strict reader: of words it knows only that they are words, and of a number only what its contract says.
    What somebody's sentence means, an exception or an HTTP answer, `failwell.read` tells.

    `source` may be a text, bytes, a JSON object, a tool result or a JSON-RPC response as dictionaries, or an object of
    an MCP SDK. The format is detected and recorded in the result's `format`; with `format`, only that one is tried.

    >>> parse('{"type":"NOT_FOUND","message":"no such agent","recoverable":false}').kind
    <Kind.NOT_FOUND: 'not_found'>
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"There is no format {format!r}; use one of: {', '.join(FORMATS)}.")
    try:
        return _text(source, format) if isinstance(source, str) else _read(source, format)
    except Exception:
        # Some objects break when they are looked at. Whatever they are, there is no error to be read from them.
        return None


def _read(source: object, format: str | None) -> Outcome | None:
    if isinstance(source, (ToolError, NeedsInput)):
        return source
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _text(bytes(source).decode("utf-8", "replace"), format)
    if not isinstance(source, (dict, list, Mapping)):
        from failwell.model import Err

        if isinstance(source, Err):
            return source.error
        source = _as_wire(source)
    outcome = _data(source, format)
    if outcome is None and isinstance(source, Mapping):
        return next((found for spec in _BARE if format in (None, spec.name) and (found := _bare(spec, source))), None)
    return outcome


def words_in(source: object) -> str | None:
    """The words of the result of a call that failed, or of a response around one; None where there are none, or
    something else is in it that may say more."""
    if type(source) is not dict:
        return None
    result = source.get("result") if "jsonrpc" in source else source
    if type(result) is not dict or result.get("isError") is not True or not _BESIDE.isdisjoint(result):
        return None
    blocks = result.get("content")
    if type(blocks) is not list:
        return None
    texts = []
    for block in blocks:
        if type(block) is not dict:
            return None
        if type(value := block.get("text")) is str:
            if _text(value) is not None:
                return None
            texts.append(value)
    return "\n".join(texts) if any(texts) else None


# Where a result may say in a form what its blocks do not.
_BESIDE: Final = frozenset({"structuredContent", "structured_content", "_meta", "meta"})


def _bare(spec: Format, source: Mapping[str, Any]) -> Outcome | None:
    return None if spec.bare is None else spec.bare(source)


def is_prose(format: str | None) -> bool:
    """Whether a format is plain sentences, which are read only by those who ask for them."""
    return format is not None and FORMATS[format].prose


def _data(source: object, format: str | None) -> Outcome | None:
    """The outcome in JSON data: a result, a response around one, a list of blocks, or an error object."""
    if isinstance(source, list):
        source = {"content": source}
    if not isinstance(source, OBJECT):
        return None
    data: Mapping[str, Any] = source
    if "jsonrpc" in data and _is_result(data.get("result")):
        data = data["result"]
    return _result(data, format) if isinstance(data.get("content"), list) else _object(data, format)


def _text(source: str, format: str | None = None) -> Outcome | None:
    if is_prose(format):
        return FORMATS[format or ""].load(source)
    source = source.lstrip("\ufeff \t\r\n")
    start = source[:1]
    if start in ("{", "["):
        return _twice_said(_data(read_json(source), format), source)
    spec = _STARTS.get(start)
    if spec is not None and format in (None, spec.name):
        found = spec.load(source)
        return None if found is None else _twice_said(careful_of(found), source)
    if start == "E" and (prefix := _SDK_PREFIX.match(source)):
        return _text(source[prefix.end() :], format)
    return None


def _twice_said(outcome: Outcome | None, source: str) -> Outcome | None:
    """The outcome, unless its text says in a place that its form does not know, or beside another word for it, that the
    call may have been done: of a key that stands twice, JSON keeps the last."""
    if "effect" not in source or not isinstance(outcome, ToolError):
        return outcome
    is_ours = outcome.format == _OURS and source.count('"effect"') < 2
    is_said = not is_ours and _DOUBT_SAID.search(source) is not None
    return doubted(outcome) if is_said and outcome.effect not in IN_DOUBT else outcome


# With the word in front, which is looked for far faster than a choice of two marks.
_DOUBT_SAID: Final = pattern(
    r'effect(?:(?<="effect)"\s{0,9}:\s{0,9}"|(?<=<effect)>\s{0,9})(?:unknown|partial|done)\b',
)


def _object(data: Mapping[str, Any], format: str | None = None) -> Outcome | None:
    for sign, spec in _SIGNS:
        if sign.key in data and (outcome := sign.load(data)) is not None:
            if spec.attaches and format in (None, _OURS):
                outcome = _attached(outcome) or outcome
            if sign.is_said is not None and isinstance(outcome, ToolError) and outcome.standing != "quoted":
                outcome.standing = "stated" if sign.is_said(data) else "quoted"
            if sign.is_whole is not None and isinstance(outcome, ToolError) and not sign.is_whole(data):
                outcome.standing = "quoted"
            error = data.get("error")
            within = error.get("details") if error and isinstance(error, OBJECT) else None
            outcome = careful_of(outcome, data, error, within, data.get("data"), data.get("meta"))
            return outcome if format is None or outcome.format == format else None
    return None


def _attached(outcome: Outcome) -> Outcome | None:
    """The whole error that another one carries in its details."""
    own = outcome.details.get(META_KEY) if isinstance(outcome, ToolError) else None
    return canonical.load(own) if isinstance(own, Mapping) else None


def _is_result(data: object) -> bool:
    return isinstance(data, OBJECT) and isinstance(data.get("content"), list)


def _result(result: Mapping[str, Any], format: str | None = None) -> Outcome | None:
    """The outcome in a tool result: our own metadata first, then the blocks, then the structured content."""
    is_error = result.get("isError", result.get("is_error"))
    structured = result.get("structuredContent", result.get("structured_content"))
    meta = result.get("_meta", result.get("meta"))
    meta = meta if meta is not None and isinstance(meta, OBJECT) else {}
    content = result["content"]
    texts = list(_texts(content))
    found: list[_Found] = []
    if format in (None, _OURS) and isinstance(own := meta.get(META_KEY), Mapping):
        found += _if_any(canonical.load(own), is_whole=True)
    if not is_prose(format):
        found += _visible(texts, structured, format, alone=len(texts) == len(content))
    if not found and is_error is True and (format is None or is_prose(format)):
        found += _if_any(text.load("\n".join(texts)) or text.load(_NOTHING_SAID))
    if not found:
        return None
    outcome, is_whole = found[0]
    if not isinstance(outcome, ToolError):
        outcome.standing = "stated" if is_whole else "quoted"
        return outcome
    _compare_flag(outcome, is_error)
    # What the error itself knows of how it was said is not bettered by being passed on.
    if outcome.standing != "quoted" and outcome.is_error:
        is_said = is_error is True or any(is_all and _is_unflagged(each, texts) for each, is_all in found)
        outcome.standing = "stated" if is_said and is_whole else "quoted"
    for other, _ in found[1:]:
        if isinstance(other, ToolError):
            outcome = _careful(outcome, other)
    return outcome


def _is_unflagged(outcome: Outcome, texts: list[str]) -> bool:
    """Whether an outcome is a failure without `isError`, too: with other words beside it only one that is `marked`."""
    spec = FORMATS.get(outcome.format or "")
    if spec is None or not spec.unflagged:
        return False
    return spec.marked or all(_tells(each, outcome) or _text(each) == outcome for each in texts)


def careful_of(outcome: Outcome, *objects: object) -> Outcome:
    """The outcome, unless something beside it says that the call may have been done: a form has no key for that, so
    whoever writes one there means it."""
    if not isinstance(outcome, ToolError):
        return outcome
    is_said = False
    for each in (*objects, outcome._given.get("details")):
        # Most are not there, and asking an abstract class about them would take longer than all the rest.
        if each and isinstance(each, OBJECT) and "effect" in each:
            said = each["effect"]
            is_said = is_said or (isinstance(said, str) and said in _DOUBTS)
    return doubted(outcome) if is_said and outcome.effect not in IN_DOUBT else outcome


_NOTHING_SAID: Final = "The tool failed and gave no reason."
_DOUBTS: Final = frozenset(effect.value for effect in IN_DOUBT)


class _Found(NamedTuple):
    outcome: Outcome
    is_whole: bool
    """Whether the object is the answer itself, not something in it."""


def _if_any(outcome: Outcome | None, *, is_whole: bool = False) -> list[_Found]:
    return [] if outcome is None else [_Found(outcome, is_whole)]


def _visible(texts: list[str], structured: object, format: str | None, *, alone: bool) -> list[_Found]:
    """The outcomes in what a model may be shown: the text blocks, else the structured content. The first one counts."""
    every = [(outcome, block) for block in texts if (outcome := _text(block, format)) is not None]
    fallback = _object(structured, format) if structured is not None and isinstance(structured, OBJECT) else None
    # A block in another format than the structured content is a message that looks like an error; what it says of the
    # call still counts where it is the more careful one.
    blocks = [each for each in every if fallback is None or each[0].format == fallback.format]
    strangers = [_Found(outcome, False) for outcome, block in every if (outcome, block) not in blocks]
    if not blocks:
        # A question is meant only where nothing beside it is an answer.
        is_meant = isinstance(fallback, ToolError) or all(_tells(each, fallback) for each in texts if fallback)
        return [*_if_any(fallback, is_whole=is_meant), *strangers]
    outcome, block = blocks[-1] if FORMATS[blocks[-1][0].format or ""].last_counts else blocks[0]
    if fallback is not None and fallback != outcome:
        _note(outcome, "The text block and the structured content disagree; the block counts.")
    others = [each for each in texts if each is not block]
    is_whole = alone and _is_object(block) and len(others) <= 1 and all(_tells(each, outcome) for each in others)
    # Data that are no error may be what was done.
    is_whole = is_whole and (not structured or _echoes(structured, texts))
    found = [_Found(outcome, is_whole or fallback is not None)]
    found += [_Found(other, False) for other, _ in blocks if other is not outcome and other != outcome]
    return (
        [*found, *strangers]
        if fallback is None or fallback == outcome
        else [*found, *strangers, _Found(fallback, True)]
    )


def _is_object(block: str) -> bool:
    """Whether a text that holds an error is nothing but the error: no words before it, and none after it."""
    block = block.strip("\ufeff \t\r\n")
    start = block[:1]
    if start in ("{", "["):
        return True
    return block.startswith(_ELEMENTS) and block.endswith(_ENDS) and sum(map(block.count, _ELEMENTS)) == 1


_ELEMENTS: Final = ("<tool_error", "<validation_error")
_ENDS: Final = ("</tool_error>", "</validation_error>", "/>")


def _echoes(structured: object, texts: list[str]) -> bool:
    """Whether structured content is nothing but the text once more, as frameworks wrap it."""
    return isinstance(structured, Mapping) and all(value in texts for value in structured.values())


def _tells(block: str, outcome: Outcome) -> bool:
    """Whether a block is the message of the object beside it, for people."""
    block, message = block.strip(), outcome.message.strip()
    if not message or block in message:
        return bool(message)
    before, is_in, _ = block.partition(message)
    # Before it stands at most what kind of message it is; any other words may say what was done.
    return bool(is_in) and _LABEL.fullmatch(before) is not None


_LABEL: Final = pattern(r"(?i)[\W_]*(?:error|warning|failed|failure|tool error)?[\W_]*(?-i:[A-Z0-9_]*|[A-Z]\w*)[\W_]*")


def _careful(error: ToolError, other: ToolError) -> ToolError:
    """Of two errors in one result, the first; if the other one is more careful than it would have it, neither may lead
    to a second call."""
    spec = FORMATS.get(other.format or "")
    if spec is None or spec.prose or error.effect in IN_DOUBT or other == error:
        return error
    expected = spec.load(spec.dump(error))
    if other.effect in IN_DOUBT:
        error.effect = other.effect
    elif not isinstance(expected, ToolError) or _permits(expected) <= _permits(other):
        return error
    error.standing = "quoted"
    return error.note("Two errors in one result contradict each other; the more careful one counts.")


def _permits(error: ToolError) -> set[str]:
    """What an error says, in words of its own form, that would have the call made again."""
    spec = FORMATS.get(error.format or "")
    own = () if spec is None else spec.own_words
    said = {
        "retryable": error.retryable and error.strategy in _AGAIN,
        "recoverable": error.recoverable and "recoverable" in own,
        "strategy": error.strategy in _AGAIN and "strategy" in own and error.given("strategy"),
    }
    return {name for name, permits in said.items() if permits}


_AGAIN: Final = frozenset({Strategy.RETRY, Strategy.FIX})


def _compare_flag(error: ToolError, is_error: object) -> None:
    if is_error is True and not error.is_error:
        error.note("The result says isError: true, the error calls itself a warning.")
    spec = FORMATS.get(error.format or "")
    if is_error is False and error.is_error and not (spec is not None and spec.is_failure):
        if spec is not None and spec.severity_of_result and not error.given("severity"):
            error.severity = Severity.WARNING
        else:
            error.note("The result says isError: false, yet it holds an error.")


def _note(outcome: Outcome, note: str) -> None:
    if isinstance(outcome, ToolError):
        outcome.note(note)
    else:
        outcome.notes = (*outcome.notes, note)


def _texts(blocks: list[Any]) -> Iterator[str]:
    for block in blocks:
        value = block.get("text") if isinstance(block, OBJECT) else getattr(block, "text", None)
        if isinstance(value, str):
            yield value


def _as_wire(source: object) -> object:
    """The dictionary behind an SDK object: a result, a response, or an exception that holds an error object."""
    try:
        inner = getattr(source, "error", None)
        if isinstance(source, BaseException) and callable(dump := getattr(inner, "model_dump", None)):
            return {"jsonrpc": "2.0", "error": dump(mode="json", by_alias=True, exclude_none=True)}
        if callable(dump := getattr(source, "model_dump", None)):
            return dump(mode="json", by_alias=True, exclude_none=True)
        if isinstance(content := getattr(source, "content", None), list):
            return {
                "content": content,
                "isError": getattr(source, "is_error", getattr(source, "isError", None)),
                "structuredContent": getattr(source, "structured_content", None),
                "_meta": getattr(source, "meta", None),
            }
    except Exception:
        return None
    return None
