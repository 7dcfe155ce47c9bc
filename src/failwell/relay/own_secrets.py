"""Secrets that the relay itself holds: it gives them to the server, so it knows them when they come back.

By their names in the environment, by the options that they follow on the command line, by the headers that they are
sent in, and by where they stand in the server's address, whatever they look like.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from html import escape
from itertools import pairwise
from typing import Any, Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from failwell.guards import (
    DEFAULT,
    MASK,
    Secrets,
    before_host,
    drawn,
    is_ambiguous_name,
    is_token,
    likely,
    of_basic,
    plausible,
    unencoded,
    without_values,
)
from failwell.model import UNSET, ToolError
from failwell.schema import decoded

# A shorter value is found in other words by chance, and so are these.
_SHORTEST: Final = 6
_SHORTEST_SENT: Final = 4
_MOST_SENT: Final = 200
# Each is looked for in two dozen forms, in every failure.
_MOST_LASTING: Final = 50
_MOST_TOOLS: Final = 20_000
_WORDS: Final = frozenset(
    "anonymous bearer client database default development disabled docker elastic enabled example github localhost "
    "mariadb mongodb optional oracle password postgres postgresql private production public rabbitmq required sandbox "
    "secret server session staging string testing undefined unknown".split()
)
# What failures are told with, in the longest form of each word. Who takes one of them for a password must not take it
# from all later failures: nobody could read them, and what is missing would be plain to see.
_OF_FAILURES: Final = _WORDS | frozenset(
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
# Where one is, which only sounds like a password.
_PLACES: Final = frozenset({"PWD", "OLDPWD"})
_is_secret: Final = DEFAULT.redact.secret_name
_LONGEST_LINE: Final = 12_000
_MASKS: Final = re.compile(rf"(?:{re.escape(MASK)})+")
# In letters of another size a shorter one may be the name of something.
_SHORTEST_IN_CASE: Final = 12
# Shorter forms are found in pictures by chance.
_SHORTEST_ENCODED: Final = 8
# What stays as it is where others are escaped: nothing; `/`, as in Python; as in JavaScript, of a part and of a whole.
_UNQUOTED: Final = ("", "/", "!*'()", ";/?:@&=+$,#!*'()")
_ESCAPE: Final = re.compile("%[0-9A-F]{2}")
_FOR_ADDRESSES: Final = str.maketrans("+/", "-_")
# Names that a message is made of: without them nobody can read it.
_PROTOCOL: Final = frozenset(
    "_meta annotations blob code content data description error id inputSchema isError jsonrpc message method mimeType "
    "name params properties resource result resultType structuredContent text title tools type uri".split()
)


def _is_common(value: str) -> bool:
    """Whether it turns up by itself: a word, or where a secret is kept."""
    return value.lower() in _WORDS or (os.path.isabs(value) and os.path.exists(value))


def _known(value: str) -> bool:
    """Whether a text that holds it holds it for no other reason."""
    return len(value) >= _SHORTEST and not _is_common(value)


# The command line


def told_arguments(arguments: Iterable[Any]) -> list[str]:
    """A command's words as they can be told: what follows an option for a secret is masked, whatever it looks like, and
    so it is in all other words."""
    words = [*map(str, arguments)]
    known = OwnSecrets(filter(_known, _in_command(words)))
    return [known.text(told) for told, _ in _told(words)]


_Told = tuple[str, Sequence[str]]
"""A word as it can be told, and what of it is not."""
_Read = Callable[[str, str], _Told]
"""How a word is read that stands behind an option."""


def _as_header(_: str, word: str) -> _Told:
    name, colon, value = word.partition(":")
    found = [*_in_header(name.strip(), value.strip())] if colon else []
    return (f"{name}: {MASK}" if found else DEFAULT.redact(word)), found


def _as_login(_: str, word: str) -> _Told:
    """`joe:…`; what is no login, such as the number of a user and of a group, stays."""
    name, _, password = word.partition(":")
    return (f"{name}:{MASK}", [password]) if _known(password) and likely(password) else (DEFAULT.redact(word), ())


def _as_secret(option: str, word: str) -> _Told:
    parts = _NO_SCHEMA.values({option.lstrip("-/"): word})
    return MASK, [word, *parts, *filter(likely, [word.partition(":")[2]])]


def _as_address(option: str, word: str) -> _Told:
    """An address that lets in whoever knows it."""
    found, told = [*_opening(option, word)], word
    for value in found:
        told = told.replace(value, MASK)
    return DEFAULT.redact(told), found


def _as_key(_: str, word: str) -> _Told:
    """A key that may be the name of something, or a file that holds one."""
    return (MASK, [word]) if _is_key(word) else (DEFAULT.redact(word), ())


def _is_key(value: str) -> bool:
    return plausible(value) and not value.lower().endswith(_FILES)


def _is_keyed(name: str) -> bool:
    """Whether what a variable or an option is called ends in a word for keys, of whatever: `OPENAI_KEY`."""
    return _LAST_WORD.split(name)[-1].lower() in _KEYS


_KEYS: Final = ("key", "keys", "sk")
_LAST_WORD: Final = re.compile(r"[-_.]|(?<=[a-z])(?=[A-Z])")
_FILES: Final = (".pem", ".key", ".crt", ".cer", ".der", ".p12", ".pfx", ".pub", ".json", ".txt")
# What stands behind an option: how that is read, by how the option is called.
_OPTIONS: Final[tuple[tuple[Callable[[str], bool], _Read], ...]] = (
    (frozenset({"-H", "--header", "--headers"}).__contains__, _as_header),
    (frozenset({"-u", "--user", "--proxy-user", "--userpwd", "--login"}).__contains__, _as_login),
    (lambda option: _is_secret(option.lstrip("-/")), _as_secret),
    # Of many programs, the password's. It may be a port, which others may name: so it is known by nothing.
    (frozenset({"-p", "-pw"}).__contains__, lambda _, __: (MASK, ())),
    (_is_keyed, _as_key),
    (lambda option: _is_opening(option), _as_address),
)
_SET: Final = re.compile(r"(?:([-/]{1,2}[\w-]+):|([^=]+)=)(.*)", re.DOTALL)


def _behind(option: str) -> Callable[[str], _Told] | None:
    return next((partial(read, option) for is_it, read in _OPTIONS if is_it(option)), None)


def _told(words: Iterable[str]) -> Iterator[_Told]:
    """Each word as it can be told where it stands, and what it was that is not."""
    read: Callable[[str], _Told] | None = None
    for word in words:
        if read is not None and not word.startswith("-"):
            yield read(word)
            read = None
            continue
        found = _SET.fullmatch(word)
        name = word if found is None else found[1] or found[2]
        read = _behind(name)
        if found is not None and found[3] and read is not None:
            told, values = read(found[3])
            yield f"{name}{word[len(name)]}{told}", values
        else:
            yield DEFAULT.redact(word), ()
        read = read if found is None and name.startswith("-") else None


def _in_command(words: Sequence[str]) -> Iterator[str]:
    yield from (value for _, values in _told(words) for value in values)
    yield from _NO_SCHEMA.values(list(words))
    # A word of several is a command itself: `sh -c "…"`.
    lines = [word for word in words if " " in word]
    yield from (value for line in lines for _, values in _told(line.split(" ")) for value in values)
    for line in (*lines, " ".join(words)):
        yield from _beside(line[:_LONGEST_LINE])


def _beside(line: str) -> Iterator[str]:
    """What is known by the words beside it: `mysql -p…`."""
    if MASK in line:
        return
    at, kept = 0, _MASKS.split(DEFAULT.redact(line))
    for before, after in pairwise(kept):
        at += len(before)
        end = line.find(after, at + 1) if after else len(line)
        yield line[at:end]
        at = max(at, end)


# What is sent to an address


# They say what is wanted, and let nobody in.
_PLAIN_HEADERS: Final = frozenset(
    "accept accept-charset accept-encoding accept-language cache-control connection content-encoding content-language "
    "content-length content-type date dnt expect host keep-alive mcp-method mcp-name mcp-protocol-version origin "
    "pragma prefer referer te traceparent tracestate transfer-encoding upgrade user-agent via".split()
)
_PLAIN_ENDINGS: Final = frozenset(
    "agent domain encoding endpoint env environment features format host lang language locale mode platform readonly "
    "region timezone tools toolsets type uri url version".split()
)
# Without a name that says so, a shorter one is a word that others use, too.
_SHORTEST_WORD: Final = 8
# Numbers, versions, dates, and regions such as eu-west-1.
_PLAIN_VALUE: Final = re.compile(r"v?\d+(?:[.-]\d+){0,5}|[a-z]{2,12}(?:-[a-z]{2,12}){1,3}-?\d{1,2}")
_SCHEME: Final = re.compile(r"[A-Za-z][\w-]{1,30}[ \t]+(?=\S)")
_PAIRS: Final = re.compile(r"[\w-]{1,60}=\"?([^\s\",;]+)")


def _in_header(name: str, value: str) -> Iterator[str]:
    """What of a header nobody else may see: a login without the word for its kind, each cookie, else all of it."""
    name = name.lower()
    is_secret = _is_secret(name)
    is_plain = name in _PLAIN_HEADERS or re.split("[-_]", name)[-1] in _PLAIN_ENDINGS
    is_word = value.isalpha() and len(value) < _SHORTEST_WORD
    if not is_secret and (is_plain or is_word or _PLAIN_VALUE.fullmatch(value)):
        return
    pairs = _PAIRS.findall(value) if name.endswith(("authorization", "cookie")) else []
    scheme = _SCHEME.match(value) if name.endswith("authorization") else None
    login = value[scheme.end() :].strip() if scheme is not None else value
    if scheme is not None and scheme[0].strip().lower() == "basic":
        yield from of_basic(login)
    yield from [*pairs, login] if scheme is not None or not pairs else pairs


def _in_address(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    yield unquote(parts.password or "")
    yield from (value for name, value in parse_qsl(parts.query) if _is_secret(name, True) or is_token(value))
    yield from (unquote(step) for step, is_secret in _steps(parts.path) if is_secret)


def _steps(path: str) -> Iterator[tuple[str, bool]]:
    """Each step of a path, and whether it lets in whoever knows it: by its looks, or by the one before."""
    before = ""
    for step in path.split("/"):
        yield step, is_token(step) or (_is_secret(before, True) and len(step) >= _SHORTEST and not _is_common(step))
        before = step


def told_address(url: str) -> str:
    """An address as it can be told: without names, passwords, queries, and what is secret in its path."""
    parts = urlsplit(url)
    path = "/".join(MASK if is_secret else step for step, is_secret in _steps(parts.path))
    port = f":{parts.port}" if parts.port is not None else ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{port}{path}"


# Variables


_NO_SCHEMA: Final = Secrets.of(None)


# Without it a text is no command line.
_OPTION: Final = re.compile(r"(?:^|\s)--?[A-Za-z]")
_MOST_LINES: Final = 500
# Shorter ones are more often names with a number.
_SHORTEST_DRAWN: Final = 8
_ITEM: Final = re.compile(r"\s*(?:- +)*")


def _in_variables(env: Mapping[str, str]) -> Iterator[str]:
    for name, value in env.items():
        if name not in _PLACES:
            yield from _in_variable(name, value.strip())


def _in_variable(name: str, value: str) -> Iterator[str]:
    for text in filter(None, (value, unencoded(value))):
        found = [part for read in _READ for part in read(name, text)]
        yield from found
        # Nobody sees the parts of what is encoded as a whole: a login in JSON, quoted in base64.
        if any(map(_known, found)) and (text is not value or decoded(text) is not UNSET):
            yield from (value, text)


def _by_name(name: str, text: str) -> Iterable[str]:
    return _NO_SCHEMA.values({name: text})


def _by_lines(_: str, text: str) -> Iterable[str]:
    """What stands under names in a file that was put into a variable: headers, YAML, the settings of a program."""
    lines = text.splitlines()[:_MOST_LINES]
    return _NO_SCHEMA.values([_ITEM.sub("", line, count=1) for line in lines]) if len(lines) > 1 else ()


def _by_options(_: str, text: str) -> Iterable[str]:
    # Of several lines it is a script, in which names stand for what they hold.
    return _in_command([text]) if "\n" not in text and _OPTION.search(text) else ()


def _by_key(name: str, text: str) -> Iterable[str]:
    return [text] if _is_keyed(name) and _is_key(text) else ()


def _by_looks(name: str, text: str) -> Iterable[str]:
    """What looks drawn under a name that stands for other things, too: `TOKENS`, `SIGNING_SALT`."""
    given = _NO_SCHEMA.values({"secrets": text}) if is_ambiguous_name(name) else ()
    return [value for value in given if len(value) >= _SHORTEST_DRAWN and drawn(value)]


# Addresses that let in whoever knows them: by the name of a user without a password, or by the end of the path.
_OPENED: Final = re.compile(r"dsn|hook", re.IGNORECASE)
_BY: Final[dict[str, Callable[[str], list[str]]]] = {
    "dsn": lambda url: [*filter(plausible, re.findall(r"://([^\s/?#@:]+)@", url)), *before_host(url)],
    "hook": lambda url: [*filter(plausible, [re.split(r"[?#]", url)[0].rpartition("/")[2] if "://" in url else ""])],
}


def _is_opening(name: str) -> bool:
    return _OPENED.search(name) is not None


def _opening(name: str, text: str) -> Iterable[str]:
    opened = _OPENED.search(name)
    return _BY[opened[0].lower()](text) if opened else ()


# How the secrets in a variable are found, by what it is called and by what it holds.
_READ: Final = (_by_name, _by_lines, _by_options, _by_key, _by_looks, _opening)


class OwnSecrets:
    """Values that are masked wherever they turn up, word for word, whatever stands between their letters unseen."""

    def __init__(self, values: Iterable[str]) -> None:
        # The longest first: one may be part of another.
        known = sorted({form for value in values for form in _forms_of(value)}, key=len, reverse=True)
        self._values: Sequence[str] = known
        self._shortest = len(known[-1]) if known else 0

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
        given = [*_in_variables(env)]
        given += [part for name, value in (headers or {}).items() for part in _in_header(name, value.strip())]
        given += _in_command(command)
        given += _in_address(url or "")
        return cls(filter(_known, given))

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
    return _known(value) and not (_is_word(value) and value.lower() in _SAID_OF_FAILURES)


class SentSecrets:
    """What clients have sent for secret arguments, the latest of it. `lasting` is for those who mask it in whatever
    comes later: then what others may say by chance is left out, and each word of which `is_said` that they do."""

    def __init__(self, *, lasting: bool = False, is_said: Callable[[str], bool] | None = None) -> None:
        self._is_kept = _is_lasting if lasting else _is_long
        self._most = _MOST_LASTING if lasting else _MOST_SENT
        self._is_said = is_said
        self._arguments: dict[str, Secrets] = {}
        self._values: dict[str, None] = {}
        self._known: OwnSecrets | None = OwnSecrets(())

    def hear(self, message: Any) -> None:
        """Learn from a message: a list of tools, or a call of one."""
        result, params = (message.get("result"), message.get("params")) if isinstance(message, dict) else (None, None)
        listed = result.get("tools") if isinstance(result, dict) else None
        for tool in listed if isinstance(listed, list) else ():
            if isinstance(tool, dict) and len(self._arguments) < _MOST_TOOLS:
                self._arguments[str(tool.get("name"))] = Secrets.of(tool.get("inputSchema"))
        if isinstance(params, dict) and message.get("method") == "tools/call":
            known = self._arguments.get(str(params.get("name")), _NO_SCHEMA)
            self.learn(known.values(params.get("arguments") or {}))

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


@lru_cache(512)
def _forms_of(value: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_forms(value)))


def _forms(value: str) -> Iterator[str]:
    """A value as it stands in a text, in an address, in JSON inside a text, in markup, in letters of another size, and
    in base64 and hex."""
    yield value
    if len(value) >= _SHORTEST_IN_CASE and any(map(str.isdigit, value)) and any(map(str.isalpha, value)):
        yield from (value.upper(), value.lower())
    data = value.encode("utf-8", "surrogatepass")
    for kept in _UNQUOTED:
        quoted = quote(data, safe=kept)
        yield quoted
        yield _ESCAPE.sub(lambda found: found[0].lower(), quoted)
        # An address in an address.
        yield quoted.replace("%", "%25")
    yield quote_plus(data)
    for is_ascii in (True, False):
        inside = json.dumps(value, ensure_ascii=is_ascii)[1:-1]
        # Once more for JSON that is a text in JSON.
        signed = inside.replace("/", "\\/")
        yield from (inside, signed, *(json.dumps(each, ensure_ascii=is_ascii)[1:-1] for each in (inside, signed)))
    for shown in (repr(value)[1:-1], repr(data)[2:-1]):
        yield from (shown, json.dumps(shown)[1:-1])
    yield from (escape(value), escape(value, quote=False))
    yield from (form for form in _encoded(data) if len(form) >= _SHORTEST_ENCODED)


# What programs put before each byte that they write as two digits, and between these.
_BYTES: Final = (("", ""), ("", ":"), ("", " "), ("%", "%"), ("\\x", "\\x"))


def _encoded(data: bytes) -> Iterator[str]:
    digits = [f"{byte:02x}" for byte in data]
    for first, between in _BYTES:
        yield first + between.join(digits)
        yield first + between.join(map(str.upper, digits))
    # Alone, and as the part of something longer, where it may begin at any of three places of a group.
    for before in range(3):
        whole = base64.b64encode(bytes(before) + data).decode()
        begin, end = -(-8 * before // 6), 8 * (before + len(data)) // 6
        for form in (whole[begin:end], whole[begin:]):
            yield form
            yield form.translate(_FOR_ADDRESSES)
