"""What is known of the tools of a server, as far as it is to be believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from failwell.model import Action, Sent, Traits, Unmarked
from failwell.readers import Checks
from failwell.redact import Secrets, shown_arguments

_MOST_KNOWN: Final = 1_000


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

    def shown(self, tool: str, arguments: Mapping[str, Any]) -> Sent | None:
        """What may be shown of a call's arguments to whoever makes it again."""
        listed = self.listed.get(tool)
        return shown_arguments(arguments, _schema_of(listed))

    def secrets_in(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """What a call was sent for its secret arguments: a server that quotes it must not spread it further."""
        return self._secrets_of(tool).values(arguments) if arguments else ()

    def _secrets_of(self, tool: str) -> Secrets:
        """Which arguments of a tool are secret: its schema is walked once."""
        listed = self.listed.get(tool)
        known = self._secrets.get(tool)
        if known is None or known[0] is not listed:
            if len(self._secrets) >= _MOST_KNOWN:
                self._secrets.clear()
            known = self._secrets[tool] = listed, Secrets.of(_schema_of(listed))
        return known[1]

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
