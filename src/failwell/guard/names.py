"""Names that stand for secrets: `password`, `dbPassword`, `API-Key`, but not `credential_kind` or `next_token`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

# What a name has to end in, as words.
_ENDINGS: Final = frozenset(
    "password passwd passphrase passcode pwd pass secret token jwt authorization auth credential credentials cookie "
    "otp cvv cvc bearer pat apikey accesskey secretkey privatekey accountkey sessionid authtoken accesstoken".split()
)
_KEY_OF: Final = frozenset(
    "api access secret private encryption signing master account shared auth ssh service client license deploy hmac "
    "aes rsa storage subscription app application".split()
)
_PLURALS: Final = frozenset("passwords secrets cookies apikeys".split())
# A number or a word about which one it is does not make it another thing.
_TRAILING: Final = frozenset(
    "confirmation confirm repeat again new old current hash value raw plain text data base".split()
)
# Words that turn a token into a bookmark or a part of speech.
_HARMLESS_TOKEN: Final = frozenset(
    "next page prev previous continuation cursor pagination sync delta resume start end first last lexer parser "
    "expected unexpected invalid missing stop eos bos pad special".split()
)
_HARMLESS_PASS: Final = frozenset("first second by one two boarding ski bus render single multi test".split())
_IN_QUERY: Final = frozenset("sig signature key code sid session sas hmac credential".split())

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@lru_cache(maxsize=4096)
def is_secret_name(name: str, query: bool = False) -> bool:
    """Whether a value under `name` is a secret; `query` for the parameters of a URL, where more names are.

    >>> is_secret_name("dbPassword"), is_secret_name("credential_kind"), is_secret_name("next_token")
    (True, False, False)
    """
    words = [word.lower() for word in _WORDS.findall(unquote(name) if "%" in name else name)]
    while words and (words[-1].isdigit() or (words[-1] in _TRAILING and len(words) > 1)):
        words.pop()
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _PLURALS:
        last = last[:-1]
    if last == "tokens" and before in _KEY_OF | {"refresh", "session", "bearer"}:
        return True
    if last == "token":
        return before not in _HARMLESS_TOKEN
    if last == "pass":
        return before not in _HARMLESS_PASS
    if last in _ENDINGS:
        return True
    if last in ("key", "keys") and before in _KEY_OF:
        return True
    if last == "id" and before == "session":
        return True
    if last.startswith(("password", "passwd")) or last.endswith(("password", "passwd", "passphrase", "apikey")):
        return True
    return query and last in _IN_QUERY


def masks_numbers(name: str) -> bool:
    """Whether even a number under `name` is a secret: a password may be one, a token count is not."""
    words = {word.lower() for word in _WORDS.findall(name)}
    return bool(words & {"password", "passwd", "pwd", "passphrase", "passcode", "pin", "otp", "cvv", "cvc", "secret"})
