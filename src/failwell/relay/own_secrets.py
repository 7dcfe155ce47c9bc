"""Secrets that the relay itself holds: it gives them to the server, so it knows them when they come back.

By their names in the environment, by the options that they follow on the command line, by the headers that they are
sent in, and by where they stand in the server's address, whatever they look like.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import pairwise
from typing import Any, Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from failwell.guards import DEFAULT, MASK, Secrets, drawn, without_values
from failwell.model import ToolError

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
_LONGEST_LINE: Final = 12_000
_MASKS: Final = re.compile(rf"(?:{re.escape(MASK)})+")
# In a path, a shorter step is more often a name with a number.
_SHORTEST_TOKEN: Final = 12
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


def _told(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each word as it can be told where it stands, and what it was that is not."""
    is_next = is_sure = False
    for word in words:
        if is_next and not word.startswith("-"):
            yield MASK, word if is_sure else ""
            is_next = False
            continue
        name, equals, value = word.partition("=")
        # What a short one is followed by may be a port, which others may name.
        is_sure = _is_secret(name.lstrip("-"))
        is_secret = is_sure or name in _SHORT
        is_next = is_secret and not equals and name.startswith("-")
        if is_secret and value:
            yield f"{name}={MASK}", value if is_sure else ""
        else:
            yield DEFAULT.redact(word), ""


def _in_command(words: Sequence[str]) -> Iterator[str]:
    yield from (value for _, value in _told(words) if value)
    # The rest is known by the words beside it: `--user joe:…`.
    line = " ".join(words)[:_LONGEST_LINE]
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
        yield from _in_basic(login)
    yield from [*pairs, login] if scheme is not None or not pairs else pairs


def _in_basic(login: str) -> Iterator[str]:
    try:
        plain = base64.b64decode(login, validate=True).decode()
    except (binascii.Error, ValueError):
        return
    yield plain
    yield plain.partition(":")[2]


def _in_address(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    yield unquote(parts.password or "")
    yield from (value for name, value in parse_qsl(parts.query) if _is_secret(name, True) or _is_token(value))
    yield from (unquote(step) for step, is_secret in _steps(parts.path) if is_secret)


def _steps(path: str) -> Iterator[tuple[str, bool]]:
    """Each step of a path, and whether it lets in whoever knows it: by its looks, or by the one before."""
    before = ""
    for step in path.split("/"):
        yield step, _is_token(step) or (_is_secret(before, True) and len(step) >= _SHORTEST and not _is_common(step))
        before = step


def _is_token(value: str) -> bool:
    return len(value) >= _SHORTEST_TOKEN and drawn(value)


def told_address(url: str) -> str:
    """An address as it can be told: without names, passwords, queries, and what is secret in its path."""
    parts = urlsplit(url)
    path = "/".join(MASK if is_secret else step for step, is_secret in _steps(parts.path))
    port = f":{parts.port}" if parts.port is not None else ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{port}{path}"


_NO_SCHEMA: Final = Secrets.of(None)


class OwnSecrets:
    """Values that are masked wherever they turn up, word for word, whatever stands between their letters unseen."""

    def __init__(self, values: Iterable[str]) -> None:
        # The longest first: one may be part of another.
        known = sorted({form for value in values for form in _forms(value)}, key=len, reverse=True)
        self._values: Sequence[str] = known

    @classmethod
    def sent(cls, values: Iterable[str]) -> OwnSecrets:
        """What was sent for secret arguments, where it is long enough not to be found in other words by chance."""
        return cls(value for value in values if len(value) >= _SHORTEST_SENT)

    @classmethod
    def of(
        cls,
        env: Mapping[str, str],
        *,
        headers: Mapping[str, str] | None = None,
        command: Sequence[str] = (),
        url: str | None = None,
    ) -> OwnSecrets:
        """What a server is given as a secret, and is long and odd enough to be known by: in variables with the names of
        secrets, in headers, on its command line, and in its address."""
        given = [value.strip() for name, value in env.items() if name not in _PLACES and _is_secret(name)]
        given += [part for name, value in (headers or {}).items() for part in _in_header(name, value.strip())]
        given += _in_command(command)
        given += _in_address(url or "")
        return cls(filter(_known, given))

    def text(self, text: str) -> str:
        return without_values(text, self._values, MASK)

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
            values = self._values | dict.fromkeys(known.values(params.get("arguments") or {}))
            if values != self._values:
                self._values = dict.fromkeys([*values][-_MOST_SENT:])
                self._known = OwnSecrets.sent(self._values)

    def masked(self, value: Any) -> Any:
        return self._known.masked(value)


def _forms(value: str) -> Iterator[str]:
    """A value as it stands in a text, in an address, in JSON inside a text, in markup, and in base64 and hex."""
    yield value
    data = value.encode("utf-8", "surrogatepass")
    for kept in _UNQUOTED:
        quoted = quote(data, safe=kept)
        yield quoted
        yield _ESCAPE.sub(lambda found: found[0].lower(), quoted)
    yield quote_plus(data)
    for is_ascii in (True, False):
        inside = json.dumps(value, ensure_ascii=is_ascii)[1:-1]
        # Once more for JSON that is a text in JSON.
        yield from (inside, inside.replace("/", "\\/"), json.dumps(inside, ensure_ascii=is_ascii)[1:-1])
    yield repr(value)[1:-1]
    yield from (escape(value), escape(value, quote=False))
    yield from (form for form in _encoded(data) if len(form) >= _SHORTEST_ENCODED)


def _encoded(data: bytes) -> Iterator[str]:
    yield data.hex()
    yield data.hex().upper()
    # Alone, and as the part of something longer, where it may begin at any of three places of a group.
    for before in range(3):
        whole = base64.b64encode(bytes(before) + data).decode()
        begin, end = -(-8 * before // 6), 8 * (before + len(data)) // 6
        for form in (whole[begin:end], whole[begin:]):
            yield form
            yield form.translate(_FOR_ADDRESSES)
