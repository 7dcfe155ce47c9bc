"""Secrets in sentences: what validators and people say about one, with the name and the value in any order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from failwell.model import pattern

from .looks import is_elsewhere, likely, names_a_secret, plausible, random, thought_up
from .neighbours import IsSecret, may_be
from .secret_names import FOREIGN_FOLDED, PASSWORDS, folded
from .values import Span, full_name

_NAME: Final = pattern(r"[\w$.\[\]/-]{2,200}+")
# What a validator puts behind the name: which of its rules was broken.
_KEYWORD: Final = pattern(r"[/.](?:minLength|maxLength|pattern|format|type|enum|const)$")
_CLOSERS: Final = {"'": "'", '"': '"', "`": "`", "«": "»", "“": "”", "[": "]", "‘": "’"}
# A validator's words about a value that it quotes, after the name of what it was sent for.
_QUOTES_IT: Final = pattern(
    r"[\"'`)»”]{0,2}+(?:[^\r\n\"'`«“.;!?\[]|[.;!?](?=[^\s])|(?<= )(?:'\w{1,20}+'|\[\w{1,20}+\])(?=[ ,])){0,100}?"
    r"(?:\b(?:value|got|received|input|but was|given|actual|returned|cannot hold)|,\swas)\b\s{0,2}(?:is\s|was\s|of\s)?"
    r"[:=]?\s{0,2}\(?(?:(?P<quote>[\"'`«“‘\[])|(?=[A-Za-z_.-]{0,60}[0-9@#$%^&!+~*])(?P<bare>[\w@#$%^&!+~*.-]{6,200}))",
    re.IGNORECASE,
)
# The value itself, right behind the name, or a few words behind it.
_TELLS_IT: Final = pattern(
    r"[\"'`)]{0,2}+(?:(?P<aside>,)|:?)(?:\s(?:you|we|I|tried|sent|entered|provided|given|supplied|used|has|been|set|changed|reset|to|from|guess|now|is|was|not"
    r"|definitely|really|still|certainly|actually|just|probably|simply|surely|exactly"
    r"|valid|invalid|found|rejected|expired|unknown|value|contains|holds|equals"
    r"|lautete?|ist|war|es|est|était|era|fue|foi|é|är|var|jest|"
    r"incorrect[ao]?|incorreta|wrong|falsch|inv[aá]lid[ao]|err[oó]ne[ao]|erron[ée]e?|errat?[ao]|errada|sbagliat[ao]|equivocad[ao]|fout|błędne"
    r"|de acceso)){0,4}"
    r"(?:\s?:)?\s{1,2}(?P<quote>[(\"'`“«„‘\[]{0,2})(?:(?<=«)[\s\u202f])?(?P<value>[^\s\"'`()“”«»’]{3,400})",
    re.IGNORECASE,
)
# Several words in quotes, right behind the name.
_TELLS_PHRASE: Final = pattern(
    r"(?:\s(?:is|was|of|tried|used|set|to)){0,2}:?\s(?P<quote>[\"'`])(?P<value>[^\s\"'`]{2,40}(?:\s[^\s\"'`]{2,40}){1,7})(?P=quote)"
)
# And before the name.
_QUOTED_BEFORE: Final = pattern(
    r"(?P<said>\b(?:value|input)[:=]?\s{1,2})?\(?(?P<quote>[\"'`])(?P<value>[^\"'`\r\n]{1,120})(?P=quote)\)?"
    r"(?:\s\([^()\r\n]{1,40}\))?\s(?:(?P<valid>(?:is|was)\s(?:not\s)?(?:an?\s)?(?:in)?valid(?:\sfor)?)|(?:for|at|in|as|of|on)(?:\s(?:the|a|your))?"
    r"(?:\s(?:field|parameter|argument|property|key|attribute|option|header|path|column|variable|setting))?)\s[\"'`(]?$"
    r"|(?P<mark>[\"'`])(?P<aside>[^\"'`\r\n]{1,120})(?P=mark)[^\"'`()\r\n]{0,60}\s\((?:(?:field|parameter|argument|option"
    r"|column|variable|setting|key)(?::?\s|=))?[\"'`]?$"
    r"|\bvalue\s(?P<plain>[^\s\"'`()]{4,120})\s(?:for|of)\s(?:(?:the|configuration|config|option|property|parameter|setting"
    r"|argument|field|key|variable)\s){1,2}[\"'`]?$",
    re.IGNORECASE,
)
# Some words about it, and then the value: `password for new user lars is …`, `API key you supplied (…)`.
_TELLS_LATER: Final = pattern(
    r"[\"'`)]{0,2}+(?::\sthe|\s(?:for|of|to|in|on|at|between|from|para|für|voor|pour|von|van|de"
    r"|(?P<yours>you|we|I|(?:that|which)(?!\smatch)|configured|supplied|provided|given|sent|used|set)))(?:\s[\w@'\"`/+\\-]{1,40}+(?:\.[\w@-]{1,40}){0,4}+){0,8}?"
    r"(?:(?P<then>:)[ \t]|\s(?P<is>is|was|(?:set|changed|reset|updated|rotated)\sto|ist|war|lautete?|est|était"
    r"|es|era|fue|foi|jest|är|var|é)"
    r"(?:\s(?:now|set\sto))?:?\s"
    r"|\s?\(|,\s)[\"'`(“«]{0,2}(?=[^\s\"'`()]{0,80}[0-9@#$%^&!+~*])(?P<value>[^\s\"'`()“”«»,]{6,400})",
    re.IGNORECASE,
)
_TOLD_BEFORE: Final = pattern(
    r"(?:^|(?<=[\s\"'`(“«]))(?P<value>[^\s\"'`()“”«»]{8,400}+)[\"'`)”»]{0,2}"
    r"(?:\s(?:is|was|were|as|has\sbeen|when|isn't|wasn't)\s|(?P<aside>:\s|(?<=:)\s|\s(?=\()))"
    r"(?:(?:also|tried|used|sent|given|as|the|an?|your|my|our|his|her|their|not|no|too|weak|valid|invalid|fallback|default|new|old"
    r"|current|wrong|right|correct|incorrect|expired|revoked|unknown|api|access|secret|auth|bearer|still|longer|initial|temporary"
    r"|short|common|supplied|provided|rejected|accepted|allowed|permitted|set|for|asked|prompted|one-time|admin|root|client|signing"
    r")\s){0,7}[\"'`(]?$",
    re.IGNORECASE,
)
# Then the name begins another part of the sentence.
_GOES_ON: Final = pattern(r"\s(?:is|was|are|were|has|have|does|did|must|can|cannot|could|may|will)\b")
# And more of the same kind.
_ANOTHER: Final = pattern(r"[\"'`)]?(?:\s(?:to|and|or)|,(?:\s(?:and|or))?)\s[\"'`(]?(?P<value>[^\s\"'`()“”«»,]{6,400})")
# The address of somebody, or of an account that everybody may see.
_OTHER: Final = pattern(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,6}|0x[0-9a-fA-F]{40}")
# Names of what people say to each other, and words behind a number that make it a rule: `8-64 characters`.
_SPOKEN: Final = (
    *PASSWORDS,
    *FOREIGN_FOLDED,
    "mot de passe",
    "wifi key",
    "fi key",
    "psk",
    "shared key",
    "shared-key",
)
_PAIRED: Final[dict[str, str | tuple[str, ...]]] = {**_CLOSERS, "„": ("“", "”"), "(": ")"}
_WRITTEN: Final = (*PASSWORDS, "pass", "pw", "secret")
# Of these nobody sends a word, unless it is the name of a kind.
_NO_WORDS: Final = ("bearer", "token", "auth", "authorization", "jwt")
_HUMP: Final = pattern(r"[a-z][A-Z]")
_BLAMES: Final = pattern(
    r"\s{1,2}(?:was|is|has\sbeen|ist|är|jest|est|es|é|è|war|wurde)\s(?:not\s|no\s|non\s|nicht\s|niet\s|inte\s)?"
    r"(?:accepted|valid|correct|right|rejected|refused|invalid|incorrect|wrong|denied|onjuist|ongeldig|fel|felaktigt|nieprawid|falsch"
    r"|ungültig|abgelehnt|erron|sbagliat|errat|válid|inválid)",
    re.IGNORECASE,
)
# What was wrong, a colon, the value, and the end of that.
_WRONGLY: Final = pattern(r"[^:]{0,40}\b(?:in)?(?:correct|wrong|falsch|v[aá]lid|errat|fel)[aeo]?\s?:\s", re.IGNORECASE)
_ENDS: Final = pattern(r"[.,;!]?(?:\s?\(|\s{0,2}$|\s{0,2}[\r\n])")
_WITH: Final = ("with ", "using ", "with the ", "using the ", "tried ", ", ")
_SAYS: Final = pattern(r"[\"'`)]{0,2}:?\s(?:is|was|lautete?|ist|war|changed|set|reset)\b", re.IGNORECASE)
_COMPOSED: Final = pattern(
    r"(?!(?:non|auto|pre|re|un|self|no|not|too|one|multi|single|read|write|plain|case|base64|hex|user|system|server|client|long|short|well"
    r"|out|up|in|left|time|per|pass|sub|cross|hard|clear|role|rate|two)[-_])"
    r"(?![a-z]{2,20}[-_](?:only|sensitive|insensitive|encoded|protected|generated|based|less|length|time|out|in|up|free|empty|required"
    r"|set|type|level|supplied|provided|defined|specific|related|change|reset|hash|policy|file|stdin|command|store|manager|field|code"
    r"|expired|locked|text|string)$)[a-z]{2,20}(?:[-_][a-z0-9]{1,20}){1,6}",
    re.IGNORECASE,
)
_BLAMED: Final = ("wrong ", "incorrect ", "bad ", "invalid ", "old ", "rejected ")
_A_SENTENCE: Final = pattern(r"\s(?:characters?|chars|letters|digits|bytes|bits)\b")
_SETTING: Final = pattern(r"[A-Za-z_.-]{2,40}[=(]")
_HEX: Final = pattern(r"0x[0-9a-fA-F]{8,40}|[0-9A-F]{8,64}|[0-9a-f]{40}")
_SPOKEN_OF: Final = ("=", "undefined ", "unexpected ", "expected ", "next ", "missing ", "no ", "lexer ")


def sentences(text: str, is_secret: IsSecret) -> Iterator[Span]:
    """What validators and others say about a secret: the name, a few words, and the value, in any order."""
    for found in _NAME.finditer(text):
        bare = _KEYWORD.sub("", found[0].rstrip("./[]-"))
        end = found.start() + len(bare)
        name = full_name(text, found.start(), end)
        if not is_secret(name):
            continue
        if quoted := _QUOTES_IT.match(text, end):
            if quoted["bare"]:
                shown = quoted["bare"].rstrip(".,;:!?")
                span = Span(quoted.start("bare"), quoted.start("bare") + len(shown), plausible(shown))
            else:
                span = Span(quoted.end(), _closing(text, quoted.end(), _CLOSERS[quoted["quote"]]), True)
            held = text[span.start : span.end]
            kind = name.lower().endswith(_NO_WORDS) and held.isalpha() and len(held) < 12
            if span.quoted and span.end > span.start and not kind and may_be(text, span, is_secret):
                yield span
        before = text[max(0, found.start() - 12) : found.start()].lower()
        told = _TELLS_IT.match(text, end)
        phrase = _TELLS_PHRASE.match(text, end) if _is_spoken(name) else None
        if phrase and likely(phrase["value"]):
            yield Span(*phrase.span("value"), True)
        elif told and not before.endswith(_SPOKEN_OF):
            spoken = (_is_spoken(name) or _is_written(name)) and not told["aside"]
            yield from _told(told, name, spoken, _is_quoted(told, name) or _is_blamed(told, before, name))
        later = _TELLS_LATER.match(text, end)
        if later and (later["is"] or later["yours"] or later["then"]):
            yield from _told(later, name, (later["is"] or later["then"]) is not None and _is_spoken(name))
        begin = max(0, found.start() - 220)
        if asked := _QUOTED_BEFORE.search(text[begin : found.start()]):
            group = next(each for each in ("value", "aside", "plain") if asked[each])
            span = Span(begin + asked.start(group), begin + asked.end(group), True)
            sure = asked["said"] or (asked["valid"] and not name.lower().endswith("token"))
            if (sure or plausible(asked[group])) and may_be(text, span, is_secret):
                yield span
        elif (asked := _TOLD_BEFORE.search(text[begin : found.start()])) and not _GOES_ON.match(text, end):
            value = asked["value"].rstrip(".,;:!?")
            # After a colon only what is said about the name makes a sentence: `…: invalid token`.
            said = not asked["aside"] or (len(value) > 15 and asked.string[asked.end("aside") :].strip("\"'`") != "")
            if said and random(value) and not _is_other(value, name):
                yield Span(begin + asked.start("value"), begin + asked.start("value") + len(value), True)


def _told(told: re.Match[str], name: str, spoken: bool, sure: bool = False) -> Iterator[Span]:
    """The value that a sentence tells, and others in a row with it; any word is one where the sentence is `sure`."""
    following: re.Match[str] | None = told
    for _ in range(20):
        if following is None:
            return
        value = following["value"].rstrip(".,;:!?]")
        looks = (spoken and (plausible(value) or (sure and likely(value)))) or random(value.lstrip("$@:%"))
        if not looks or _is_other(value, name) or _A_SENTENCE.match(told.string, following.end()):
            return
        start = following.start("value")
        yield Span(start, start + len(value), True)
        following = _ANOTHER.match(told.string, start + len(value))


def _is_quoted(told: re.Match[str], name: str) -> bool:
    """Whether the value is all that stands in the quotes; in brackets a word may be about it."""
    mark, end = told["quote"], told.start("value") + len(told["value"].rstrip("]"))
    closed = mark in _PAIRED and told.string[end : end + 2].lstrip().startswith(_PAIRED[mark])
    # A backslash makes the mark part of the value.
    if not closed or told["value"][-1] == "\\":
        return False
    return (
        mark not in "[(" or _is_composed(told["value"].rstrip("]")) or (_is_written(name) and thought_up(told["value"]))
    )


def _is_composed(value: str) -> bool:
    """Whether it is put together from words as nobody does in a sentence: `ruby-tuesday`, but not `case-sensitive`."""
    return _COMPOSED.fullmatch(value.rstrip(".,;:!?")) is not None


def _is_blamed(told: re.Match[str], before: str, told_of: str) -> bool:
    """Whether the sentence says that it was the wrong one: `wrong password (x)`, `the password x was rejected`."""
    if told["quote"]:
        return before.endswith(_BLAMED)
    if _is_written(told_of) and _SAYS.match(told[0]):
        return thought_up(told["value"])
    if _WRONGLY.match(told[0]) and _ENDS.match(told.string, told.end()):
        return thought_up(told["value"])
    if _is_composed(told["value"]) and (before.endswith(_WITH) or _SAYS.match(told[0])):
        return True
    return told.end("value") - told.start("value") > 5 and _BLAMES.match(told.string, told.end()) is not None


def _is_written(name: str) -> bool:
    """Whether it is a name that nobody says: `vault_db_pass`, `dbPassword`."""
    return ("_" in name.strip("_") or _HUMP.search(name) is not None) and name.lower().endswith(_WRITTEN)


def _is_spoken(name: str) -> bool:
    return folded(name).casefold().rstrip("s").endswith(_SPOKEN)


def _is_other(value: str, name: str) -> bool:
    """Whether it is another setting, the number of a key, which is no key, an address, or a place."""
    number = name.lower().endswith("key") and _HEX.fullmatch(value)
    kept = name.lower().endswith(("secret", "secrets")) and names_a_secret(value)
    return bool(_SETTING.match(value) or number or kept or _OTHER.fullmatch(value)) or is_elsewhere(value)


def _closing(text: str, start: int, mark: str) -> int:
    line = text.find("\n", start, start + 400)
    return text.find(mark, start, line if line >= 0 else start + 400)
