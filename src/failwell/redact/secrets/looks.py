"""What a value looks like: drawn at random, thought of by somebody, or no secret wherever it stands."""

from __future__ import annotations

import re
from typing import Final

from failwell.model import pattern

from .assignments import PLACEHOLDER, PROSE
from .secret_names import is_secret_name, is_word_for_secret

_PLAIN_PART: Final = pattern(r"[A-Za-z]*[0-9]*|[0-9]{1,4}[a-z]{1,2}")
_PARTS: Final = pattern(r"[-/_.:@+=~()\[\]<>]")


_SYLLABLES: Final = pattern(r"[A-Z]{1,40}(?![a-z])|[A-Z]?[a-z]{1,40}")
_VOWEL: Final = pattern(r"[aeiouyAEIOUY]")


def jumbled(value: str) -> bool:
    """Whether letters alone make no words: `VkKFRhccHFzl`, but not `GetUserById`."""
    if not 8 <= len(value) <= 200 or not value.isascii() or not value.isalpha():
        return False
    parts = _SYLLABLES.findall(value)
    return len(parts) >= 4 and sum(_VOWEL.search(part) is None for part in parts) * 2 >= len(parts)


def drawn(value: str) -> bool:
    """Whether it looks drawn at random: letters and digits in disorder, not words, numbers, versions or dates."""
    if value.isalpha():
        return jumbled(value)
    if len(value) < 6 or not any(map(str.isdigit, value)) or not any(map(str.isalpha, value)):
        return False
    return not all(_PLAIN_PART.fullmatch(part) for part in _PARTS.split(value))


# Where something is to be found: a line of a file, a secret in a store.
_ELSEWHERE: Final = pattern(
    r"[\w@./\\-]{1,200}\.[A-Za-z]{1,5}:[0-9]{1,6}(?::[0-9]{1,6})?:?|(?:op|ssm|awssm|gcpsm|keyring|secretref|azurekeyvault)"
    r"(?:\+\w{1,20})?://?[\w./ -]{1,200}|vault:[\w-]{1,60}/[\w./#-]{1,200}|file:/[\w./-]{1,200}"
    r"|env:[A-Z_]{2,60}|arn:aws[\w-]{0,12}:\S{1,400}"
)
_STORED: Final = pattern(r"(?:[a-z][a-z_-]{0,40}|[0-9]{1,12})(?:/(?:[a-z][a-z_-]{0,40}[0-9]{0,4}|[0-9]{1,12})){1,8}")


def is_elsewhere(value: str) -> bool:
    """Whether it says where something is: `src/auth.rs:12:9`, `op://Prod/db/password`."""
    return _ELSEWHERE.fullmatch(value) is not None


def names_a_secret(value: str) -> bool:
    """Whether it is what a secret is called where it is kept: `prod/billing/db`, `orders-db-password`."""
    return _STORED.fullmatch(value) is not None or _NAMES_ONE.fullmatch(value) is not None


# The words of a sentence, and those of which there is one in what a validator says.
_SENTENCE: Final = pattern(
    r"[^\W\d_]{1,24}(?:['’][a-z]{1,3})?[,:;]?"
    r"(?: (?:[^\W\d_]{1,24}(?:['’-][a-z]{1,12})?|[0-9]{1,4}(?:-[0-9]{1,4})?)[,:;.!]?){1,30}"
)
_WRONG: Final = pattern(
    r"\b(?:match(?:es|ing)?|must|should|needs?|too|least|most|valid|invalid|blank|characters?|required?|fields?|contains?"
    r"|ensure|short(?:er)?|long(?:er)?|common|weak|empty|missing|digits?|letters?|mandatory|confirm(?:ation)?"
    r"|incorrect"
    r"|wrong|expected|expired|allowed|accepted|identical|different|differ|equal|same|similar|cannot|enter|provide|choose"
    r"|muss|zu kurz|zu lang|mindestens|stimm\w{1,3}|ungültig|erforderlich|fehlt|doit|trop|caractères|obligatoire"
    r"|invalide|debe|caracteres|inválid[ao]|coinciden|demasiado|deve|curta|moet|minimaal|tekens|verplicht|ongeldig|overeen)\b",
    re.IGNORECASE,
)


