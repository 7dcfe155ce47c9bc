"""What a server lists of its tools, as far as it is to be believed, and what that proves about a failed call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from failwell.model import IN_DOUBT, Action, SentArguments, ToolError, Traits, Unmarked
from failwell.readers import Checks, call_of, check_names, unknown_tool
from failwell.redact import Secrets, shown_arguments
from failwell.schema import NO_PROBLEMS, check, invalid

from .attempts import NEVER_SENT, is_in_words

_MOST_KNOWN: Final = 1_000
# What a server proposes itself is not to be bettered.
_PROPOSED: Final = frozenset({"patch", "suggestion", "actions"})
_NO_OPTION: Final = frozenset({"enum", "const"})


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools that a server lists, by their names: objects of an SDK, their JSON, or only their traits."""

    listed: Mapping[str, Any] = field(default_factory=dict)
    trusted: bool = True
    """Whether their own word on being read-only or idempotent counts."""
    reads: Sequence[str] = ()
    """Names of tools that only read, by the word of whoever runs this, with `*` for anything."""
    writes: Sequence[str] = ()
    """The same of tools that change something."""
    unmarked: Unmarked = "as is"
    """Whether the strong rules of writes hold for tools of which nothing tells what they are."""

    _traits: dict[str, tuple[object, Traits]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _secrets: dict[str, tuple[object, Secrets]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _checks: list[Checks] = field(default_factory=list, init=False, repr=False, compare=False)

    def traits(self, tool: str) -> Traits:
        """What is known of a tool, be it only its name."""
        listed = self.listed.get(tool, tool)
        # Of one failure this is asked again and again.
        known = self._traits.get(tool)
        if known is None or known[0] is not listed:
            if len(self._traits) >= _MOST_KNOWN:
                self._traits.clear()
            traits = Traits.of(listed).known(
                trusted=self.trusted, reads=self.reads, writes=self.writes, unmarked=self.unmarked
            )
            known = self._traits[tool] = listed, traits
        return known[1]

    def shown(self, tool: str, arguments: Mapping[str, Any]) -> SentArguments | None:
        """What may be shown of a call's arguments to whoever makes it again."""
        return shown_arguments(arguments, _schema_of(self.listed.get(tool)))

    def secrets_in(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """What a call was sent for its secret arguments: a server that quotes it must not spread it further."""
        if not arguments:
            return ()
        listed = self.listed.get(tool)
        # The schema is walked once.
        known = self._secrets.get(tool)
        if known is None or known[0] is not listed:
            if len(self._secrets) >= _MOST_KNOWN:
                self._secrets.clear()
            known = self._secrets[tool] = listed, Secrets.of(_schema_of(listed))
        return known[1].values(arguments)

    def check_of(self, tool: str, arguments: Mapping[str, Any]) -> Action | None:
        """The call that would tell whether this one was done."""
        if not self._checks:
            self._checks.append(Checks(trusted=self.trusted, reads=self.reads))
        return self._checks[0].find(tool, arguments, self.listed.values())


def schema_of(tool: object) -> dict[str, Any] | None:
    """What a tool says about its arguments, as an SDK has it or as it stands in JSON."""
    found = _schema_of(tool)
    return found if isinstance(found, dict) else None


def _schema_of(tool: object) -> Any:
    # The exact type first: to ask for a Mapping takes longer than the rest.
    if type(tool) is dict or isinstance(tool, Mapping):
        return tool.get("inputSchema")
    # The newer SDK warns about the name on the wire, which is all that the older one has.
    return tool.input_schema if hasattr(tool, "input_schema") else getattr(tool, "inputSchema", None)


def explain_failure(
    error: ToolError, tool: str, arguments: Mapping[str, Any], listed: Mapping[str, Any], traits: Traits
) -> ToolError:
    """The error, with what the call breaks of what the server lists, and the corrected call.

    Unless the tool only reads, only what no server would have taken counts, and no listed value: one that reads "5" as
    5 may have done its work.
    """
    if error.origin != "peer" or not listed or not _PROPOSED.isdisjoint(error._given) or error.effect in IN_DOUBT:
        return error
    is_plain = is_in_words(error) or error.legacy
    if tool not in listed:
        if not is_plain:
            return error
        meant = unknown_tool(tool, listed)
        return error.replace(kind=meant.kind, code=meant.code, suggestion=meant.suggestion, actions=meant.actions)
    schema = schema_of(listed[tool])
    try:
        broken = NO_PROBLEMS if schema is None else check(call_of(schema, arguments))
    except RecursionError:
        broken = NO_PROBLEMS
    if schema is None or not broken:
        return error
    if not traits.repeatable and not broken.refused and _NO_OPTION.isdisjoint(each.rule for each in broken.fields):
        return error
    found = invalid(broken, check_names(arguments, schema))
    if not is_plain and error.fields and _places(error).isdisjoint(_places(found)):
        # The server states that something else is wrong.
        return error
    kind = {"kind": found.kind, "code": found.code} if is_plain else {}
    return error.replace(**kind, **_next_call(found, arguments, schema))


def find_misspelling(tool: str, arguments: Mapping[str, Any], listed: Mapping[str, Any]) -> ToolError | None:
    """Why a call had better not be sent: it has an argument that the tool does not know, and lacks the one it means.

    Many servers ignore what they do not know, and do the thing without it: a payment, in another currency.
    """
    schema = schema_of(listed.get(tool))
    if schema is None or not arguments:
        return None
    strange = check_names(arguments, schema)
    if not strange or not any(change.op == "rename" for change in strange.patch):
        return None
    found = invalid(strange, tool=tool)
    return found.replace(**_next_call(found, arguments, schema), **NEVER_SENT)


def _places(error: ToolError) -> set[object]:
    return {problem.path[0] for problem in error.fields if problem.path}


def _next_call(found: ToolError, arguments: Mapping[str, Any], schema: Any) -> dict[str, Any]:
    """What is wrong, what mends it, and what the next call is made of."""
    sent = shown_arguments(arguments, schema)
    return {"fields": found.fields, "patch": found.patch, "suggestion": found.suggestion, "sent": sent}
