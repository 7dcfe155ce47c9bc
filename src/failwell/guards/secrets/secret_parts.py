"""What of a value is the secret: a login without the word for its kind, an address's password, one of many settings.

The one answer for arguments of calls and for all that a server is given; which names are secret is for who asks.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from typing import Final

from failwell.model import pattern

from .looks import drawn, likely, plausible
from .secret_names import is_secret_name

IsName = Callable[[str], bool]

# The first words of logins, in small letters.
_KINDS: Final = frozenset("apikey api-key basic bearer bot digest key negotiate token".split())
# One of them is no first word of anything else.
_BEARER: Final = ("Bearer ", "bearer ")
# Shorter ones are more often names with a number.
_SHORTEST_TOKEN: Final = 12
_LONGEST: Final = 10_000
# In a longer text, and in one of several lines, `:` and `=` are most often code or prose.
_LONGEST_LINE: Final = 2_000
_LOGIN: Final = pattern(r"://([^\s/?#@:\"'<>]{0,200})(?::([^\s/?#\"'<>]{1,400}))?@")
_ASKED: Final = pattern(r"[?&;]([\w.%-]{1,60})=([^&\s#\"'<>]{1,2000})")
_NAME: Final = pattern(r"[A-Za-z_][\w.-]{0,60}(?: [A-Za-z]{1,20}){0,3}")


def may_hold(text: str) -> bool:
    """Whether there may be anything `within` a text: the quick answer about most."""
    return ":" in text or "=" in text or text.startswith(_BEARER)


def within(text: str, is_secret: IsName) -> Iterator[str]:
    """The secrets that a text holds by its own form, whatever it is called.

    >>> [*within("postgres://app:tulip4711@db/main", is_secret_name)]
    ['tulip4711']
    >>> [*within("Server=db;Password=tulip4711;", is_secret_name)]
    ['tulip4711']
    """
    text = text[:_LONGEST].strip()
    if text.startswith(_BEARER) and plausible(login := text.partition(" ")[2].strip()) and " " not in login:
        yield login
    is_line = len(text) <= _LONGEST_LINE and "\n" not in text
    for mark, in_line, read in _FORMS:
        if mark in text and (is_line or not in_line):
            yield from read(text, is_secret)


def under(name: str, value: str) -> Iterator[str]:
    """What a secret that stands under a name consists of, beside the whole of it: a login, or cookies.

    >>> [*under("authorization", "Bearer tulip4711")]
    ['tulip4711']
    """
    kind, _, login = value.strip().partition(" ")
    if login and kind.lower() in _KINDS:
        yield login.strip()
        if kind.lower() == "basic":
            yield from of_basic(login.strip())
    elif "=" in value and name.lower().endswith("cookie"):
        cookies = (cookie.partition("=")[2].strip() for cookie in value.split(";"))
        yield from (cookie for cookie in cookies if plausible(cookie))


def of_basic(login: str) -> Iterator[str]:
    """What a login of the kind `Basic` says, and the password in it."""
    try:
        plain = base64.b64decode(login, validate=True).decode()
    except (binascii.Error, ValueError):
        return
    yield plain
    yield plain.partition(":")[2]


def is_token(value: str) -> bool:
    """Whether nobody thought of it, so that it needs no name."""
    return len(value) >= _SHORTEST_TOKEN and drawn(value)


def _in_addresses(text: str, is_secret: IsName) -> Iterator[str]:
    from urllib.parse import unquote

    for found in _LOGIN.finditer(text) if "@" in text else ():
        name, password = found[1], found[2]
        if password is not None and likely(unquote(password)):
            yield from {password, unquote(password)}
        elif password is None and is_token(name):
            # Who asks for no password lets in by the name alone.
            yield name
    for found in _ASKED.finditer(text) if "=" in text and ("?" in text or ";" in text) else ():
        name, value = found[1], unquote(found[2])
        # More names are secret here, where they may as well be the key of an issue or the code of a country.
        if (is_secret(name) and likely(value)) or (is_secret_name(name, True) and is_token(value)):
            yield from {found[2], value}


def _in_header(text: str, is_secret: IsName) -> Iterator[str]:
    """`Authorization: Bearer …`, but no sentence."""
    name, _, value = text.partition(":")
    value = value.strip()
    if not value or value.startswith("//") or _NAME.fullmatch(name) is None or not is_secret(name):
        return
    logins = [*under(name, value)]
    yield from logins
    if not logins and " " not in value and likely(value):
        yield value


def _in_settings(text: str, is_secret: IsName) -> Iterator[str]:
    """`Server=db;Password=…` and `host=db password=…`, where all is settings: code has these signs, too."""
    if "://" in text and ";" not in text:
        return
    pieces = [piece for piece in map(str.strip, text.split(";" if ";" in text else None)) if piece]
    # Before the first one may stand where they hold: `jdbc:sqlserver://db;password=…`.
    pairs = [piece.partition("=") for piece in (pieces[1:] if "=" not in pieces[0] else pieces)]
    if not all(equals and _NAME.fullmatch(name.strip()) for name, equals, _ in pairs):
        return
    for name, _, held in pairs:
        value = held.strip().strip("\"'")
        if is_secret(name.strip()) and likely(value):
            yield value


# By the sign without which there is none; whether it is looked for only in one line.
_FORMS: Final = (("://", False, _in_addresses), (":", True, _in_header), ("=", True, _in_settings))
