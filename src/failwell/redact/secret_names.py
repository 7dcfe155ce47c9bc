"""Names that stand for secrets: `password`, `dbPassword`, `API-Key`, but not `credential_kind` or `next_token`.

The one list of such words. What looks for them in texts is made from it.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from failwell.model import pattern

# Words for what people say to each other, in letters without marks.
PASSWORDS: Final = tuple(
    "password passwd passphrase passcode pwd passwort kennwort senha contrasena wachtwoord losenord salasana haslo "
    "heslo mdp motdepasse passord adgangskode parola parol sifre jelszo lozinka geslo slaptazodis".split()
)
# The words for secrets themselves: where one of them stands for a value, it is a stand-in for it.
_WORDS_FOR: Final = frozenset(PASSWORDS) | frozenset(
    "pw pass secret token jwt authorization auth credential credentials creds cookie otp totp cvv cvc pin bearer pat "
    "mnemonic psk passkey privkey authtok ssn".split()
)
# What a name has to end in, as words.
_ENDINGS: Final = _WORDS_FOR | frozenset(
    "dbpass userpass rootpass pgpass sshpass storepass keypass requirepass masterauth rootpw bindpw".split()
)
# The same in writings that have no words in our sense.
FOREIGN: Final = (
    "пароль", "секрет", "токен", "密码", "密碼", "口令", "令牌", "密钥", "密鑰", "パスワード", "トークン", "暗証番号",
    "비밀번호", "암호", "토큰", "mat khau", "รหัสผ่าน", "كلمة المرور", "كلمة السر", "סיסמה", "סיסמא", "κωδικος",
    "kata sandi", "पासवर्ड",
)  # fmt: skip
# What a name written as one word may end in.
_TAILS: Final = (
    "password", "passwd", "passphrase", "passcode", "apikey", "secret", "token", "accesskey", "accountkey", "secretkey",
    "masterkey", "signingkey", "privatekey", "presharedkey", "instrumentationkey", "securestring", "sessid",
    "sessionid", "pwd", "kennwort", "passwort", "cardnumber", "creditcard", "ccnumber", "securitynumber",
)  # fmt: skip
_KEY_OF: Final = frozenset(
    "api access secret private encryption signing master account shared auth ssh service client license deploy hmac "
    "aes rsa storage subscription app application session functions preshared unseal fcm decryption validation wifi "
    "wallet fernet integration instrumentation sec crypt cipher encrypt decrypt enc authentication md static".split()
)
_PAIRS: Final = frozenset(
    tuple(pair.split())
    for pair in "session id,connect sid,pin code,authorization code,auth code,otp code,security code,backup code,"
    "backup codes,recovery code,recovery codes,seed phrase,recovery phrase,pass phrase,pass word,pass code,de passe,"
    "mfa seed,totp seed,otp seed,wallet seed,client assertion,code verifier,device code,verification code,mfa code,"
    "sms code,totp code,reset code,login code,community string,access signature,chave api,clave api,"
    "cle secrete,clave secreta,chave secreta,fi key,security answer,secret answer,recovery key,unseal keys,"
    "card number,credit card,debit card,cc number,cc num,security number".split(",")
)
_PLURALS: Final = frozenset("passwords secrets cookies".split())
# A number or a word about which one it is does not make it another thing.
_TRAILING: Final = frozenset(
    "confirmation confirm repeat again new old current hash value raw plain text data base v pem unique b".split()
)
# Words that turn a token into a bookmark or a part of speech.
_HARMLESS_TOKEN: Final = frozenset(
    "next page prev previous continuation cursor pagination sync delta resume start end first last lexer parser "
    "expected unexpected invalid missing stop eos bos pad special skip scroll watch fencing lock concurrency "
    "cancellation idempotency ack request".split()
)
_HARMLESS_PASS: Final = frozenset("first second by one two boarding ski bus render single multi test tests".split())
# Words that ask about a secret rather than hold one, and words that make an action of it.
_QUESTIONS: Final = frozenset("has is needs requires use uses with without no".split())
_ACTIONS: Final = frozenset("forgot reset change".split())
_ACTED_ON: Final = frozenset("password passwd passphrase passcode pwd pin auth credentials".split())
# Secrets that may be numbers.
_NUMERIC: Final = frozenset("password passwd pwd passphrase passcode pin otp totp cvv cvc secret".split())
_NUMBERED: Final = frozenset("code number num card ssn cardnumber creditcard ccnumber securitynumber".split())
_IN_QUERY: Final = frozenset("sig signature key code sid session sas hmac credential".split())
# Words that hold a secret only where it looks like one: others set them to words and numbers.
_AMBIGUOUS: Final = frozenset(
    "clave chave jeton cred pepper salt seed geheimnis session sess sid tok csrf xsrf ticket community signature sig "
    "hmac tokens crumb ключ".split()
)

_WORDS: Final = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_VARIABLE: Final = pattern(r"[A-Z]{1,40}(?:_[A-Z]{1,40}){1,6}")
_MARKS: Final = pattern("[\u0300-\u036f]+")
_OURS: Final = pattern(r"[A-Za-z]{2}")
# Letters that are no letter with a mark, and letters of another script that look like ours.
_LETTERS: Final = str.maketrans("łŁıøØđĐßæÆ", "lLioOdDsaA")
_ALIKE: Final = str.maketrans("аеорсхуіѕјԁһкνοραετικ", "aeopcxyisjdhkvopaetik")
_ESCAPED: Final = pattern(r"\\u00([4-7][0-9a-fA-F])")


def folded(name: str) -> str:
    """The name without the marks on its letters.

    >>> folded("Contraseña")
    'Contrasena'
    """
    if name.isascii():
        return name
    # Only what comes apart is put together again: the syllables of Korean are no letters with marks.
    apart = unicodedata.normalize("NFKD", name)
    return unicodedata.normalize("NFKC", _MARKS.sub("", apart)).translate(_LETTERS)


def _decode(text: str) -> str:
    """The text with its letters as letters, where an address or JSON has numbers, or another script ones like them."""
    if "%" in text:
        from urllib.parse import unquote

        text = unquote(text)
    if "\\u00" in text:
        text = _ESCAPED.sub(lambda letter: chr(int(letter[1], 16)), text)
    # What stands for a control character was put into the name by somebody, or by accident.
    text = folded(text.replace("\ufffd", ""))
    return text if text.isascii() or not _OURS.search(text) else text.translate(_ALIKE)


def words_of(name: str) -> list[str]:
    """The words of a name in any spelling, in lower case."""
    return [word.lower() for word in _WORDS.findall(_decode(name[-200:]))]


# By hash, so that no name of a caller is kept.
_known: dict[int, bool] = {}
_MOST_KNOWN: Final = 4096


def is_secret_name(name: str, query: bool = False) -> bool:
    """Whether a value under `name` is a secret; `query` for the parameters of a URL, where more names are.

    >>> is_secret_name("dbPassword"), is_secret_name("credential_kind"), is_secret_name("next_token")
    (True, False, False)
    """
    key = ~hash(name) if query else hash(name)
    found = _known.get(key)
    if found is None:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        found = _known[key] = _is_secret(name[-200:], query)
    return found


def _is_secret(name: str, query: bool) -> bool:
    words = words_of(name)
    while words and (words[-1].isdigit() or (words[-1] in _TRAILING and len(words) > 1)):
        words.pop()
    if (" " in name or not name.isascii()) and folded(name).casefold().rstrip("0123456789_ ").endswith(_FOREIGN_FOLDED):
        return True
    if not words or words[0] in _QUESTIONS:
        return False
    last, before = words[-1], next((word for word in words[-2::-1] if not word.isdigit()), "")
    if last in _PLURALS:
        last = last[:-1]
    if words[0] in _ACTIONS and last in _ACTED_ON:
        return False
    if last == "tokens" and before in _KEY_OF | {"refresh", "session", "bearer"}:
        return True
    if last == "token":
        return before not in _HARMLESS_TOKEN
    if last == "pass":
        return before not in _HARMLESS_PASS
    if last in _ENDINGS or (before, last) in _PAIRS or (last in ("key", "keys") and before in _KEY_OF):
        return True
    if last.endswith("token") and last[:-5] in _HARMLESS_TOKEN:
        return False
    # In letters of any size the parts are no words.
    whole = "".join(words[-9:]) if len(last) < 3 and not name.islower() else last
    return whole.endswith(_TAILS) or (query and last in _IN_QUERY)


_FOREIGN_FOLDED: Final = tuple(folded(word).casefold() for word in FOREIGN)


def is_ambiguous_name(name: str) -> bool:
    """Whether what stands under `name` is a secret if it looks drawn at random, and something else if it does not.

    >>> is_ambiguous_name("use_token"), is_ambiguous_name("pepper"), is_ambiguous_name("colour")
    (True, True, False)
    """
    words = words_of(name) or [name.casefold()]
    if words[-1] in _AMBIGUOUS or words[-2:] in (["secret", "id"], ["key", "id"]):
        return True
    return words[0] in _QUESTIONS | _ACTIONS and is_secret_name("_".join(words[1:]))


def is_word_for_secret(value: str) -> bool:
    """Whether it is nothing but the word for a secret, or the name of a variable that holds one.

    >>> is_word_for_secret("Password"), is_word_for_secret("DB_PASSWORD"), is_word_for_secret("dbpassword1")
    (True, True, False)
    """
    return value.lower() in _WORDS_FOR or (_VARIABLE.fullmatch(value) is not None and is_secret_name(value))


def masks_numbers(name: str) -> bool:
    """Whether even a number under `name` is a secret: a password may be one, a token count is not."""
    words = words_of(name)
    return not _NUMERIC.isdisjoint(words) or (not _NUMBERED.isdisjoint(words[-1:]) and is_secret_name(name))


def _stems() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is looked for in a text before anything else: each name has one of these in it; short ones are words."""
    common = ("pass", "pwd", "secret", "token", "key", "auth", "credential", "cookie", "session", "sessid", "creds")
    # Second words of a pair that are in every other text.
    everywhere = ("code", "string", "answer", "number", "num", "card")
    single = _ENDINGS | set(_TAILS) | _AMBIGUOUS | (_IN_QUERY - {"code", "key"})
    found = {word for word in single if word.isascii() and not any(stem in word for stem in common)}
    for left, right in sorted(_PAIRS):
        if not any(stem in left or stem in right for stem in (*common, *found) if len(stem) > 4):
            found |= {f"{left}{gap}{right}" for gap in ("", " ", "_", "-")} if right in everywhere else {right}
    return (*common, *sorted(word for word in found if len(word) > 4)), tuple(
        sorted(word for word in found if len(word) <= 4)
    )


STEMS, _SHORT = _stems()
_SHORT_NAME: Final = pattern(rf"(?:{'|'.join(_SHORT)})(?![a-z])|code=")
_OTHERS: Final = (*_FOREIGN_FOLDED, "ключ")


def names_something(lower: str) -> bool:
    """Whether a name that stands for a secret may be in the text, which is in lower case."""
    # The exception that is raised more often than any other has the word for a secret in its name.
    lower = _decode(lower.replace("keyerror", "error")).casefold()
    # A plain loop: this is asked of every text, and it is the fastest way to ask.
    for word in STEMS:
        if word in lower:
            return True
    return _SHORT_NAME.search(lower) is not None or (not lower.isascii() and any(word in lower for word in _OTHERS))