# Words that were drawn to make a password are no grammar.
_GRAMMAR: Final = pattern(
    r"\b(?:is|are|be|been|the|must|should|too|at|an?|not|do|does|don['’]t|doesn['’]t|didn['’]t|can(?:not|['’]t)|has|have|of|no"
    r"|this|that|or|to|ist|zu|muss|est|trop|debe|es|no|não|deve|moet|het)\b",
    re.IGNORECASE,
)
_LOUD_CODE: Final = pattern(r"[A-Z]{2,16}(?:_[A-Z]{2,16}){1,5}")
_CODE_FOR_WRONG: Final = pattern(
    r"(?:too|invalid|min|max|not|missing|is|must|bad|wrong|no|value|string)(?:_[a-z]{2,16}){1,4}"
    r"|(?:validation|validations|errors?)(?:\.[a-z_]{2,30}){1,5}"
)


def says_whats_wrong(value: str) -> bool:
    """Whether it is what a validator says of a field, where its value would stand."""
    if _CODE_FOR_WRONG.fullmatch(value) or (_LOUD_CODE.fullmatch(value) and _WRONG.search(value.replace("_", " "))):
        return True
    said = " " in value and _WRONG.search(value) is not None and _SENTENCE.fullmatch(value) is not None
    return said and _GRAMMAR.search(value) is not None


COOKIE_ATTRIBUTE: Final = pattern(r"(?:samesite|path|domain|expires|max-age)=", re.IGNORECASE)
# Cookies of which nobody can make use.
_NO_MATTER: Final = pattern(r"[A-Za-z]{0,12}(?:[-_][A-Za-z]{2,4})?|[0-9]{1,3}")
_LETS_IN: Final = pattern(
    r"sess|sid|auth|tok|jwt|csrf|xsrf|key|secret|user|remember|login|pass|cred|sso|ticket", re.IGNORECASE
)


def plain_cookies(value: str) -> bool:
    """Whether all cookies in a header are settings: `theme=dark; Path=/`."""
    for part in value.split(";"):
        name, set_to, held = part.partition("=")
        if any(map(drawn, part.split())) and not COOKIE_ATTRIBUTE.match(part.strip()):
            return False
        word = held.split(maxsplit=1)[0] if held.strip() else ""
        matters = _LETS_IN.search(name) or not _NO_MATTER.fullmatch(word.rstrip(".,"))
        if set_to and word and matters and not COOKIE_ATTRIBUTE.match(part.strip()):
            return False
    return True


# The tokens of documentation: an example by its own words, or nothing but the letter x.
_EXAMPLE: Final = pattern(r"[A-Za-z0-9+/]{6,60}EXAMPLE(?:KEY)?|[A-Za-z_-]{0,12}[-_]?x{6,80}|hooks\.\S{1,60}X{16,40}")
# The name of a secret is put together from words about it: `default-token-x7k2p`.
_NAMES_ONE: Final = pattern(
    r"[a-z0-9.]{1,40}(?:-[a-z]{1,20}){0,3}-(?:tokens?|secrets?|credentials?|creds?|certs?|tls|keys?|passwords?)(?:-[a-z0-9]{1,12})?"
)


def is_stand_in(value: str) -> bool:
    """Whether it stands where a secret would: a placeholder, a variable, an example."""
    return PLACEHOLDER.fullmatch(value) is not None or _EXAMPLE.fullmatch(value) is not None


_ALGORITHM: Final = pattern(
    r"(?:sha|utf|pbkdf|argon|md|ipv|rfc|base|oauth|aes|rsa|hs|rs|es|ed|http|tls|ssl|v|win|x|java|py(?:thon)?)"
    r"[ _-]?v?[0-9]"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:"
    r"|[0-9]{1,4}[- ]?(?:char|digit|letter|bit|byte|day|month|year|hour|min|sec|ms|kb|mb)",
    re.IGNORECASE,
)
_INNER_MARK: Final = pattern(r"\w[@#$%^&!+~*]")


def plausible(value: str) -> bool:
    """Whether it may be a password that somebody thought of: a word with a digit or a symbol, which few words have."""
    value = value.strip("*_.,;:!?")
    if len(value) < 6 or value[0] in "<{$(-[/@:%" or _ALGORITHM.match(value) or not any(map(str.isalpha, value)):
        return False
    return any(map(str.isdigit, value)) or _INNER_MARK.search(value) is not None or jumbled(value)


