"""Secrets in sentences: the name first, as validators and people say it, and the value a few words behind it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from failwell.model import pattern

from .assignments import Span, full_name
from .looks import PROSE, is_elsewhere, is_stand_in, likely, names_a_secret, plausible, random
from .secret_names import FOREIGN, PASSWORDS, folded

_NAME: Final = pattern(r"[\w$.\[\]/-]{2,200}+")
_CLOSERS: Final = {"'": "'", '"': '"', "`": "`", "«": "»", "“": "”", "[": "]", "‘": "’"}
# A validator's words about a value that it quotes, after the name of what it was sent for.
_QUOTES_IT: Final = pattern(
    r"[\"'`)»”]{0,2}+(?:[^\r\n\"'`«“.;!?\[]|[.;!?](?=[^\s])|(?<= )(?:'\w{1,20}+'|\[\w{1,20}+\])(?=[ ,])){0,100}?"
    r"(?:\b(?:value|got|received|input|but was|given|actual|returned)|,\swas)\b\s{0,2}(?:is\s|was\s|of\s)?"
    r"[:=]?\s{0,2}\(?(?P<quote>[\"'`«“‘\[])",
    re.IGNORECASE,
)
# Several words in quotes, right behind the name.
_TELLS_PHRASE: Final = pattern(
    r"(?:\s(?:is|was|of|tried|used|set|to)){0,2}:?\s(?P<quote>[\"'`])(?P<value>[^\s\"'`]{2,40}(?:\s[^\s\"'`]{2,40}){1,7})(?P=quote)"
)
_IS: Final = r"is|was|ist|war|es|est|est|était|era|fue|foi|é|är|var|jest|lautete?"
# The value itself, right behind the name, or a few words behind it.
_TELLS_IT: Final = pattern(
    r"[\"'`)]{0,2}+,?:?(?:\s(?:you|we|I|tried|sent|entered|provided|given|supplied|used|has|been|set|changed|reset|to|from|now"
    rf"|not|valid|invalid|found|rejected|expired|unknown|value|contains|equals|incorrect|wrong|falsch|{_IS})){{0,4}}"
    r"(?:\s?:)?\s{1,2}(?P<quote>[(\"'`“«„‘\[]{0,2})(?:(?<=«)[\s\u202f])?(?P<value>[^\s\"'`()“”«»’]{3,400})",
    re.IGNORECASE,
)
# Some words about it, and then the value: `password for new user lars is …`, `API key you supplied (…)`.
_TELLS_LATER: Final = pattern(
    r"[\"'`)]{0,2}+(?:\s(?:for|of|to|in|on|at|from|para|für|voor|pour|von|van|de"
    r"|(?P<yours>you|we|I|(?:that|which)(?!\smatch)|configured|supplied|provided|given|sent|used|set)))"
    r"(?:\s[\w@'\"`/+\\-]{1,40}+(?:\.[\w@-]{1,40}){0,4}+){0,8}?"
    rf"(?:(?P<then>:)[ \t]|\s(?P<is>(?:set|changed|reset|updated|rotated)\sto|{_IS})(?:\s(?:now|set\sto))?:?\s"
    r"|\s?\(|,\s)[\"'`(“«]{0,2}(?=[^\s\"'`()]{0,80}[0-9@#$%^&!+~*])(?P<value>[^\s\"'`()“”«»,]{6,400})",
    re.IGNORECASE,
)
_COUNTED: Final = pattern(r"\s(?:characters?|chars|letters|digits|bytes|bits)\b")
# Another setting, the address of somebody, the number of a key.
_OTHER: Final = pattern(
    r"[A-Za-z_.-]{2,40}[=(].{0,400}|[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,6}|0x[0-9a-fA-F]{8,40}|[0-9A-F]{8,64}|[0-9a-f]{40}"
)
_PARSER: Final = ("=", "undefined ", "unexpected ", "expected ", "next ", "missing ", "no ", "lexer ")
# Of these nobody sends a word, unless it is the name of a kind.
_NO_WORDS: Final = ("bearer", "token", "auth", "authorization", "jwt")
# Names of what people say to each other.
_SPOKEN: Final = (*PASSWORDS, *(folded(word).casefold() for word in FOREIGN), "mot de passe", "fi key", "psk")


def said(text: str, is_secret: Callable[[str], bool]) -> Iterator[Span]:
    """The values that a text tells of secret names in its sentences."""
    for found in _NAME.finditer(text):
        end = found.start() + len(found[0].rstrip("./[]-"))
        name = full_name(text, found.start(), end)
        if not is_secret(name):
            continue
        lower = name.lower()
        if quoted := _QUOTES_IT.match(text, end):
            start, line = quoted.end(), text.find("\n", end, quoted.end() + 400)
            stop = text.find(_CLOSERS[quoted["quote"]], start, line if line >= 0 else start + 400)
            value = text[start:stop].strip()
            kind = lower.endswith(_NO_WORDS) and value.isalpha() and len(value) < 12
            if stop > start and not kind and _may_be(value, is_secret):
                yield Span(start, stop, True)
        spoken = folded(name).casefold().rstrip("s").endswith(_SPOKEN)
        phrase = _TELLS_PHRASE.match(text, end) if spoken else None
        if phrase and likely(phrase["value"]):
            yield Span(*phrase.span("value"), True)
        elif not text[max(0, found.start() - 12) : found.start()].lower().endswith(_PARSER):
            yield from _told(_TELLS_IT.match(text, end), lower, spoken)
        later = _TELLS_LATER.match(text, end)
        if later and (later["is"] or later["yours"] or later["then"]):
            yield from _told(later, lower, bool(later["is"] or later["then"]) and spoken)


def _told(told: re.Match[str] | None, name: str, spoken: bool) -> Iterator[Span]:
    if told is None:
        return
    value = told["value"].rstrip(".,;:!?]")
    looks = (spoken and plausible(value)) or random(value.lstrip("$@:%"))
    kept = name.endswith(("secret", "secrets")) and names_a_secret(value)
    other = kept or is_elsewhere(value) or _OTHER.fullmatch(value) or _COUNTED.match(told.string, told.end())
    if looks and not other and not is_stand_in(value):
        yield Span(told.start("value"), told.start("value") + len(value), True)


def _may_be(value: str, is_secret: Callable[[str], bool]) -> bool:
    """Whether what stands where a secret would is no word about one, no stand-in, and no name of one."""
    if not any(map(str.isalnum, value)) or is_stand_in(value) or is_secret(value):
        return False
    word = PROSE.match(value)
    return not (value.isdigit() and len(value) < 3) and (word is None or (word.end() < len(value) and " " not in value))
