"""Secrets that the relay knows, since it gives them to the server, or has passed them on to it: what it masks when they
come back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from failwell.model import ToolError
from failwell.redact import DEFAULT, MASK, forms_of, without_values

from .actions import RelayOptions
from .given_secrets import WORDS, in_address, in_command, in_header, in_variables, is_known, told_words

_SHORTEST_SENT: Final = 4
_MOST_SENT: Final = 200
# Each is looked for in three dozen forms, in every failure.
_MOST_LASTING: Final = 50
# What failures are told with, in the longest form of each word. Who takes one of them for a password must not take it
# from all later failures: nobody could read them, and what is missing would be plain to see.
_OF_FAILURES: Final = WORDS | frozenset(
    "accepted accessible accounts actions addresses administrator already another answered applications arguments "
    "attempts authentication authorization available because before between browser cancelled cannot changed "
    "characters closed columns commands conflicts connections containers contents controller created credentials "
    "customers deadline deleted denied description directory documents domains duplicate elements encoding endpoints "
    "environment errors exceeded exception executing existing expected expired external failures fields finished "
    "folders forbidden formats functions gateway headers history identifiers images incorrect indexes inputs "
    "instances integers interfaces internal interrupted invalid languages length library licenses limited listening "
    "loading locations locked logins machines managers masters maximum members memory messages methods minimum "
    "missing modules networks nothing numbers objects operations orders organization outputs packages parameters "
    "parents parsers passwords patterns payloads payments pending permissions please policies positions previous "
    "primary problems processing products profiles programs projects properties protocols providers reached reasons "
    "received records refused regions registered rejected released remotely removed requested reserved resources "
    "responses results returned revoked running runtime schemas searching seconds sections selected services settings "
    "signatures sources started statement status stopped storage streams subjects subscription success supported "
    "suspended syntax systems tables targets temporary tenants terminated threads throttled timeouts timestamps "
    "tokens transactions transport unauthorized unavailable unexpected unreachable unsupported updated uploaded "
    "upstream username validation variables versions waiting warnings webhooks without workers workspaces".split()
)
# In one text, in which a part of a word is found as well: `connect` is in every other failure.
_SAID_OF_FAILURES: Final = " ".join(sorted(_OF_FAILURES))
# In letters of another size a shorter one may be the name of something.
_SHORTEST_IN_CASE: Final = 12
# Names that a message is made of: without them nobody can read it.
_PROTOCOL: Final = frozenset(
    "_meta annotations blob code content data description error id inputSchema isError jsonrpc message method mimeType "
    "name params properties resource result resultType structuredContent text title tools type uri".split()
)

_forms_of: Final = lru_cache(512)(forms_of)


class OwnSecrets:
    """Values that are masked wherever they turn up, word for word, whatever stands between their letters unseen."""

    def __init__(self, values: Iterable[str]) -> None:
        # The longest first: one may be part of another.
        known = sorted({form for value in values for form in _forms_of(value)}, key=len, reverse=True)
        self._values: Sequence[str] = known
        # Three quarters of one are enough to know it by.
        self._shortest = len(known[-1]) * 3 // 4 if known else 0

    @classmethod
    def sent(cls, values: Iterable[str]) -> OwnSecrets:
        """What was sent for secret arguments, where it is long enough not to be found in other words by chance."""
        return cls(filter(_is_long, values))

    @classmethod
    def of(
        cls,
        env: Mapping[str, str],
        *,
        headers: Mapping[str, str] | None = None,
        command: Sequence[str] = (),
        url: str | None = None,
    ) -> OwnSecrets:
        """What a server is given as a secret, and is long and odd enough to be known by: in variables, by their names
        and by what they hold, in headers, on its command line, and in its address."""
        given = [*in_variables(env)]
        given += [part for name, value in (headers or {}).items() for part in in_header(name, value.strip())]
        given += in_command(command)
        given += in_address(url or "")
        return cls(filter(is_known, given))

    def text(self, text: str) -> str:
        # Most names and many texts of a message are shorter than any of them.
        return without_values(text, self._values, MASK) if len(text) >= self._shortest else text

    def masked(self, value: Any) -> Any:
        """A JSON value without them; the very same one where there are none in it."""
        if not self._values:
            return value
        if isinstance(value, str):
            return self.text(value)
        if type(value) in (int, float):
            return MASK if str(value) in self._values else value
        if isinstance(value, dict):
            made = self._members(value)
            return made if made != value else value
        if isinstance(value, list):
            parts = [self.masked(part) for part in value]
            return parts if parts != value else value
        return value

    def _members(self, value: Mapping[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name, part in value.items():
            told = name if name in _PROTOCOL else self.text(name)
            # Two that are not told are two all the same.
            while told != name and (told in made or told in value):
                told += "_"
            made[told] = self.masked(part)
        return made

    def error(self, error: ToolError) -> ToolError:
        """An error without them; the very same one where there are none in it."""
        said = error.to_dict()
        return error if self.masked(said) is said else replace(DEFAULT, fences=False).knowing(self._values)(error)


def _is_long(value: str) -> bool:
    return len(value) >= _SHORTEST_SENT


def _is_word(value: str) -> bool:
    """Whether others may say it, too: letters alone, and not many of them."""
    return value.isalpha() and len(value) < _SHORTEST_IN_CASE


def _is_lasting(value: str) -> bool:
    """Whether what was sent as a secret is one in all that comes later: no word that failures are told with."""
    return is_known(value) and not (_is_word(value) and value.lower() in _SAID_OF_FAILURES)


def told_arguments(arguments: Iterable[Any]) -> list[str]:
    """A command's words as they can be told: what follows an option for a secret is masked, whatever it looks like, and
    so it is in all other words."""
    words = [*map(str, arguments)]
    known = OwnSecrets(filter(is_known, in_command(words)))
    return [known.text(told) for told, _ in told_words(words)]


class SentSecrets:
    """What clients have sent for secret arguments, the latest of it. `lasting` is for those who mask it in whatever
    comes later: then what others may say by chance is left out, and each word of which `is_said` that they do."""

    def __init__(self, *, lasting: bool = False, is_said: Callable[[str], bool] | None = None) -> None:
        self._is_kept = _is_lasting if lasting else _is_long
        self._most = _MOST_LASTING if lasting else _MOST_SENT
        self._is_said = is_said
        self._values: dict[str, None] = {}
        self._known: OwnSecrets | None = OwnSecrets(())

    def learn(self, values: Iterable[str]) -> None:
        for value in filter(self._is_kept, values):
            if value not in self._values:
                self._known = None
            # The latest last.
            self._values.pop(value, None)
            self._values[value] = None
        while len(self._values) > self._most:
            del self._values[next(iter(self._values))]

    @property
    def _all(self) -> OwnSecrets:
        # Made when something is masked: most calls work.
        if self._known is None:
            is_said = self._is_said
            self._known = OwnSecrets(
                value for value in self._values if is_said is None or not (_is_word(value) and is_said(value))
            )
        return self._known

    def masked(self, value: Any) -> Any:
        return self._all.masked(value)

    def error(self, error: ToolError) -> ToolError:
        return self._all.error(error) if self._values else error


class SessionSecrets:
    """What the server was given as a secret, and what clients have sent for secret arguments: it may quote either in
    whatever fails later."""

    def __init__(self, options: RelayOptions, is_said: Callable[[str], bool]) -> None:
        words = options.words or options.command.split(" ")
        self.given = OwnSecrets.of(
            options.env, headers=options.headers, command=() if options.remote else words, url=options.url
        )
        self._sent, self._words = SentSecrets(lasting=True, is_said=is_said), SentSecrets()

    def learn(self, sent: Sequence[str]) -> None:
        self._sent.learn(sent)
        self._words.learn(sent)

    def hidden(self, value: Any, sent: Iterable[str] = ()) -> Any:
        """A text or a JSON value without any of these, nor what was `sent` now; the same one if none is in it."""
        return OwnSecrets.sent(sent).masked(self._sent.masked(self.given.masked(value)))

    def aside(self, text: str) -> str:
        """What a server says beside its answers: to a log a plain word that is missing does no harm."""
        return str(self._words.masked(self.hidden(text)))

    def error(self, error: ToolError) -> ToolError:
        return self._sent.error(self.given.error(error))
