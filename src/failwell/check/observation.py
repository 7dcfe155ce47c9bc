"""What came back for a probe, opened as far as the rules need it. No sentence is understood here: what is looked at are
forms, names of the tool list, values of the schema, and whether texts differ."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from failwell.formats import keys
from failwell.model import Nature, NeedsInput, ToolError, pattern
from failwell.readers import is_plain_failure, read

from .probes import ARGUMENTS, NAMES, TOOLS, Probe, ProbedTool
from .transport import Reply
from .upstream import UpstreamFault


class Unsure:
    """What was seen proves neither: it stays out of the score, and is named."""


UNSURE: Final = Unsure()
Judged = bool | str | Unsure | None
"""True where a rule holds, a sentence that says how it is broken, `UNSURE`, or None where it has nothing to look at."""
LONGEST: Final = 100_000
_MOST_OBJECTS: Final = 40
_MOST_SENT: Final = 200
# How programs in any language begin the text of an error.
_ERROR: Final = pattern(r"^[^\w\n]{0,6}(?:[A-Za-z_.]{0,60}(?:Error|ERROR|Exception))\b(?: [^\s:]{1,60})?\s*[:(\n]")
_ANSWERED_NOTHING: Final = frozenset({"", "null", "none", "undefined", "{}", "[]", "nil", '""', "nan"})
_CHANGING: Final = pattern(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?=\w*\d)[0-9a-f]{8,}\b|\d{4,}|\d\.\d+")
_TOOL: Final = pattern(r"^[A-Za-z_][\w./:-]{0,127}$")
_HOLE: Final = pattern(r"^(?:<[^<>]*>|\{[^{}]*\}|\[[^\[\]]*\]|\.\.\.|\u2026)$")


@dataclass(frozen=True, slots=True)
class Advice:
    """A call, or a tool, that a failure names."""

    tool: str
    arguments: Mapping[str, Any] | None
    """None where only the tool is named."""
    explicit: bool
    """Whether it is written as a call, and not merely as a name."""
    exists: bool = True
    writes: bool = False
    same: bool = False
    """Whether it is the call that failed."""
    fits: bool = True
    has_holes: bool = False
    """Whether a value in it is the agent's to find."""
    works: bool | None = None
    """Whether it got through when it was made; None where it was not."""


