"""Secrets that the relay itself holds: it gives them to the server it starts, so it knows them when they come back.

By their names in the environment, and by the options that they follow on the command line, whatever they look like.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, quote_plus

from failwell.guards import DEFAULT, MASK, Secrets

# A shorter value is found in other words by chance, and so are these.
_SHORTEST: Final = 6
_SHORTEST_SENT: Final = 4
_MOST_SENT: Final = 200
_MOST_TOOLS: Final = 20_000
_WORDS: Final = frozenset(
    "anonymous bearer client database default development disabled docker elastic enabled example github localhost "
    "mariadb mongodb optional oracle password postgres postgresql private production public rabbitmq required sandbox "
    "secret server session staging string testing undefined unknown".split()
)
# Of many programs, the password's; where it is a port or a package, that is no loss in a line about a server.
_SHORT: Final = ("-p", "-pw")


# Where one is, which only sounds like a password.
_PLACES: Final = frozenset({"PWD", "OLDPWD"})
_is_secret: Final = DEFAULT.redact.secret_name


def _is_common(value: str) -> bool:
    """Whether it turns up by itself: a word, or where a secret is kept."""
    return value.lower() in _WORDS or (os.path.isabs(value) and os.path.exists(value))


def told_arguments(arguments: Iterable[Any]) -> list[str]:
    """A command's words as they can be told: what follows an option for a secret is masked, whatever it looks like."""
    told: list[str] = []
    is_next = False
    for argument in map(str, arguments):
        if is_next and not argument.startswith("-"):
            told.append(MASK)
            is_next = False
            continue
        name, equals, value = argument.partition("=")
        is_secret = name in _SHORT or _is_secret(name.lstrip("-"))
        is_next = is_secret and not equals and name.startswith("-")
        told.append(f"{name}={MASK}" if is_secret and value else DEFAULT.redact(argument))
    return told


_NO_SCHEMA: Final = Secrets.of(None)


class OwnSecrets:
    """Values that are masked wherever they turn up, word for word."""

    def __init__(self, values: Iterable[str]) -> None:
        # The longest first: one may be part of another.
        known = sorted({form for value in values for form in _forms(value)}, key=len, reverse=True)
        self._values: Sequence[str] = known

    @classmethod
    def sent(cls, values: Iterable[str]) -> OwnSecrets:
        """What was sent for secret arguments, where it is long enough not to be found in other words by chance."""
        return cls(value for value in values if len(value) >= _SHORTEST_SENT)

    @classmethod
    def of(cls, env: Mapping[str, str]) -> OwnSecrets:
        """What stands in an environment under the names of secrets, and is long and odd enough to be known by."""
        named = (value.strip() for name, value in env.items() if name not in _PLACES and _is_secret(name))
        return cls(value for value in named if len(value) >= _SHORTEST and not _is_common(value))

    def text(self, text: str) -> str:
        for value in self._values:
            if value in text:
                text = text.replace(value, MASK)
        return text

    def masked(self, value: Any) -> Any:
        """A JSON value without them; the very same one where there are none in it."""
        if not self._values:
            return value
        if isinstance(value, str):
            return self.text(value)
        if type(value) in (int, float):
            return MASK if str(value) in self._values else value
        if isinstance(value, dict):
            made = {self._name(name): self.masked(part) for name, part in value.items()}
            return made if made != value else value
        if isinstance(value, list):
            parts = [self.masked(part) for part in value]
            return parts if parts != value else value
        return value

    def _name(self, name: str) -> str:
        # The protocol's own names are plain words.
        return name if name.isalpha() else self.text(name)


class SentSecrets:
    """What clients have sent for the secret arguments of the tools that were listed, the latest of it."""

    def __init__(self) -> None:
        self._arguments: dict[str, Secrets] = {}
        self._values: dict[str, None] = {}
        self._known = OwnSecrets(())

    def hear(self, message: Any) -> None:
        """Learn from a message: a list of tools, or a call of one."""
        result, params = (message.get("result"), message.get("params")) if isinstance(message, dict) else (None, None)
        listed = result.get("tools") if isinstance(result, dict) else None
        for tool in listed if isinstance(listed, list) else ():
            if isinstance(tool, dict) and len(self._arguments) < _MOST_TOOLS:
                self._arguments[str(tool.get("name"))] = Secrets.of(tool.get("inputSchema"))
        if isinstance(params, dict) and message.get("method") == "tools/call":
            known = self._arguments.get(str(params.get("name")), _NO_SCHEMA)
            self._values |= dict.fromkeys(known.values(params.get("arguments") or {}))
            self._values = dict.fromkeys([*self._values][-_MOST_SENT:])
            self._known = OwnSecrets.sent(self._values)

    def masked(self, value: Any) -> Any:
        return self._known.masked(value)


def _forms(value: str) -> Iterator[str]:
    """A value as it stands in a text, in an address, and in JSON inside a text."""
    yield value
    yield quote(value, safe="")
    yield quote_plus(value)
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1].replace("/", "\\/")
