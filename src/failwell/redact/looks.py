"""What a value looks like: drawn at random, thought of by somebody, or no secret wherever it stands."""

from __future__ import annotations

import re
from typing import Final

from failwell.model import pattern

from .secret_names import is_secret_name, is_word_for_secret

# Words that follow "password:" in a sentence about passwords rather than in one that gives one away.
PROSE: Final = pattern(
    r"(?:(?:is|was|are|were|be|been|must|should|may|can|cannot|could|has|have|had|does|did|will|would|not|no|the|an?|of|for|in|on"
    r"|at|to|and|or|but|if|so|by|as|too|with|without|from|via|over|through|instead|into|per|before|after|until|unless"
    r"|because|since|while|when|where|which|that|this|it|your|each|every|either|neither|all|any|some|same|also|both|only"
    r"|required|missing|invalid|expired|incorrect|wrong|empty|unknown|null|none|nil|undefined|true|false|string|str|int"
    r"|integer|number|object|array|boolean|optional|field|value|length|type|expected|please|use|used|enter|input|got"
    r"|bearer|basic|digest|token|password|secret|key|header|format|malformed|rejected|denied|failed|revoked|never|already"
    r"|shorter|longer|minimum|maximum|unset|blank|redacted|hidden|masked|signature|authentication|refresh|access|auth|yes"
    r"|needs|takes|requires|option|flag|argument|varchar|char|text|character|done|fail|failure|success|found|default"
    r"|unchanged|changed|weak|strong|valid|retry|again|try|campo|obb?ligatori[oa]|obrigatóri[oa]|requerid[oa]"
    r"|obligatoire|requise?|erforderlich|pflichtfeld|vereist|krävs|pakollinen|обязательн\w{0,3}|wymagane|zorunlu|ungültig|ongeldig)(?![\w-]|[=@#$%^&!+~*]\w)"
    r"|\[redacted|[*•x.]{3,80}(?!\w)|<|\$[{(A-Z]|\$\d{1,2}(?![\w$])|=|\{\{|%[s(]|\?(?!\w)|[:@]\w{1,30}$)",
    re.IGNORECASE,
)
_STAND_IN: Final = pattern(
    r"(?:none|null|nil|undefined|same-origin|include|omit|true|false|yes|no|ok|required|missing|empty|unset|redacted"
    r"|hidden|filtered|masked|scrubbed|removed|omitted|protected|sensitive|string|[*•x.]{2,80}|[<‹][^<>‹›]{0,80}[>›]"
    r"|\$\{[^{}]{0,80}\}?|\$\([^()]{0,80}\)?|(?-i:\$[A-Z_][A-Z0-9_]{0,60})|\$[0-9]{1,2}|\{\{[^{}]{0,200}\}?\}?|%s"
    r"|%\(\w{1,60}\)?s?|\?|your[-_ ][\w -]{1,40}|ENC\[.{0,4000}|\(?(?:sensitive(?: value)?\)?|known after apply\))"
    r"|[\w-]{0,8}(?:\.{3}|…|\*{3,40})\w{0,4}|:[a-z_]\w{0,60}|(?-i:@[a-z_]{1,20})|[\[(]redacted[\])]|="
    r"|(?:process\.)?env\.\w{1,60}|\w{1,60}EXAMPLE(?:KEY)?|[A-Za-z_-]{0,12}[-_]?x{6,80}|hooks\.\S{1,60}X{16,40})",
    re.IGNORECASE,
)


def is_stand_in(value: str) -> bool:
    """Whether it stands where a secret would: a placeholder, a variable, an example."""
    return _STAND_IN.fullmatch(value) is not None


_PLAIN_PART: Final = pattern(r"[A-Za-z]*[0-9]*|[0-9]{1,4}[a-z]{1,2}")
_PARTS: Final = pattern(r"[-/_.:@+=~()\[\]<>]")
_SYLLABLES: Final = pattern(r"[A-Z]{1,40}(?![a-z])|[A-Z]?[a-z]{1,40}")
_VOWEL: Final = pattern(r"[aeiouyAEIOUY]")
_SWITCH: Final = pattern(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])")


def _is_jumbled(value: str) -> bool:
    """Whether letters alone make no words: `VkKFRhccHFzl`, but not `GetUserById`."""
    if not 8 <= len(value) <= 200 or not value.isascii():
        return False
    parts = _SYLLABLES.findall(value)
    return len(parts) >= 4 and sum(_VOWEL.search(part) is None for part in parts) * 2 >= len(parts)


def drawn(value: str) -> bool:
    """Whether it looks drawn at random: letters and digits in disorder, not words, numbers, versions or dates."""
    if value.isalpha():
        return _is_jumbled(value)
    if len(value) < 6 or not any(map(str.isdigit, value)) or not any(map(str.isalpha, value)):
        return False
    return not all(_PLAIN_PART.fullmatch(part) for part in _PARTS.split(value))


def random(value: str) -> bool:
    """The same where nothing but a word before it speaks for a secret: not `v1alpha1`, not `base64url`."""
    if len(value) < 8 or not drawn(value):
        return False
    mixed = not (value.islower() or value.isupper())
    return mixed or (len(value) >= 10 and len(_SWITCH.findall(value)) >= 4)


def scrambled(value: str) -> bool:
    """The same where names and tags stand more often: letters of both sizes that make no words, and digits."""
    if not drawn(value) or value.islower() or value.isupper():
        return False
    parts = _SYLLABLES.findall(value)
    return sum(_VOWEL.search(part) is None for part in parts) * 3 >= len(parts) * 2


