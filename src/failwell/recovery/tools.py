"""What is known of the tools of a server, as far as it is to be believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from failwell.model import Action, Traits
from failwell.readers import find_check


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools that a server lists, by their names: objects of an SDK, their JSON, or only their traits."""

    listed: Mapping[str, Any] = field(default_factory=dict)
    trusted: bool = True
    """Whether their own word on being read-only or idempotent counts."""
    reads: Sequence[str] = ()
    """Names of tools that only read, by the word of whoever runs this, with `*` for anything."""

    def traits(self, tool: str) -> Traits:
        """What is known of a tool, be it only its name."""
        return Traits.of(self.listed.get(tool, tool)).known(trusted=self.trusted, reads=self.reads)

    def check_of(self, tool: str, arguments: Mapping[str, Any]) -> Action | None:
        """The call that would tell whether this one was done."""
        return find_check(tool, arguments, self.listed.values(), trusted=self.trusted, reads=self.reads)


def schema_of(tool: object) -> dict[str, Any] | None:
    """What a tool says about its arguments, as an SDK has it or as it stands in JSON."""
    found = tool.get("inputSchema") if isinstance(tool, Mapping) else getattr(tool, "input_schema", None)
    return found if isinstance(found, dict) else None