@dataclass(eq=False)
class Observation:
    """One probe with its answer."""

    probe: Probe
    reply: Reply
    era: str
    tool: ProbedTool | None = None
    frame: str = ""
    """What was sent, as it was sent."""
    base: Observation | None = None
    """The same call with nothing wrong in it."""
    died: bool = False
    """Whether the server was gone, or answered nothing any more, after it."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    advice: tuple[Advice, ...] = ()
    peers: tuple[Observation, ...] = ()
    """The other failures of the same tool, and that of a tool that does not exist."""

    @property
    def kind(self) -> str:
        return self.probe.kind

    @property
    def category(self) -> str:
        """What the probe is about. Each counts the same, however many probes it has."""
        kinds = {"arguments": ARGUMENTS, "names": NAMES, "tools": TOOLS, "faults": {"fault"}, "absent": {"absent"}}
        return next((name for name, each in kinds.items() if self.kind in each), "doing")

    @property
    def answered(self) -> bool:
        return self.reply.state == "answered" and self.reply.message is not None

    @cached_property
    def result(self) -> Mapping[str, Any] | None:
        found = (self.reply.message or {}).get("result")
        return found if isinstance(found, Mapping) else None

    @cached_property
    def error(self) -> Mapping[str, Any] | None:
        found = (self.reply.message or {}).get("error")
        return found if isinstance(found, Mapping) else None

    @property
    def code(self) -> Any:
        return None if self.error is None else self.error.get("code")

    @cached_property
    def blocks(self) -> tuple[str, ...]:
        """The texts of the answer, each as the model gets it."""
        if self.error is not None:
            return (str(self.error.get("message", "")),)
        content = self.result.get("content") if self.result is not None else None
        found = content if isinstance(content, list) else ()
        return tuple(each["text"] for each in found if isinstance(each, Mapping) and isinstance(each.get("text"), str))

    @cached_property
    def text(self) -> str:
        return "\n".join(self.blocks)[:LONGEST]

    @cached_property
    def structured(self) -> Any:
        """What the answer holds for programs, without `_meta`."""
        return self.error.get("data") if self.error is not None else (self.result or {}).get("structuredContent")

    @cached_property
    def words(self) -> str:
        """What a model is shown by any client: the first text, and the structured part."""
        first = self.blocks[0][:LONGEST] if self.blocks else ""
        if self.structured is None:
            return first
        return f"{first}\n{json.dumps(self.structured, ensure_ascii=False, default=str)}"[:LONGEST]

    @cached_property
    def whole(self) -> str:
        """Everything of the answer that a client gets, as text."""
        found = self.error if self.error is not None else self.result
        return json.dumps(found, ensure_ascii=False, default=str)[:LONGEST] if found is not None else ""

    @property
    def shown(self) -> str:
        """The text as a finding quotes it: what is cut off must not be the half of a secret."""
        given = self.facts.get("secrets")
        text = " ".join((self.text if given is None else str(given.text(self.text))).split())
        return text if len(text) <= 120 else f"{text[:119]}…"

    @cached_property
    def said(self) -> str:
        """The words without what was sent: no echo of arguments counts for a statement about them."""
        text = self.words
        sent = self.probe.arguments
        for dump in {json.dumps(sent, ensure_ascii=ascii, separators=sep) for ascii in (True, False) for sep in _SEPS}:
            text = text.replace(dump, " ") if sent else text
        text = text.replace(repr(dict(sent)), " ") if sent else text
        leaves = {str(leaf) for leaf in _leaves(sent)} | {json.dumps(leaf) for leaf in _leaves(sent)}
        for leaf in sorted((each for each in leaves if len(each) > 2), key=len, reverse=True)[:_MOST_SENT]:
            text = text.replace(leaf, " ")
        return text

    @cached_property
    def essence(self) -> str:
        """The words without what differs from call to call: the same for two answers that say the same."""
        text = self.said.replace(self.tool.name, " ") if self.tool is not None else self.said
        name = (self.probe.params or {}).get("name")
        text = text.replace(name, " ") if isinstance(name, str) and name else text
        return " ".join(_CHANGING.sub("#", text).split())[:4_000]

    def mentions(self, name: str) -> int:
        """How often a name occurs in what the answer says, as a word of its own."""
        return len(re.findall(rf"(?<![\w]){re.escape(name)}(?![\w])", self.said)) if name else 0

    @property
    def is_marked(self) -> bool:
        """Whether the answer says by its form that the call failed."""
        return self.error is not None or (self.result is not None and self.result.get("isError") is True)

    @cached_property
    def meaning(self) -> ToolError | NeedsInput | None:
        """What the answer tells of a failure, also where its form says that it worked."""
        if self.reply.message is None or len(self.reply.raw) > LONGEST:
            return None
        try:
            found = read(self.reply.message, observe=True)
        except Exception:
            return None
        return found if isinstance(found, NeedsInput) or (found is not None and found.is_error) else None

    @property
    def asks(self) -> bool:
        """Whether the answer is a question to the user, which is no failure."""
        return isinstance(self.meaning, NeedsInput) or (self.result or {}).get("resultType") == "input_required"

    @property
    def fault(self) -> UpstreamFault | None:
        """How the upstream of the tool failed, where it was made to."""
        return self.facts.get("fault")

    @cached_property
    def is_unmarked_failure(self) -> bool:
        """Whether the call failed, and the answer says by its form that it worked."""
        if self.is_marked or self.result is None or self.asks or self.probe.method != "tools/call":
            return False
        if self.kind in TOOLS:
            return True
        forms = [self.structured, *(_loaded(block) for block in self.blocks[:1])]
        if any(_states_failure(form) for form in forms):
            return True
        is_error = _ERROR.match(self.text) is not None and len(self.text) < 2_000
        base, works = self.base, self.base is not None and self.base.worked
        if self.kind in ARGUMENTS | {"absent"} and is_error:
            return base is None or base.text != self.text
        if isinstance(self.meaning, ToolError) and is_plain_failure(self.meaning, self.result):
            return len(self.text) < 2_000
        if self.kind in ARGUMENTS and base is not None and works and self.essence != base.essence:
            # In whichever language: a wrong argument is named that the answer to a good call does not name.
            return any(self.mentions(name) > base.mentions(name) for name in self.probe.wrong)
        if self.kind == "absent" and base is not None and works:
            if self.text.strip().lower() in _ANSWERED_NOTHING and self.structured in (None, {}, {"result": None}):
                return base.text.strip().lower() not in _ANSWERED_NOTHING
            if self.facts.get("alike"):
                return True
            # What should be data is a sentence about the thing that is not there.
            sent = str(self.probe.arguments.get(self.probe.argument or ""))
            is_data = isinstance(_loaded(base.text), dict | list) and not isinstance(_loaded(self.text), dict | list)
            return is_data and len(sent) > 3 and sent in self.text
        return False

    @property
    def failed(self) -> bool:
        return self.is_marked or self.is_unmarked_failure

    @property
    def worked(self) -> bool:
        return self.result is not None and not self.failed and not self.asks

    @property
    def is_tool_failure(self) -> bool:
        """Whether it is a failed call of a tool that exists."""
        return self.failed and self.probe.method == "tools/call" and self.tool is not None

    @property
    def fails_anyhow(self) -> bool:
        """Whether the call with nothing wrong in it fails with the same words: then nothing was said of the fault."""
        return self.base is not None and self.base.failed and self.base.essence == self.essence

    @property
    def refuses_arguments(self) -> bool:
        """Whether it is plain that the arguments were refused, and that nothing was done: by a form, or by a name."""
        if not self.is_marked:
            return False
        meaning = self.meaning
        stated = isinstance(meaning, ToolError) and not meaning.legacy and meaning.kind == "validation"
        # Before anything is validated it is said who may call, and nothing is done either; that is not proven here.
        return stated or self.code == -32602 or any(self.mentions(name) for name in self.probe.wrong)

    @cached_property
    def ignored(self) -> tuple[str, ...]:
        """The arguments that the answer says were ignored."""
        meta = self.result.get("_meta") if self.result is not None else None
        found = meta.get(keys.IGNORED_ARGUMENTS) if isinstance(meta, Mapping) else None
        return tuple(map(str, found)) if isinstance(found, list) else ()


_SEPS: Final = ((", ", ": "), (",", ":"))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    elif value is not None and not isinstance(value, bool):
        yield value


def _loaded(text: str) -> Any:
    try:
        return json.loads(text) if text.lstrip()[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return None


def _states_failure(form: Any) -> bool:
    """Whether an object says in a field that it is a failure, and holds nothing else that was asked for."""
    if not isinstance(form, Mapping):
        return False
    if form.get("success") is False or form.get("ok") is False or form.get("isError") is True:
        return True
    status = form.get("status")
    if isinstance(status, str) and status.lower() in ("error", "failed", "failure", "fail"):
        return True
    if type(status) is int and 400 <= status < 600:
        return True
    return (
        bool(form.get("error")) and isinstance(form["error"], str | Mapping) and not (form.keys() & {"data", "result"})
    )


def objects_in(text: str) -> Iterator[tuple[int, Any]]:
    """The JSON objects that stand in a text, each with its place."""
    decoder, at, found = json.JSONDecoder(), text.find("{"), 0
    while 0 <= at < LONGEST and found < _MOST_OBJECTS:
        found += 1
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield at, value
        at = text.find("{", end)


def advice_in(seen: Observation, tools: Mapping[str, ProbedTool]) -> tuple[Advice, ...]:
    """The calls and tools that a failure names, each once. Names count where no word of prose can look like them."""
    own, sent = seen.probe.params or {}, seen.probe.arguments
    found: dict[str, Advice] = {}
    schema_text = json.dumps(seen.tool.listed.get("inputSchema"), default=str) if seen.tool is not None else ""
    in_meta = False

    def add(name: str, arguments: Mapping[str, Any] | None, explicit: bool) -> None:
        tool = tools.get(name)
        if tool is None and name == own.get("name"):
            return
        filled = None if arguments is None or tool is None else filled_in(tool, arguments)
        same = name == own.get("name") and arguments is not None and dict(arguments) == dict(sent)
        if same and not explicit:
            return
        has_holes = filled is not None and filled != arguments
        fits = tool is not None and (filled is None or tool.schema.fits(filled))
        if tool is not None and filled is not None and not fits:
            # What is found for a hole may decide what else is needed.
            fits = has_holes and filled.keys() <= tool.schema.properties.keys()
            rest = {name: tool.schema.sample_or(name, None) for name in tool.schema.required if name not in filled}
            # The beginning of a call is neither right nor wrong; of what is for programs only what fits is looked at.
            if not fits and (in_meta or (rest and tool.schema.fits({**rest, **filled}))):
                return
        key = json.dumps([name, filled], default=str, sort_keys=True)
        writes = tool is not None and tool.nature in (Nature.WRITE, Nature.IDEMPOTENT)
        found.setdefault(key, Advice(name, filled, explicit, tool is not None, writes, same, fits, has_holes))

    def look(value: Any, named: str | None, depth: int) -> None:
        if depth > 8 or len(found) > 20:
            return
        if isinstance(value, str):
            scan(value, depth + 1)
        elif isinstance(value, list):
            for each in value[:30]:
                look(each, None, depth + 1)
        elif isinstance(value, Mapping):
            arguments = next((value[key] for key in _GIVEN if isinstance(value.get(key), Mapping)), None)
            tool = value.get("tool", value.get("name") if arguments is not None else None)
            is_call = isinstance(tool, str) and _TOOL.match(tool) and (arguments is not None or tool != own.get("name"))
            # An echo of the request is no advice.
            if is_call and (arguments != sent or "tool" in value):
                add(str(tool), arguments, True)
                return
            target = named if named is not None else own.get("name")
            known = tools.get(target) if isinstance(target, str) else None
            if known is not None and value.keys() <= known.schema.properties.keys():
                complete = value.keys() >= set(known.schema.required)
                if (value or named) and complete and known.schema.fits(filled_in(known, value)):
                    add(known.name, value, named is not None)
                    return
            if known is not None and named is not None and _is_call(known, value):
                add(known.name, value, True)
                return
            for key, each in list(value.items())[:60]:
                named_tools = each if isinstance(each, list) else [each]
                if str(key).lower().endswith(("tool", "tools")) and all(isinstance(name, str) for name in named_tools):
                    for name in named_tools:
                        if _TOOL.match(name) and name != own.get("name"):
                            add(name, None, True)
                else:
                    look(each, None, depth + 1)

    def scan(text: str, depth: int) -> None:
        for at, value in objects_in(text):
            before = text[max(0, at - 60) : at]
            named = [(hit.end(), name) for name in tools if name in before for hit in _standing(name, before)]
            look(value, max(named)[1] if named else None, depth)
        for name in tools:
            # A value of the schema may have the name of a tool.
            if name != own.get("name") and _is_named(name, text) and f'"{name}"' not in schema_text:
                add(name, None, False)

    for text in seen.blocks:
        scan(text[:20_000], 0)
    look(seen.structured, None, 0)
    in_meta = True
    look((seen.result or {}).get("_meta"), None, 0)
    return tuple(found.values())


def _is_call(tool: ProbedTool, value: Mapping[str, Any]) -> bool:
    """Whether an object is meant as arguments: it fits in part, or has holes. A list of what is wrong with each fits
    in no part."""
    base, known = tool.schema.base() or {}, [name for name in value if name in tool.schema.properties]
    if filled_in(tool, value) != value:
        return bool(known)
    return any(tool.schema.fits({**base, name: value[name]}) for name in known)


_GIVEN: Final = ("arguments", "args", "input", "params", "parameters")


def _standing(name: str, text: str) -> Iterator[re.Match[str]]:
    """Where a name stands as a whole, and not inside another."""
    return re.finditer(rf"(?<![\w/.-]){re.escape(name)}(?![\w/-])", text)


def _is_named(name: str, text: str) -> bool:
    if name not in text:
        return False
    if name.isalpha() and (name.islower() or name.istitle()):
        # A word of prose, too, unless it is quoted.
        return re.search(rf"[`'\"«„“]{name}[`'\"»“”]|(?<![\w/.-]){name}\(", text) is not None
    return any(True for _ in _standing(name, text))


def filled_in(tool: ProbedTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with the holes filled: `"<string>"` stands for a value that the agent has to find."""
    return {
        name: tool.schema.sample_or(name, value) if isinstance(value, str) and _HOLE.match(value) else value
        for name, value in arguments.items()
    }


def failures(seen: Iterable[Observation]) -> tuple[Observation, ...]:
    return tuple(each for each in seen if each.failed)