# Where something is to be found: a line of a file, a secret in a store; and what it is called there.
_ELSEWHERE: Final = pattern(
    r"[\w@./\\-]{1,200}\.[A-Za-z]{1,5}:[0-9]{1,6}(?::[0-9]{1,6})?:?|(?:op|ssm|awssm|gcpsm|keyring|secretref|azurekeyvault)"
    r"(?:\+\w{1,20})?://?[\w./ -]{1,200}|vault:[\w-]{1,60}/[\w./#-]{1,200}|file:/[\w./-]{1,200}"
    r"|env:[A-Z_]{2,60}|arn:aws[\w-]{0,12}:\S{1,400}"
)
_STORED: Final = pattern(
    r"(?:[a-z][a-z_-]{0,40}|[0-9]{1,12})(?:/(?:[a-z][a-z_-]{0,40}[0-9]{0,4}|[0-9]{1,12})){1,8}"
    r"|[a-z0-9.]{1,40}(?:-[a-z]{1,20}){0,3}-(?:tokens?|secrets?|credentials?|creds?|certs?|tls|keys?|passwords?)(?:-[a-z0-9]{1,12})?"
)


def is_elsewhere(value: str) -> bool:
    """Whether it says where something is: `src/auth.rs:12:9`, `op://Prod/db/password`."""
    return _ELSEWHERE.fullmatch(value) is not None


def names_a_secret(value: str) -> bool:
    """Whether it is what a secret is called where it is kept: `prod/billing/db`, `orders-db-password`."""
    return _STORED.fullmatch(value) is not None


# The words of a sentence, of which there is one in what a validator says.
_SENTENCE: Final = pattern(
    r"[^\W\d_]{1,24}(?:['’][a-z]{1,3})?[,:;]?"
    r"(?: (?:[^\W\d_]{1,24}(?:['’-][a-z]{1,12})?|[0-9]{1,4}(?:-[0-9]{1,4})?)[,:;.!]?){1,30}"
)
_SAYS_WRONG: Final = pattern(
    r"\b(?:match(?:es|ing)?|must|should|needs?|too|least|most|valid|invalid|blank|characters?|required?|fields?|contains?"
    r"|ensure|short(?:er)?|long(?:er)?|common|weak|empty|missing|digits?|letters?|incorrect|wrong|expected|expired|allowed"
    r"|accepted|is|are|be|the|not|no|do|does|cannot|has|have|enter|provide|choose|muss|zu|ist|doit|trop|est|debe|deve|moet)\b",
    re.IGNORECASE,
)


def says_whats_wrong(value: str) -> bool:
    """Whether it is a sentence about a secret: `must be at least 8 characters`."""
    return " " in value and _SENTENCE.fullmatch(value) is not None and _SAYS_WRONG.search(value) is not None


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
    return any(map(str.isdigit, value)) or _INNER_MARK.search(value) is not None or drawn(value)


# Other names, kinds of values and of logins, and what is said of a password rather than told.
_ABOUT: Final = pattern(
    r"(?:user(?:name)?|e?-?mail|name|login|logon|id|roles?|host(?:name)?|port|address|phone|database|types?|kind|bytes|binary|uuid"
    r"|date|file|path|url|uri|json|hash(?:es|ed)?|salt|confirm(?:ation)?|repeat|reset|change|errors?|status|state|message|current"
    r"|new|old|returned|exited|gave|expects?|arguments?|options?|flags?|prompt|stdin|env|environment|ask|plain|callback"
    r"|authorization|verification|mismatch|policy|protection|encrypted|clear|visible|toggle|submit|grant|flow|manager"
    r"|entry|complexity|strength|history|attempts?|provider|provided|entered|supplied|given|request|parameters?"
    r"|public[-_]?key|keyboard-interactive|gssapi\S{0,20}|hostbased|ldap|oauth2?|saml|oidc|jwt|kerberos|ntlm|local"
    r"|admin(?:istrator)?|root|guest|owner|viewer|editor|member|secure|data|on|off|case-(?:in)?sensitive|read-only|write-only"
    r"|plain-?text|base64-\w{1,10}|auto-\w{1,12}|non-\w{1,12})",
    re.IGNORECASE,
)
_PLACE: Final = pattern(
    r"\w{1,20}://|[a-z0-9-]{1,60}(?:\.[a-z0-9-]{1,60}){2,6}$|[\w.-]{1,60}\.(?:com|org|net|io|local|internal)$"
)
_ENDS: Final = "\"'.,;:!?"


def given(value: str) -> bool:
    """Whether it is a password where nothing else can stand, as before the `@` of an address: all but a stand-in and a
    bare word about one, which other texts are full of."""
    bare = value.strip(_ENDS)
    if value[:1] in "<{$(-[/@:%*=?.^\\" and not plausible(value[1:]):
        return False
    if len(bare) < 3 or not any(map(str.isalnum, bare)) or is_stand_in(value):
        return False
    word = PROSE.match(bare)
    is_prose = word is not None and word.end() == len(bare)
    return not (is_prose or _ABOUT.fullmatch(bare) or is_word_for_secret(bare))


def likely(value: str) -> bool:
    """Whether it may be a password where its place says that one stands: any word that is not about one."""
    bare = value.strip(_ENDS)
    if not given(value) or _PLACE.match(bare) or _ALGORITHM.match(bare) or says_whats_wrong(bare):
        return False
    if " " in bare:
        words = bare.split()
        return len(words) <= 8 and not any(map(PROSE.match, words))
    return not (is_secret_name(bare) or is_elsewhere(bare))
