"""What a failed call may have changed, as the server knows it.

An exception that escapes a tool says nothing about what the tool did before it. So the effect comes from what is known
of the tool, from the places its author marked, and from the author's own word, never from the exception.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from failwell.model import (
    ADVICE,
    IN_DOUBT,
    Effect,
    Nature,
    Source,
    ToolError,
    Traits,
    Unmarked,
    effect_of_escape,
    effect_of_raise,
    frames,
    is_refusal_status,
    marked_effect,
    marks,
)
from failwell.redact import cited

from .facts import BrokenResult, Facts
from .options import is_untouched

_WORST_FIRST: Final = (Effect.DONE, Effect.PARTIAL, Effect.UNKNOWN)


class Effects:
    """The effects of one server's failures."""

    def __init__(self, reads: Collection[str] = (), writes: Collection[str] = (), unmarked: Unmarked = "as is") -> None:
        self._reads, self._writes, self._unmarked = tuple(reads), tuple(writes), unmarked

    def traits(self, tool: Facts) -> Traits:
        traits = tool.traits if tool.traits.name is not None else replace(tool.traits, name=tool.name)
        return traits.known(reads=self._reads, writes=self._writes, unmarked=self._unmarked)

    def nature(self, tool: Facts) -> Nature:
        return self.traits(tool).nature

    def is_unmarked(self, tool: Facts) -> bool:
        """Whether nothing tells what the tool is, whatever is made of such tools."""
        return replace(self.traits(tool), unmarked="as is").nature is Nature.UNMARKED

    def passed(self) -> Effect | None:
        """What the call has done by now, as far as its author's marks tell; None before the first of them."""
        made = marks.get()
        return None if made is None else made.effect

    def of(
        self, error: ToolError, tool: Facts, *, source: Source, exc: BaseException, nested: bool = False
    ) -> dict[str, Any]:
        """What to change on an error so that it says what is known. `exc` is what was raised, by another tool that this
        one has called where it is `nested`."""
        nature, has_run = self.nature(tool), _has_run()
        is_after = has_run and nature is Nature.WRITE
        marked = _after_the_tool(exc) if is_after else _place(None if nested else exc)
        if error.origin is not None or (has_run and not error.given("effect")):
            # A code that says that nothing was done speaks for what came before the tool.
            source = Source.ESCAPED
        effect = effect_of_raise(error, nature, source, marked)
        if is_after and effect is Effect.NONE:
            # Who stands around a tool that came to its end cannot know that it did nothing.
            effect = marked
        if effect is error.effect and (effect is not None or error.standing == "quoted" or source is Source.STATED):
            return {}
        # What the server knows it states; where it knows nothing, what follows from the kind must not speak.
        changes: dict[str, Any] = {"effect": effect, "standing": "quoted" if effect is None else None}
        if effect in IN_DOUBT and source is not Source.STATED:
            # What a service behind the tool proposes is about another call.
            changes |= dict.fromkeys(ADVICE)
        return changes

    def of_result(self, broken: BrokenResult, tool: Facts) -> Effect | None:
        """The same for a tool that came to its end, and returned what it does not promise."""
        nature, made = self.nature(tool), marks.get()
        if nature is Nature.READ:
            return Effect.NONE
        if made is not None and made.effect is not None:
            return made.effect
        if not broken.is_tools or nature is not Nature.WRITE:
            return effect_of_escape(nature)
        if made is not None and made.is_complete and tool.marks_effects:
            # It never came to where it says that its effects are, or took them back.
            return Effect.NONE
        # Whoever returns nothing, or an error, may have left before the work.
        return effect_of_escape(nature) if broken.words or broken.returned in (None, "") else Effect.DONE

    def in_all(self, error: ToolError, tool: Facts) -> dict[str, Any]:
        """What to change on an error so that it says what all runs of the tool in this call may have done."""
        made = marks.get()
        if made is None or not made.runs:
            return {}
        changes: dict[str, Any] = {}
        effect = _added(error.effect, made.runs, self.nature(tool))
        if effect is not error.effect:
            changes = {"effect": effect, "standing": "quoted" if effect is None else None, **dict.fromkeys(ADVICE)}
        if made.said and effect in IN_DOUBT:
            changes["message"] = f"{error.message} {cited(made.said)}"
        return changes

    def passed_on(self, error: ToolError, tool: Facts) -> dict[str, Any]:
        """The same for what another server said of another tool, and a tool gives as its own answer."""
        effect = effect_of_raise(error, self.nature(tool), Source.ESCAPED, self.passed())
        return {"effect": effect, "standing": "quoted" if effect is None else None}


def source_of(error: ToolError, *, is_authors: bool, is_refusal: bool = False) -> Source:
    """Where a failure comes from: its author, a refusal of theirs or of an upstream service, or anywhere else."""
    if is_authors:
        return Source.STATED
    return Source.REFUSED if is_refusal or is_refusal_status(error.http_status) else Source.ESCAPED


def _has_run() -> bool:
    """Whether the tool has done its work, and somebody around it failed."""
    passed = marks.get()
    return passed is not None and passed.has_run and passed.effect is None


def _after_the_tool(exc: BaseException) -> Effect:
    """What was done by then. An author's own code around a tool may have taken it back, as a transaction does whose
    commit fails; a framework that cannot write what the tool returned takes nothing back."""
    is_written = any(
        (trace.tb_frame.f_globals.get("__name__"), trace.tb_frame.f_code.co_name) == _WRITING for trace in frames(exc)
    )
    return Effect.DONE if is_written else Effect.UNKNOWN


_WRITING: Final = ("mcp.server.runner", "_serialize")


def _place(exc: BaseException | None) -> Effect | None:
    """Where the call was when it failed, as far as that tells what was done. Without an exception of its own, only what
    it has passed."""
    passed = marks.get()
    if exc is None:
        return None if passed is None else passed.effect or (None if passed.is_complete else Effect.UNKNOWN)
    return marked_effect(exc)


def _added(last: Effect | None, runs: Collection[Effect | None], nature: Nature) -> Effect | None:
    if last in IN_DOUBT or nature is Nature.READ:
        return last
    if nature is not Nature.IDEMPOTENT and (worst := next((each for each in _WORST_FIRST if each in runs), None)):
        return worst
    # That nothing was done has to be so of each of them.
    is_unsaid = last is Effect.NONE and any(each is not Effect.NONE for each in runs)
    return effect_of_escape(nature) if is_unsaid else last


def tell_unmarked(log: Any, tools: Collection[Facts], effects: Effects) -> None:
    """Tell the author once which tools say nothing about themselves, and what to add."""
    names = [
        tool.name
        for tool in tools
        if effects.is_unmarked(tool) and not tool.marks_effects and not is_untouched(tool.function)
    ]
    if not names:
        return
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    # A handler that breaks is no reason for the first call to fail.
    with suppress(Exception):
        log.warning(
            "Neither annotations nor names tell whether these tools change anything: %s. Say it by annotations "
            "(readOnlyHint, idempotentHint) or by install(reads=[…], writes=[…]).",
            shown,
        )


_SHOWN: Final = 10
