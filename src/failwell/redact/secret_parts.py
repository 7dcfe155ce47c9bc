"""What of a value is the secret: a login without the word for its kind, an address's password, one of many settings.

The one answer for arguments of calls and for all that a server is given; which names are secret is for who asks.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from itertools import islice
from typing import Final

from failwell.model import pattern

from .looks import drawn, given, likely, plausible

# The first words of logins, in small letters.
_KINDS: Final = frozenset("apikey api-key basic bearer bot digest key negotiate token".split())
# Shorter ones are more often names with a number.
_SHORTEST_TOKEN: Final = 12
# Oracle has its own way to write a login before a host.
_BEFORE_HOST: Final = pattern(r"(?:^|oracle:\w{1,10}:)[\w$#]{1,60}/([^\s/@\"']{1,200})@(?=[\w/(])")
# The end of a line, also as it is written where there may be only one.
_LINE_END: Final = pattern(r"\r?\n|(?:\\r)?\\n")
# A shorter one is found in other texts by chance.
_LINE_OF_KEY: Final = pattern(r"[A-Za-z0-9+/]{16,100}={0,2}")
_PIECE: Final = pattern(r"[^,;|\s]{1,2000}")
_MOST_PIECES: Final = 500
_ENCODED: Final = pattern(r"[A-Za-z0-9+/_-]{8,16000}={0,2}")
_FROM_ADDRESSES: Final = str.maketrans("-_", "+/")


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


def lines_of_key(text: str) -> Iterator[str]:
    """Each line of a private key that is long enough to be known by: programs quote the one that they cannot read."""
    yield from filter(_LINE_OF_KEY.fullmatch, map(str.strip, _LINE_END.split(text)))
