"""Names that stand for secrets: `password`, `dbPassword`, `API-Key`, but not `credential_kind` or `next_token`."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from failwell.model import pattern

# What a name has to end in, as words.
_ENDINGS: Final = frozenset(
    "password passwd passphrase passcode pwd pw pass secret token jwt authorization auth credential credentials cookie "
    "otp cvv cvc pin bearer pat apikey accesskey secretkey privatekey accountkey mnemonic dbpass "
    "userpass rootpass pgpass storepass keypass psk passwort kennwort senha contrasena wachtwoord losenord salasana "
    "haslo heslo mdp".split()
)
# The same in writings that have no words in our sense.
_FOREIGN: Final = ("contraseña", "lösenord", "hasło", "пароль", "密码", "密碼", "パスワード", "비밀번호", "şifre")
# What a name written as one word may end in.
_TAILS: Final = (
    "password", "passwd", "passphrase", "passcode", "apikey", "secret", "token", "accesskey", "secretkey", "masterkey",
    "signingkey", "privatekey", "presharedkey", "sessid", "sessionid", "pwd", "kennwort", "passwort",
)  # fmt: skip
_KEY_OF: Final = frozenset(
    "api access secret private encryption signing master account shared auth ssh service client license deploy hmac "
    "aes rsa storage subscription app application session functions preshared".split()
)
_PAIRS: Final = frozenset(
    tuple(pair.split())
    for pair in "session id,connect sid,pin code,authorization code,auth code,otp code,security code,backup code,"
    "backup codes,recovery code,recovery codes,seed phrase,recovery phrase,pass phrase,pass word,de passe,mfa seed,"
    "totp seed,otp seed,wallet seed,client assertion,code verifier".split(",")
)
_PLURALS: Final = frozenset("passwords secrets cookies apikeys".split())
# A number or a word about which one it is does not make it another thing.
_TRAILING: Final = frozenset(
    "confirmation confirm repeat again new old current hash value raw plain text data base v".split()
)
# Words that turn a token into a bookmark or a part of speech.
_HARMLESS_TOKEN: Final = frozenset(
    "next page prev previous continuation cursor pagination sync delta resume start end first last lexer parser "
    "expected unexpected invalid missing stop eos bos pad special".split()
)
_HARMLESS_PASS: Final = frozenset("first second by one two boarding ski bus render single multi test".split())
# Words that ask about a secret rather than hold one.
_QUESTIONS: Final = frozenset("has is needs requires use uses with without no forgot reset change".split())
# Secrets that may be numbers.
_NUMERIC: Final = frozenset("password passwd pwd passphrase passcode pin otp cvv cvc secret".split())
_IN_QUERY: Final = frozenset("sig signature key code sid session sas hmac credential".split())

_WORDS: Final = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def words_of(name: str) -> list[str]:
    """The words of a name in any spelling, in lower case."""
    if "%" in name:
        from urllib.parse import unquote

        name = unquote(name)
    # What stands for a control character was put into the name by somebody, or by accident.
    name = name.replace("\ufffd", "")
    return [word.lower() for word in _WORDS.findall(name)]


@lru_cache(maxsize=4096)
def is_secret_name(name: str, query: bool = False) -> bool:
    """Whether a value under `name` is a secret; `query` for the parameters of a URL, where more names are.

    >>> is_secret_name("dbPassword"), is_secret_name("credential_kind"), is_secret_name("next_token")
    (True, False, False)
    """
    words = words_of(name[-200:])
    while words and (words[-1].isdigit() or (words[-1] in _TRAILING and len(words) > 1)):
        words.pop()
    if not name.isascii() and name.lower().endswith(_FOREIGN):
        return True
    if not words or words[0] in _QUESTIONS:
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
    if last in _ENDINGS or (before, last) in _PAIRS or (last in ("key", "keys") and before in _KEY_OF):
        return True
    return last.endswith(_TAILS) or (query and last in _IN_QUERY)


def masks_numbers(name: str) -> bool:
    """Whether even a number under `name` is a secret: a password may be one, a token count is not."""
    return not _NUMERIC.isdisjoint(words_of(name))
