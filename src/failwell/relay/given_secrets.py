"""What a server is given as a secret, found where it stands.

By the names of variables and by what these hold, by the options that it follows on the command line, by the headers
that it is sent in, and by where it stands in the server's address, whatever it looks like.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from failwell.model import UNSET
from failwell.redact import (
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
)
from failwell.schema import decoded

# A shorter value is found in other words by chance, and so are these.
_SHORTEST: Final = 6
WORDS: Final = frozenset(
    "anonymous bearer client database default development disabled docker elastic enabled example github localhost "
    "mariadb mongodb optional oracle password postgres postgresql private production public rabbitmq required sandbox "
    "secret server session staging string testing undefined unknown".split()
)
# Where one is, which only sounds like a password.
_PLACES: Final = frozenset({"PWD", "OLDPWD"})
_is_secret: Final = DEFAULT.redact.secret_name
_LONGEST_LINE: Final = 12_000


def _is_common(value: str) -> bool:
    """Whether it turns up by itself: a word, or where a secret is kept."""
    return value.lower() in WORDS or (os.path.isabs(value) and os.path.exists(value))


def is_known(value: str) -> bool:
    """Whether a text that holds it holds it for no other reason."""
    return len(value) >= _SHORTEST and not _is_common(value)


# The command line


_Told = tuple[str, Sequence[str]]
"""A word as it can be told, and what of it is not."""
_Read = Callable[[str, str], _Told]
"""How a word is read that stands behind an option."""


def _as_header(_: str, word: str) -> _Told:
    name, colon, value = word.partition(":")
    found = [*in_header(name.strip(), value.strip())] if colon else []
    return (f"{name}: {MASK}" if found else DEFAULT.redact(word)), found


def _as_login(_: str, word: str) -> _Told:
    """`joe:…`; what is no login, such as the number of a user and of a group, stays."""
    name, _, password = word.partition(":")
    return (f"{name}:{MASK}", [password]) if is_known(password) and likely(password) else (DEFAULT.redact(word), ())


def _as_secret(option: str, word: str) -> _Told:
    parts = NO_SCHEMA.values({option.lstrip("-/"): word})
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


def told_words(words: Iterable[str]) -> Iterator[_Told]:
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


def in_command(words: Sequence[str]) -> Iterator[str]:
    yield from (value for _, values in told_words(words) for value in values)
    yield from NO_SCHEMA.values(list(words))
    # A word of several is a command itself: `sh -c "…"`.
    lines = [word for word in words if " " in word]
    yield from (value for line in lines for _, values in told_words(line.split(" ")) for value in values)
    for line in (*lines, " ".join(words)):
        # What is known by the words beside it: `mysql -p…`.
        yield from DEFAULT.redact.found(line[:_LONGEST_LINE])


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


def in_header(name: str, value: str) -> Iterator[str]:
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


def in_address(url: str) -> Iterator[str]:
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


NO_SCHEMA: Final = Secrets.of(None)


# Without it a text is no command line.
_OPTION: Final = re.compile(r"(?:^|\s)--?[A-Za-z]")
_MOST_LINES: Final = 500
# Shorter ones are more often names with a number.
_SHORTEST_DRAWN: Final = 8
_ITEM: Final = re.compile(r"\s*(?:- +)*")


def in_variables(env: Mapping[str, str]) -> Iterator[str]:
    for name, value in env.items():
        if name not in _PLACES:
            yield from _in_variable(name, value.strip())


def _in_variable(name: str, value: str) -> Iterator[str]:
    for text in filter(None, (value, unencoded(value))):
        found = [part for read in _READ for part in read(name, text)]
        yield from found
        # Nobody sees the parts of what is encoded as a whole: a login in JSON, quoted in base64.
        if any(map(is_known, found)) and (text is not value or decoded(text) is not UNSET):
            yield from (value, text)


def _by_name(name: str, text: str) -> Iterable[str]:
    return NO_SCHEMA.values({name: text})


def _by_lines(_: str, text: str) -> Iterable[str]:
    """What stands under names in a file that was put into a variable: headers, YAML, the settings of a program."""
    lines = text.splitlines()[:_MOST_LINES]
    return NO_SCHEMA.values([_ITEM.sub("", line, count=1) for line in lines]) if len(lines) > 1 else ()


def _by_options(_: str, text: str) -> Iterable[str]:
    # Of several lines it is a script, in which names stand for what they hold.
    return in_command([text]) if "\n" not in text and _OPTION.search(text) else ()


def _by_key(name: str, text: str) -> Iterable[str]:
    return [text] if _is_keyed(name) and _is_key(text) else ()


def _by_looks(name: str, text: str) -> Iterable[str]:
    """What looks drawn under a name that stands for other things, too: `TOKENS`, `SIGNING_SALT`."""
    given = NO_SCHEMA.values({"secrets": text}) if is_ambiguous_name(name) else ()
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
