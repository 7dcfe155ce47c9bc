"""What of a value is the secret: a login without the word for its kind, an address's password, one of many settings.

The one answer for arguments of calls and for all that a server is given; which names are secret is for who asks.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from failwell.model import pattern

from .looks import drawn, given, likely, plausible
from .secret_names import is_secret_name

IsName = Callable[[str], bool]

# The first words of logins, in small letters.
_KINDS: Final = frozenset("apikey api-key basic bearer bot digest key negotiate token".split())
# One of them is no first word of anything else.
_BEARER: Final = ("Bearer ", "bearer ")
_PEM: Final = "-----BEGIN "
_BEGINS: Final = (*_BEARER, _PEM)
# Shorter ones are more often names with a number.
_SHORTEST_TOKEN: Final = 12
_LONGEST: Final = 10_000
# In a longer text, and in one of several lines, `:` and `=` are most often code or prose.
_LONGEST_LINE: Final = 2_000
_LOGIN: Final = pattern(r"://([^\s/?#@:\"'<>]{0,200})(?::([^\s/?#\"'<>]{1,400}))?@")
_ASKED: Final = pattern(r"[?&;]([\w.%-]{1,60})=([^&\s#\"'<>]{1,2000})")
_NAME: Final = pattern(r"[A-Za-z_][\w.-]{0,60}(?: [A-Za-z]{1,20}){0,3}")
# Oracle has its own way to write a login before a host.
_BEFORE_HOST: Final = pattern(r"(?:^|oracle:\w{1,10}:)[\w$#]{1,60}/([^\s/@\"']{1,200})@(?=[\w/(])")
# Where the settings of a registry hold, before the name of one: `//registry.npmjs.org/:_authToken=…`.
_OF_REGISTRY: Final = "/:"
# The end of a line, also as it is written where there may be only one.
_LINE_END: Final = pattern(r"\r?\n|(?:\\r)?\\n")
# A shorter one is found in other texts by chance.
_LINE_OF_KEY: Final = pattern(r"[A-Za-z0-9+/]{16,100}={0,2}")
_PIECE: Final = pattern(r"[^,;|\s]{1,2000}")
_MOST_PIECES: Final = 500
_ENCODED: Final = pattern(r"[A-Za-z0-9+/_-]{8,16000}={0,2}")
_FROM_ADDRESSES: Final = str.maketrans("-_", "+/")


def may_hold(text: str) -> bool:
    """Whether there may be anything `within` a text: the quick answer about most."""
    return ":" in text or "=" in text or text.startswith(_BEGINS)


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
    """What a secret that stands under a name consists of, beside the whole of it: a login, cookies, or several.

    >>> [*under("authorization", "Bearer tulip4711")]
    ['tulip4711']
    >>> [*under("api_keys", "tulip4711,daisy4712")]
    ['tulip4711', 'daisy4712']
    """
    kind, _, login = value.strip().partition(" ")
    if login and kind.lower() in _KINDS:
        yield login.strip()
        if kind.lower() == "basic":
            yield from of_basic(login.strip())
    elif "=" in value and name.lower().endswith("cookie"):
        cookies = (cookie.partition("=")[2].strip() for cookie in value.split(";"))
        yield from (cookie for cookie in cookies if plausible(cookie))
    elif name.lower().endswith("s") and value[:1] not in ("{", "["):
        yield from _several(value)


def _several(value: str) -> Iterator[str]:
    """Each of many secrets in one text; the password alone where it is one of logins: `ann:…;bob:…`."""
    pieces = [found[0] for found in islice(_PIECE.finditer(value), _MOST_PIECES)]
    if len(pieces) < 2 and ":" not in value:
        return
    for piece in pieces:
        _, colon, password = piece.partition(":")
        if (colon and likely(password)) or (not colon and plausible(piece)):
            yield password or piece


def unencoded(value: str) -> str | None:
    """The text that stands in base64, if it is one.

    >>> unencoded("dHVsaXA0NzEx"), unencoded("tulip4711")
    ('tulip4711', None)
    """
    bare = "".join(value.split())
    if _ENCODED.fullmatch(bare) is None:
        return None
    bare = bare.rstrip("=").translate(_FROM_ADDRESSES)
    try:
        plain = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    return plain if all(map(_is_written, plain)) else None


def _is_written(character: str) -> bool:
    return character.isprintable() or character in "\r\n\t"


def before_host(text: str) -> list[str]:
    """The password of a login as Oracle writes it: `scott/…@db:1521/main`.

    >>> before_host("scott/tulip4711@db:1521/main")
    ['tulip4711']
    """
    return [password for password in _BEFORE_HOST.findall(text) if given(password)]


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


def _is_held(value: str) -> bool:
    """Whether what a secret's name is set to is one: a password may sound like a name itself, as `dbpassword1` does."""
    return likely(value) or plausible(value)


def _in_oracle(text: str, _: IsName) -> Iterator[str]:
    # Without this word it may as well be a package and its version.
    yield from before_host(text[text.index("oracle:") :])


def _in_pem(text: str, _: IsName) -> Iterator[str]:
    """Each line of a private key that is long enough to be known by: programs quote the one that they cannot read."""
    yield from filter(_LINE_OF_KEY.fullmatch, map(str.strip, _LINE_END.split(text)))


def _in_addresses(text: str, is_secret: IsName) -> Iterator[str]:
    from urllib.parse import unquote

    for found in _LOGIN.finditer(text) if "@" in text else ():
        name, password = found[1], found[2]
        if password is not None and given(unquote(password)):
            yield from {password, unquote(password)}
        elif password is None and is_token(name):
            # Who asks for no password lets in by the name alone.
            yield name
    for found in _ASKED.finditer(text) if "=" in text and ("?" in text or ";" in text) else ():
        name, value = found[1], unquote(found[2])
        # More names are secret here, where they may as well be the key of an issue or the code of a country.
        if (is_secret(name) and _is_held(value)) or (is_secret_name(name, True) and is_token(value)):
            yield from {found[2], value}


def _in_header(text: str, is_secret: IsName) -> Iterator[str]:
    """`Authorization: Bearer …`, but no sentence."""
    name, _, value = text.partition(":")
    value = value.strip().strip("\"'")
    if not value or value.startswith("//") or _NAME.fullmatch(name) is None or not is_secret(name):
        return
    logins = [*under(name, value)]
    yield from logins
    if not logins and " " not in value and _is_held(value):
        yield value


def _in_settings(text: str, is_secret: IsName) -> Iterator[str]:
    """`Server=db;Password=…` and `host=db password=…`, where all is settings: code has these signs, too."""
    if "://" in text and ";" not in text:
        return
    pieces = [piece for piece in map(str.strip, text.split(";" if ";" in text else None)) if piece]
    # Before the first one may stand where they hold: `jdbc:sqlserver://db;password=…`.
    pairs = [piece.partition("=") for piece in (pieces[1:] if "=" not in pieces[0] else pieces)]
    named = [(name.rpartition(_OF_REGISTRY)[2].strip(), equals, held) for name, equals, held in pairs]
    if not all(equals and _NAME.fullmatch(name) for name, equals, _ in named):
        return
    for name, _, held in named:
        value = held.strip().strip("\"'")
        if is_secret(name) and _is_held(value):
            yield value


# By the words without which there is none; whether it is looked for only in one line.
_FORMS: Final = (
    ("://", False, _in_addresses),
    ("oracle:", False, _in_oracle),
    ("PRIVATE KEY-----", False, _in_pem),
    (":", True, _in_header),
    ("=", True, _in_settings),
)
