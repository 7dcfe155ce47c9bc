"""What of a server's names and words may stand in a report: no secret, and nothing that a terminal would act on."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from failwell.redact import DEFAULT, escaped, masked, shorten, visible
from failwell.relay import own_secrets

_LONGEST: Final = 2_000
_NO_NAME: Final = "\ufffd"


@dataclass(frozen=True, slots=True)
class Discretion:
    """How a report tells what a server said, who may quote the secrets that it was given."""

    secrets: own_secrets.OwnSecrets = field(default_factory=lambda: own_secrets.OwnSecrets(()))

    def name(self, name: str) -> str:
        """A name on one line."""
        return DEFAULT.label(self.secrets.text(name)) or _NO_NAME

    def line(self, text: str) -> str:
        """Words on one line."""
        return " ".join(visible(DEFAULT.redact(self.secrets.text(text))).split())

    def frame(self, raw: str) -> Any:
        """A frame, no longer than a reader bears."""
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError):
            return shorten(visible(DEFAULT.redact(self.secrets.text(raw)[:_LONGEST])), _LONGEST)
        return self.data(value)

    def data(self, value: Any) -> Any:
        return _cut(self.secrets.masked(masked(value)))

    def whole(self, raw: str) -> str:
        """A frame as it came, for whoever asked for it alone."""
        told = self.secrets.text(raw)
        try:
            json.loads(told)
        except (ValueError, RecursionError):
            return visible(told)
        return escaped(told)


def _cut(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}… ({len(value)} characters)"
    if depth > 12:
        return "…"
    if isinstance(value, dict):
        return {key: _cut(part, depth + 1) for key, part in list(value.items())[:60]}
    if isinstance(value, list):
        return [_cut(part, depth + 1) for part in value[:30]]
    return value