# Other names, kinds of values and of logins, and what is said of a password rather than told.
_ABOUT: Final = pattern(
    r"(?:user(?:name)?|e?-?mail|name|login|logon|id|roles?|host(?:name)?|port|address|phone|database|types?|kind|bytes|binary|uuid"
    r"|date|file|path|url|uri|json|hash(?:es|ed)?|salt|confirm(?:ation)?|repeat|reset|change|errors?|status|state|message|current"
    r"|new|old|returned|exited|gave|expects?|arguments?|options?|flags?|prompt|stdin|env|environment|ask|plain|callback"
    r"|authentication|authorization|verification|mismatch|policy|protected|protection|encrypted|clear|visible|toggle|submit|grant"
    r"|flow|manager|entry|complexity|strength|history|attempts?|provider|provided|entered|supplied|given|request|parameters?"
    r"|publickey|public[-_]key|keyboard-interactive|gssapi\S{0,20}|hostbased|ldap|oauth2?|saml|oidc|jwt|kerberos|ntlm|local"
    r"|admin(?:istrator)?|root|guest|owner|viewer|editor|member"
    r"|secure|data|click(?:ed)?|on|off|case-(?:in)?sensitive|read-only|write-only|plain-?text|base64-\w{1,10}|auto-\w{1,12}|non-\w{1,12})",
    re.IGNORECASE,
)
_PLACE: Final = pattern(
    r"\w{1,20}://|[a-z0-9-]{1,60}(?:\.[a-z0-9-]{1,60}){2,6}$|[\w.-]{1,60}\.(?:com|org|net|io|local|internal)$"
)
_OPENS: Final = "<{$(-[/@:%*=?.^\\"


def given(value: str) -> bool:
    """Whether it is a password where nothing else can stand, as before the `@` of an address: all but a stand-in and a
    bare word about one, which other texts are full of."""
    bare = value.strip("\"'.,;:!?")
    if value[:1] in _OPENS and not plausible(value[1:]):
        return False
    if len(bare) < 3 or not any(map(str.isalnum, bare)) or is_stand_in(value):
        return False
    word = PROSE.match(bare)
    is_prose = word is not None and word.end() == len(bare)
    return not (is_prose or _ABOUT.fullmatch(bare) or is_word_for_secret(bare))


def likely(value: str) -> bool:
    """Whether it may be a password where its place says that one stands: any word that is not about one."""
    bare = value.strip("\"'.,;:!?")
    if not given(value) or _PLACE.match(bare) or _ALGORITHM.match(bare):
        return False
    if " " in bare:
        words = bare.split()
        return len(words) <= 8 and not any(map(PROSE.match, words)) and not says_whats_wrong(bare)
    return not (is_secret_name(bare) or is_elsewhere(bare) or says_whats_wrong(bare))


_INFLECTED: Final = pattern(
    r"[a-z]{2,30}(?:ed|ing|able|ible|ory|ive|al|less|ful|ly|ent|ant|ous|random|weak|unique)", re.IGNORECASE
)


def thought_up(value: str) -> bool:
    """The same in a sentence, which goes on with words about it: not `disabled`, not `mandatory`."""
    bare = value.strip("\"'.,;:!?")
    return len(bare) > 4 and likely(value) and _INFLECTED.fullmatch(bare) is None


_SWITCH: Final = pattern(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])")


def random(value: str) -> bool:
    """The same where nothing but a word before it speaks for a secret: not `v1alpha1`, not `base64url`."""
    if len(value) < 8 or not drawn(value):
        return False
    mixed = not (value.islower() or value.isupper())
    return mixed if len(value) < 10 else mixed or len(_SWITCH.findall(value)) >= 4


def scrambled(value: str) -> bool:
    """The same where names and tags stand more often: letters of both sizes that make no words, and digits."""
    if not drawn(value) or value.islower() or value.isupper():
        return False
    parts = _SYLLABLES.findall(value)
    return sum(_VOWEL.search(part) is None for part in parts) * 3 >= len(parts) * 2
