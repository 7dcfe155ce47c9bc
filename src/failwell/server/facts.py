"""What is known of a tool and of a failure of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import is_
from types import CodeType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from failwell.formats import Outcome
from failwell.model import Traits, declared, frames, is_frameworks_module, marks_effects
from failwell.readers import code_of, is_order, plain_function, read
from failwell.redact import Guard

if TYPE_CHECKING:
    from .groups.group import Group

URL_ELICITATION: Final = -32042
GROUP: Final = "__failwell_group__"
"""Where a framework's tool has its group: on its function."""

_READING_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_MOST_TRANSFORMS: Final = 20

NOTHING_KNOWN: Final = Traits()


@dataclass(frozen=True, slots=True)
class Facts:
    """What a server says about one of its tools."""

    name: str
    schema: Mapping[str, Any] | None = None
    output: Mapping[str, Any] | None = None
    """The schema of what it promises to return."""
    traits: Traits = NOTHING_KNOWN
    action: str | None = None
    """Which action of a grouped tool was called."""
    function: Any = None
    """What stands behind it, where that is known."""
    description: str | None = None

    @classmethod
    def of(
        cls,
        name: str,
        schema: Any,
        output: Any,
        annotations: Any,
        action: str | None = None,
        function: Any = None,
        description: str | None = None,
    ) -> Facts:
        traits = Traits.of({"annotations": annotations})
        if traits.read_only is None and (mutation := declared(function).mutation) is not None:
            traits = replace(traits, read_only=not mutation)
        return cls(
            name,
            schema if isinstance(schema, Mapping) else None,
            output if isinstance(output, Mapping) else None,
            replace(traits, name=name if action is None else action),
            action,
            function,
            description,
        )

    @classmethod
    def of_tool(cls, name: str, tool: Any, arguments: Mapping[str, Any] | None = None) -> Facts:
        """The same of a tool as a framework keeps it, with its function; of a group, about the action called."""
        function = getattr(tool, "fn", None)
        if (group := group_of(function)) is not None:
            return group.facts(arguments)
        annotations, output = tool.annotations, getattr(tool, "output_schema", None)
        parts = (function, tool.parameters, output, annotations, tool.description)
        known = _known.get((name, id(function)))
        if known is not None and all(map(is_, known.parts, parts)) and known.hints == _hints(annotations):
            return known.facts
        facts = cls.of(name, tool.parameters, output, annotations, None, function, tool.description)
        if facts.traits.read_only is None and _posts(tool):
            facts = replace(facts, traits=replace(facts.traits, read_only=False))
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[name, id(function)] = _Known(parts, dict(_hints(annotations)), facts)
        return facts

    @property
    def structured(self) -> bool:
        """Whether it promises what it returns."""
        return self.output is not None

    @property
    def marks_effects(self) -> bool:
        """Whether its function says where its effects are: then before that place there are none."""
        code = code_of(self.function)
        return code is not None and marks_effects(code, getattr(plain_function(self.function), "__globals__", {}))

    @property
    def label(self) -> str:
        return self.name if self.action is None else f"{self.name}/{self.action}"


class _Known(NamedTuple):
    """What was found out about a tool, and what it was found out from."""

    parts: tuple[Any, ...]
    hints: dict[str, Any]
    """Apart, since annotations may be changed in their place."""
    facts: Facts


# A server asks for every tool of its own at each failure that leaves something open.
_known: dict[tuple[str, int], _Known] = {}
_MOST_KNOWN: Final = 1000


def _hints(annotations: Any) -> Mapping[str, Any]:
    return annotations if isinstance(annotations, dict) else getattr(annotations, "__dict__", {})


def _posts(tool: object) -> bool:
    """Whether a tool that FastMCP made from an OpenAPI document sends what is no read, whatever it is called there."""
    method = getattr(getattr(innermost(tool), "_route", None), "method", None)
    return method is not None and str(method).upper() not in _READING_METHODS


def innermost(tool: Any) -> Any:
    """The tool that another was made of, however often it was renamed; the tool itself if it was made of none."""
    for _ in range(_MOST_TRANSFORMS):
        if (inner := getattr(tool, "parent_tool", None)) is None:
            break
        tool = inner
    return tool


def group_of(function: object) -> Group | None:
    """The group whose tool has this function; None for any other tool's."""
    return getattr(function, GROUP, None)


def as_listed(tool: Facts) -> dict[str, Any]:
    """A tool as MCP lists it."""
    traits = tool.traits
    hints = {
        "readOnlyHint": traits.read_only,
        "idempotentHint": traits.idempotent,
        "destructiveHint": traits.destructive,
    }
    return {"name": tool.name, "description": tool.description, "inputSchema": tool.schema, "annotations": hints}


class Abandoned(Exception):
    """Something that a tool waited for was cancelled, though the call itself was not."""


def taken(exc: BaseException) -> BaseException:
    """`exc` as a failure. An order to stop is raised again; a cancellation is one if this call is what is cancelled."""
    if isinstance(exc, asyncio.CancelledError):
        task = asyncio.current_task()
        if task is not None and not task.cancelling():
            return Abandoned()
    if is_order(exc):
        raise exc
    return exc


# Whose parts with these names run tools.
_FRAMEWORKS: Final = ("mcp.", "fastmcp.")
_RUNNING: Final = ".tools"
# One that was made of another is that one, with other arguments.
_MADE_OF: Final = ".tool_transform"


def runs_another(exc: BaseException, code: CodeType | None) -> bool:
    """Whether an exception came out of a tool that a framework ran for the function with this code, an author's own:
    what it says is said of that tool."""
    is_inside = has_run = False
    for trace in frames(exc):
        frame = trace.tb_frame
        place = str(frame.f_globals.get("__name__"))
        if is_inside and _RUNNING in place and place.startswith(_FRAMEWORKS):
            if place.endswith(_MADE_OF):
                return False
            has_run = True
        elif frame.f_code is code and not is_frameworks_module(place):
            # Anew each time: an exception that is raised again and again carries along the ways that it went before.
            is_inside, has_run = True, False
    return has_run


def is_torn_down(exc: BaseException) -> bool:
    """Whether it was raised when FastMCP closed what a tool depends on, after the tool itself had returned."""
    for outer, inner in pairwise(frames(exc)):
        is_closing = inner.tb_frame.f_code.co_name == "__aexit__"
        # With what a block has raised, where it has.
        if (
            is_closing
            and outer.tb_frame.f_globals.get("__name__") == _DEPENDENCIES
            and inner.tb_frame.f_locals.get("typ", inner) is None
        ):
            return True
    return False


_DEPENDENCIES: Final = "fastmcp.server.dependencies"


class BrokenResult(Exception):
    """A tool ran to its end and returned what its output schema does not allow: this, where that is known; else it is
    something that nothing can be made of. Or somebody around the tool did so in its place: then it is not `is_tools`,
    and nobody knows what the tool has done."""

    def __init__(self, returned: object = ..., *, is_tools: bool = True) -> None:
        super().__init__()
        self.returned = returned
        self.is_tools = is_tools

    @property
    def words(self) -> str:
        """What the tool said, where it returned an error in place of what it promised."""
        found = read(self.returned) if isinstance(self.returned, (str, dict)) else None
        return found.message if found is not None else ""


class Failed(NamedTuple):
    """A failure that has been read: what it means, which tool it is of, what was raised, and what must not leave."""

    outcome: Outcome
    tool: Facts
    raised: BaseException
    guard: Guard
    """It knows which arguments of the tool are secret, and what this call was sent for them."""

    def guarded(self) -> Outcome:
        """What it means, as it may leave."""
        return self.guard(self.outcome)
