"""What a failed call may have changed, as the server knows it.

An exception that escapes a tool says nothing about what the tool did before it. So the effect comes from what is known
of the tool, from the places its author marked, and from the author's own word, never from the exception.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from failwell.formats import reason_of
from failwell.guards import cited
from failwell.model import ADVICE, ESCAPED, IN_DOUBT, Effect, Nature, ToolError, frames, marked_effect, marks

from .facts import BrokenResult, Facts
from .options import is_untouched

_WORST_FIRST: Final = (Effect.DONE, Effect.PARTIAL, Effect.UNKNOWN)
_CERTAIN: Final = frozenset({Effect.PARTIAL, Effect.DONE})


class Aftermath:
    """The effects of one server's failures."""

    def __init__(self, reads: Collection[str] = ()) -> None:
        self._reads = tuple(reads)

    def nature(self, tool: Facts) -> Nature:
        traits = tool.traits if tool.traits.name is not None else replace(tool.traits, name=tool.name)
        return traits.known(reads=self._reads).nature

    def passed(self) -> Effect | None:
        """What the call has done by now, as far as its author's marks tell; None before the first of them."""
        made = marks.get()
        return None if made is None else made.effect

    def of(
        self, error: ToolError, tool: Facts, *, is_authors: bool, exc: BaseException, nested: bool = False
    ) -> dict[str, Any]:
        """What to change on an error so that it says what is known. `is_authors` says that its words are the author's:
        a ToolError they raised, a row of their table, or a refusal in their own code. `exc` is what escaped, out of
        another tool that this one has called where it is `nested`."""
        nature = self.nature(tool)
        is_after = _is_after_the_tool(nature)
        place = _after_the_tool(exc) if is_after else _place(None if nested else exc)
        if is_authors and error.origin is None:
            effect = _stated(error, place, nature, is_after)
        else:
            effect = _escaped(error, place, nature)
        if effect is error.effect and (effect is not None or error.standing == "quoted" or is_authors):
            return {}
        # What the server knows it states; where it knows nothing, what follows from the kind must not speak.
        changes: dict[str, Any] = {"effect": effect, "standing": "quoted" if effect is None else None}
        if effect in IN_DOUBT and not is_authors:
            # What a service behind the tool proposes is about another call.
            changes |= dict.fromkeys(ADVICE)
            if (reason := reason_of(error.message)) != error.message:
                changes["message"] = reason or f"{error.title}."
        return changes

    def of_result(self, broken: BrokenResult, tool: Facts) -> Effect | None:
        """The same for a tool that came to its end, and returned what it does not promise."""
        nature, made = self.nature(tool), marks.get()
        if nature is Nature.READ:
            return Effect.NONE
        if made is not None and made.effect is not None:
            return made.effect
        if not broken.is_tools:
            return ESCAPED[nature]
        if made is not None and made.is_complete and tool.marks_effects:
            # It never came to where it says that its effects are, or took them back.
            return Effect.NONE
        # Whoever returns nothing, or an error, may have left before the work.
        return ESCAPED[nature] if broken.words or broken.returned in (None, "") else Effect.DONE

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
        effect = _escaped(error, self.passed(), self.nature(tool))
        return {"effect": effect, "standing": "quoted" if effect is None else None}


def _is_after_the_tool(nature: Nature) -> bool:
    """Whether the tool has done its work, and somebody around it failed."""
    passed = marks.get()
    return passed is not None and passed.has_run and passed.effect is None and nature is not Nature.READ


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


def _stated(error: ToolError, place: Effect | None, nature: Nature, is_after: bool) -> Effect | None:
    if error.given("effect"):
        # What has passed its marks was done, whatever is said later: what was taken back is said by `undone`. And who
        # stands around a tool speaks for itself.
        return place if error.effect is Effect.NONE and (is_after or place in _CERTAIN) else error.effect
    if place in IN_DOUBT:
        # Inside its marks or after them, a kind alone is no word that nothing was done. Of what may be done twice, it
        # does not matter whether it was.
        return ESCAPED[nature] if nature is Nature.IDEMPOTENT else place
    known = error.effect or place
    return Effect.NONE if known is None and nature is Nature.READ else known


def _escaped(error: ToolError, place: Effect | None, nature: Nature) -> Effect | None:
    if nature is Nature.READ and place not in IN_DOUBT:
        return Effect.NONE
    known = error.effect if error.effect in _CERTAIN else place
    # Of what may be done twice, it does not matter whether it was.
    if known is None or (known is not Effect.NONE and nature is Nature.IDEMPOTENT):
        return ESCAPED[nature]
    return known


def _added(last: Effect | None, runs: Collection[Effect | None], nature: Nature) -> Effect | None:
    if last in IN_DOUBT or nature is Nature.READ:
        return last
    if nature is not Nature.IDEMPOTENT and (worst := next((each for each in _WORST_FIRST if each in runs), None)):
        return worst
    # That nothing was done has to be so of each of them.
    is_unsaid = last is Effect.NONE and any(each is not Effect.NONE for each in runs)
    return ESCAPED[nature] if is_unsaid else last


def tell_unmarked(log: Any, tools: Collection[Facts], aftermath: Aftermath) -> None:
    """Tell the author once which tools say nothing about themselves, and what to add."""
    names = [
        tool.name
        for tool in tools
        if aftermath.nature(tool) is Nature.UNMARKED and not tool.marks_effects and not is_untouched(tool.function)
    ]
    if not names:
        return
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    # A handler that breaks is no reason for the first call to fail.
    with suppress(Exception):
        log.warning(
            "Nobody says whether these tools change anything, so their failures say that they may have been done: "
            "%s. Say it by annotations (readOnlyHint, idempotentHint), by install(reads=[…]), or by `with "
            "failwell.effects():` around what they change.",
            shown,
        )


_SHOWN: Final = 10
