"""What a name is set to: where the value begins and ends, and whether it can be a secret at all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from failwell.model import pattern

from .assignments import COLOUR, PLACEHOLDER, PROSE
from .looks import (
    COOKIE_ATTRIBUTE,
    drawn,
    is_elsewhere,
    is_stand_in,
    likely,
    names_a_secret,
    plain_cookies,
    plausible,
    random,
    says_whats_wrong,
)
from .secret_names import is_loose_key, is_secret_name, masks_numbers


class Span(NamedTuple):
    """A value without its quotes: where it is, and whether it had any."""

    start: int
    end: int
    quoted: bool


# What may stand between operator and value: a dash, a type, a wrapper, the letters before quotes.
_BEFORE: Final = (
    r"-\s{1,4}|string\(\d{1,6}\)\s{1,3}|\[\]\w{1,20}(?=\{)"
    # A cast, a type, or an address, as debuggers and dumps put it before a text.
    r"|\([\w *.=]{1,30}\)\s{1,3}(?=[(\"'])|(?:chr|string|0x[0-9a-f]{4,16})\s(?=[\"'])"
    r"|(?:[A-Z][\w.:<>]{0,60}|str|bytes|secret)\((?=\s{0,40}[\w.:]{0,60}[(\"'])|[bruBRUNfF]{1,2}(?=[\"'])"
    r"|[*&]{1,2}(?=[\"'])|<<(?=\")"
)
_PREFIX: Final = pattern(rf"(?:{_BEFORE}){{0,4}}")
# In YAML an anchor or a tag, too, unless another assignment follows: then it is the value itself.
_TAGGED: Final = pattern(
    r"(?:&(?P<anchor>\w{1,40})|!{1,2}(?P<tag>[\w/-]{1,30}))\s{1,3}+(?![\w.-]{1,60}(?:=|:\s))(?:[|>][-+]?\s{1,20})?"
)
# Tags of YAML that say where the value is to be found.
_REFERENCES: Final = frozenset("ref getatt importvalue vault env env_var secretref reference include".split())
_ITEM_PREFIX: Final = pattern(rf"(?:{_BEFORE}|(?:&\w{{1,40}}|!{{1,2}}[\w/-]{{1,30}})\s{{1,3}}(?=[\"'])){{0,4}}")
_OPENING: Final = pattern(r"[\[({]\s{0,20}")
_COLON: Final = pattern(r"\s{0,3}(?::|=>)\s{0,20}")
_COMMA: Final = pattern(r"\s{0,20},\s{0,20}")
_PLAIN_ITEM: Final = pattern(r"[^,{}\[\]()\"'\r\n]{1,60}")
_QUOTE: Final = pattern(
    r"\\{1,7}[\"']|\\u002[27]|\\x2[27]|&quot;|&#(?:3[49]|x2[27]);|%2[27]|\"\"\"|'''"
    r"|''(?=[^\s',;)}\]])|\"\"(?=[^\s\",;:)}\]])|[\"'“`„«»「『‘‚＂´]"
)
_CLOSING: Final = {
    "“": "”", "„": "“”", "«": "»", "»": "«", "「": "」", "『": "』", "‘": "’", "‚": "‘’", "＂": "＂", "´": "´",
}  # fmt: skip
_INNER: Final = {
    mark: re.compile(
        rf"((?:[^{mark}\\\r\n]|\\.){{0,4000}})(?:{mark}|((?:\\?\r?\n[^{mark}\r\n]{{0,400}}){{1,4}}){mark})?"
    )
    for mark in "\"'`"
}
_BRACED: Final = pattern(r"\{([^{}\"'\r\n]{1,400})\}|\[([^\[\]\"'\r\n]{1,400})\]")
_MASKED: Final = r"\[redacted\]"
_CHARACTERS: Final = r"[^\s\"',;&<>)}\]\[]{0,4000}(?:\[(?:redacted\])?[^\s\"',;&<>)}\]\[]{0,400}){0,20}"
# An ampersand begins the next parameter or an escape, or else it is part of the value.
_AMPERSAND: Final = r"&(?=[\w!@#$%^*+/?~.-])(?![\w.%-]{1,60}[\"']?\s?[=:;&])"
_BARE: Final = pattern(rf"(?:[^\s\"',;&<>)}}\]\[{{]|{_AMPERSAND}){_CHARACTERS}")
# A comma or a bracket ends a value, unless more of it follows at once that is not another assignment. A backslash at
# the end of a line does not.
_PARTED: Final = r"[,;)}\]]{1,2}(?=[\w!@#$%^*+/?])(?![\w.%-]{1,60}[\"']?\s?[=:])|(?<=\\)\r?\n\s{0,20}"
_MORE_IN_QUERY: Final = pattern(rf"(?:(?:{_PARTED})[^\s\"',;&<>)}}\]]{{1,400}}){{1,8}}")
_MORE: Final = pattern(rf"(?:(?:{_PARTED}|{_AMPERSAND})[^\s\"',;&<>)}}\]]{{1,400}}){{1,8}}")
# What was masked by its looks before its name was read, and more of the same value after it.
_GLUED: Final = pattern(rf"{_MASKED}(?=[\w%.+/=~-]{{1,8}}(?:(?<=[^\W_])|[^\W_]|{_MASKED}))[\w%.+/=~-]{_CHARACTERS}")
# What a token goes on with, if a rule has looked at no more than so many characters.
_REST: Final = pattern(r"(?<=[\w+/=~-])(?:[\w+/=~-]|\.(?=\w)|%(?:2[BbFf]|3[Dd]))*")
_REST_OF_MARKED: Final = pattern(r"(?:[\w-]{1,}(?:\.[\w-]{1,})*)?(?:%(?:2[BbFf]|3[Dd])[\w+/=-]*)*")
_COLOUR: Final = pattern(COLOUR)
_CHANGE: Final = pattern(r"[\"']\s{1,3}(?:[-=]>|→)\s{1,3}(?=[\"'])")
# What follows on the next line when a long value was folded.
_FOLDED: Final = pattern(r"\\?\r?\n[ \t>|]{0,20}([A-Za-z0-9+/_=.-]{6,200})(?=[\"'\s]|$)")
# The words of a schema: what stands here says what a value must be.
_SCHEMA: Final = frozenset(
    "type format minLength maxLength pattern enum title description required default writeOnly readOnly nullable "
    "examples items properties additionalProperties anyOf oneOf allOf $ref const min max loc msg".split()
)


# The next one of a list that has a line for each.
_NEXT_ITEM: Final = pattern(r"[\"'`]?[ \t]{0,8}\r?\n[ \t]{0,40}-\s{1,4}(?=[^\s-])(?![\w.-]{1,60}:(?:\s|$))")
_MOST_ITEMS: Final = 50


def spans(text: str, at: int, op: str = "", query: bool = False) -> list[Span]:
    """The stretches of `text` that make up the value which begins at `at`, after `op`."""
    found = _spans(text, at, op, query)
    if text[at : at + 2] == "- " and "\n" in op:
        while found and len(found) < _MOST_ITEMS and (item := _NEXT_ITEM.match(text, found[-1].end)):
            more = _spans(text, item.end(), op, query)
            if not more:
                break
            found += more
    return found


def _spans(text: str, at: int, op: str, query: bool) -> list[Span]:
    if glued := _GLUED.match(text, at):
        return [Span(at, glued.end(), True)]
    begin, at = at, _prefixed(text, at)
    tagged = _TAGGED.match(text, at) if ":" in op else None
    if tagged and (tagged["tag"] or "").lower() in _REFERENCES:
        return []
    if tagged and not drawn(tagged["anchor"] or tagged["tag"]):
        at = _prefixed(text, tagged.end())
    if at > begin and text[at - 1] == "(":
        # A wrapper may hold more than one text.
        return list(_items(text, at - 1))
    if (code := _CODE.match(text, at)) and text[code.end() - 1] == "(":
        # What a call is given, where that looks like a secret.
        return [span for span in _items(text, code.end() - 1) if drawn(text[span.start : span.end])]
    if text[at : at + 1] in ("[", "(", "{"):
        found = list(_items(text, at))
        if found or _QUOTE.match(text, _inside(text, at)):
            return found
        if braced := _BRACED.match(text, at):
            return [Span(*braced.span(braced.lastindex or 0), False)]
    string = _string(text, at)
    if string is None:
        bare = _BARE.match(text, at)
        if bare is None:
            return []
        goes_on = _MORE_IN_QUERY if query else _MORE
        more = None if PLACEHOLDER.fullmatch(bare[0]) else goes_on.match(text, bare.end())
        end = folded_end(text, more.end() if more else bare.end())
        colour = _COLOUR.search(text, at, end)
        return [Span(at, colour.start() if colour else end, False)]
    start, end, _ = string
    found = [Span(start, end, True)] if end > start else []
    if change := _CHANGE.match(text, end):
        found += spans(text, change.end(), op, query)
    return found


def _prefixed(text: str, at: int, prefix: re.Pattern[str] = _PREFIX) -> int:
    found = prefix.match(text, at)
    return found.end() if found else at


def _inside(text: str, at: int) -> int:
    opening = _OPENING.match(text, at)
    return _prefixed(text, opening.end() if opening else at, _ITEM_PREFIX)


def _items(text: str, at: int) -> Iterator[Span]:
    """The texts in a list, or the texts an object holds, unless it is a schema that describes them."""
    at = _inside(text, at)
    for _ in range(50):
        string = _string(text, at)
        if string is None:
            return
        start, end, after = string
        if colon := _COLON.match(text, after):
            if text[start:end] in _SCHEMA:
                return
            at = _prefixed(text, colon.end(), _ITEM_PREFIX)
            number = None if _QUOTE.match(text, at) else _PLAIN_ITEM.match(text, at)
            start, end, after = _string(text, at) or (at, at, number.end() if number else at)
        if end > start:
            yield Span(start, end, True)
        comma = _COMMA.match(text, after)
        if comma is None:
            return
        at = _prefixed(text, comma.end(), _ITEM_PREFIX)


def _string(text: str, at: int) -> tuple[int, int, int] | None:
    """Where a quoted text begins and ends without its quotes, and where it ends with them."""
    quote = _QUOTE.match(text, at)
    if quote is None:
        return None
    mark, start = quote[0], quote.end()
    if inner := _INNER.get(mark):
        found = inner.match(text, start)
        if found is None:
            return None
        end = found.end(2) if found[2] else found.end(1)
        return start, end, found.end()
    if closers := _CLOSING.get(mark):
        line = text.find("\n", start, start + 4000)
        stop = line if line >= 0 else start + 4000
        end = min((at for each in closers if (at := text.find(each, start, stop)) >= 0), default=-1)
        return None if end < 0 else (start, end, end + 1)
    closing = mark
    end = text.find(closing, start, start + 4000)
    # Of quotes inside quotes each has one more backslash than the ones around it.
    while end > 0 and mark[0] == "\\" and text[end - 1] == "\\":
        end = text.find(closing, end + 1, start + 4000)
    if end < 0:
        newline = text.find("\n", start, start + 4000)
        end = newline if newline >= 0 else min(len(text), start + 4000)
        return start, end, end
    return start, end, end + len(closing)


def token_end(text: str, end: int, marked: bool = False) -> int:
    """Where a token really ends that a rule with a bound has found up to `end`."""
    rest = (_REST_OF_MARKED if marked else _REST).match(text, end)
    return rest.end() if rest else end


def folded_end(text: str, end: int) -> int:
    """Where a value really ends that was folded over lines of a fixed width."""
    for _ in range(100):
        more = _FOLDED.match(text, end)
        if more is None or not drawn(more[1]):
            return end
        end = more.end(1)
    return end


# Words that say what something is only together with the word before them.
_NEEDS_MORE: Final = frozenset(
    "key keys code codes passe sandi khẩu phrase id signature seed api string kod secreta secrète secrete المرور "
    "السر passcode".split()
)
_WORDS_BEFORE: Final = pattern(r"(?:(?!(?:with|use|uses|is|has) )[^\W_][\w-]{0,19} ){1,2}$")


def full_name(text: str, start: int, end: int) -> str:
    """The name between two places, with the words before it where it is no name without them: `API key`."""
    name = text[start:end]
    if name.isdigit() or name.lower() in _NEEDS_MORE:
        before = _WORDS_BEFORE.search(text[max(0, start - 42) : start])
        name = before[0] + name if before else name
    return name


_WORD: Final = pattern(r"[^\W\d_]{1,40}|[0-9]{1,3}(?:-[0-9]{1,3}|\+)?")
_SETTING: Final = pattern(r"[a-z_]{2,40}=[^=]")
_PARSED: Final = ("unexpected ", "undefined ", "expected ", "next ")
_ABOUT: Final = ("undefined ", "unexpected ", "invalid ", "missing ", "expected ", "unknown ", "bad ", "next ")
_SIGNED: Final = pattern(r"sig(?:nature)?$|token$|hmac$", re.IGNORECASE)
_REMARK: Final = pattern(r"\([a-z]{2,20}(?: [a-z]{2,20}){0,6}\)")
_MECHANISM: Final = pattern(
    r"(?:plain|login|none|basic|digest|ntlm|gssapi|external|anonymous|cram-md5|xoauth2|oauth2?|scram-[\w-]{1,20})",
    re.IGNORECASE,
)
_PATH: Final = pattern(r"[/~]|[A-Za-z]:\\")
_VERSION: Final = pattern(r"[0-9]{1,4}(?:\.[0-9x*]{1,4}){1,4}")
_OF_A_BOARD: Final = pattern(r"(?:GPIO|[A-Z]{1,2})_?[0-9]{1,2}")
_COUNT: Final = pattern(r"[0-9]{1,6}%?")
_OF_DIGITS: Final = ("pin", "otp", "cvv", "cvc")
# What a permission may be for: `secret:write`.
_SCOPE: Final = pattern(
    r"(?:read|write|list|get|create|delete|update|manage|view|edit|show|diff|fetch|inherit|(?:read|write)-all)"
)
_SYMBOL: Final = pattern(r"[A-Z][A-Z_]{1,30}")
# Code that gets a value from elsewhere: a call, an index, a keyword.
_CODE: Final = pattern(
    r"(?:await|new|yield|lambda|typeof|function)(?=\s)|(?:raise|return|break|continue|throw)(?=[\s;]|$)"
    r"|[A-Za-z_]\w{0,40}(?:(?:\.|::|->)[A-Za-z_]\w{0,40}){0,6}(?:\((?=[\"')\w:])|\[(?=[\"']|\w{1,20}[\],]))"
)
_ATTRIBUTE: Final = pattern(r"[A-Za-z_]{1,40}(?:\.[A-Za-z_]{1,40}){1,6}")
_IDENTIFIER: Final = pattern(r"[A-Za-z_]{1,60}")
_TUPLE: Final = pattern(r"\([A-Za-z_.]{1,60}, ?(?:[A-Za-z_.]{0,60}[._])?pass(?:word|wd)?\)", re.IGNORECASE)
_TYPES: Final = ("&str", "&String", "&[u8", "[]byte")
_NAMES: Final = pattern(r"\s{0,8}[A-Za-z_]{1,60}(?:,\s{0,8}[A-Za-z_]{1,60}){1,20}\s{0,8}")


def harmless(match: re.Match[str], span: Span) -> bool:
    """Whether what stands after a secret's name is no secret: a word about it, a stand-in, or code."""
    text = match.string
    name, op, shown = match["name"], match["op"], text[span.start : span.end]
    value = shown.strip("\\\"'{}")
    if (
        not value
        or value[0] == "…"
        or is_stand_in(value.rstrip("[!"))
        or is_stand_in(shown)
        or shown.strip("([{}])") == "redacted"
    ):
        return True
    if len(value) < 6 and not any(map(str.isalnum, value)):
        return True
    if ("==" in op and _VERSION.fullmatch(value)) or ("(" in op and value.isalpha() and value.isupper()):
        # What a package is pinned to, and what a parser calls a token.
        return True
    if not span.quoted and "\n" in op and shown[-1] == ":":
        # The first name in a block of its own.
        return True
    lower = name.lower()
    if (span.quoted and (says_whats_wrong(value) or _is_prompt(match, span))) or is_elsewhere(value):
        return True
    if not span.quoted and not value.isascii() and not any(each.isascii() and each.isalnum() for each in value):
        # A word of another script, in a sentence about the secret.
        return True
    if match["lead"] and not is_secret_name(name) and not _SIGNED.search(name):
        # In a query `key` and `code` are often words: only what looks drawn at random is a secret.
        return not random(value) and (len(value) < 16 or not (drawn(value) or value.isdigit()))
    if lower.endswith("cookie") and (COOKIE_ATTRIBUTE.match(value) or plain_cookies(value)):
        return True
    if lower.lstrip("- ") == "pass" and (
        _COUNT.fullmatch(value) or (":" in op and not span.quoted and value.isalpha() and not _beside_user(match))
    ):
        return True
    if op == ":" and text[match.start() - 1 : match.start()] == "/" and lower.endswith(_SPOKEN_FLAGS):
        # A flag of Windows.
        return not likely(value)
    if len(value) < 6 and value.rstrip(":.").isdigit() and len(value.rstrip(":.")) < 5 and not masks_numbers(name):
        return True
    if lower.endswith("pin") and len(value) < 5 and value.rstrip(".:").isdigit() and len(value.rstrip(".:")) < 4:
        # A pin of a board.
        return True
    if _is_word_about(lower, op, value, span) or (is_loose_key(name) and len(value) < 40 and not drawn(value)):
        return True
    if lower.endswith(("secret", "secrets", "tokens")) and names_a_secret(value):
        return True
    if lower.endswith("pin") and (_VERSION.fullmatch(value) or _OF_A_BOARD.fullmatch(value)):
        return True
    if lower.endswith("s") and "\n" in op and not span.quoted and not drawn(value):
        # A list of their names.
        return True
    if not span.quoted and ":" in op and lower.endswith(_OF_DIGITS) and not any(map(str.isdigit, value)):
        return True
    if not span.quoted and (op == ":" or lower.endswith(("token", "secrets"))) and _SCOPE.fullmatch(value.rstrip("`")):
        return True
    before = text[max(0, match.start() - 12) : match.start()].lower()
    if (
        lower == "token"
        and not span.quoted
        # In an address no parser speaks.
        and text[match.start("name") - 1 : match.start("name")] not in ("?", "&")
        and (_SYMBOL.fullmatch(value) or (before.endswith(_ABOUT) and not drawn(value)))
    ):
        # What a parser says.
        return True
    if lower == "token" and before.endswith(_PARSED) and not drawn(value):
        return True
    if text[span.start - 2 : span.start - 1] == "(" and value.isupper() and is_secret_name(value):
        # The name of a variable that is asked for it.
        return True
    if lower == "token" and before.replace("_", " ").endswith("public key ") and len(value) == 16:
        # The short name of an assembly's key.
        return True
    if (value[0] == "?" and before.endswith("${")) or lower.endswith(("pullsecret", "pullsecrets")):
        return True
    if (lower.endswith("auth") and _MECHANISM.fullmatch(value)) or (name in ("PWD", "OLDPWD") and _PATH.match(value)):
        return True
    if "," in op and "input" not in op:
        if match.start() > 0 and text[match.start()] == "-":
            # A flag in a list of arguments: what follows is its value.
            return (
                (value[0] == "-" and not drawn(value)) or (not span.quoted and not plausible(value)) or _is_prose(value)
            )
        if (
            span.quoted
            and _ENDS_PAIR.match(text, span.end)
            and _BEGINS_PAIR.search(text[max(0, match.start() - 3) : match.start()])
        ):
            return not likely(value)
        # Beside a name in a list stands another name more often than its value.
        return not (plausible(value) or (value.isdigit() and masks_numbers(name)))
    if not span.quoted and _is_code(match, span, value):
        return True
    if "=" in op:
        return False
    if any(dash in op for dash in "—–"):
        return not plausible(value) or _is_prose(value)
    if any(arrow in op for arrow in ("->", "→", "⇒", "➜")):
        return _is_prose(value) or (not span.quoted and _reads_on(text, span))
    if ">" in op:
        return " " in value and PROSE.match(value) is not None
    if ":" not in op:
        # After a flag: what follows may be its value, the next flag, or the rest of a sentence about it.
        if span.quoted and text[match.start()] == "-":
            return False
        return _is_prose(value) or (value[0] == "-" and not drawn(value))
    # Between colons it is part of a longer name; before another word it belongs to a sentence.
    if match.start() > 0 and text[match.start() - 1] == ":" and text[match.start() - 2 : match.start()] != "::":
        return True
    if span.quoted:
        return " " in value and PROSE.match(value) is not None
    return _is_prose(value) or _SETTING.match(value) is not None or _is_about(lower, before) or _reads_on(text, span)


# Two in brackets that are no list.
_BEGINS_PAIR: Final = pattern(r"[({]\s?[:\"']?$")
_ENDS_PAIR: Final = pattern(r"[\"']\s?[)}]")
_NUMBERED: Final = pattern(r"[a-z]{1,20}[-_]?[0-9]{1,3}")
_QUOTED_WORD: Final = pattern(
    r"(?P<quote>\\?[\"'`])(?P<value>[^\s\"'`\\]{6,400})(?P=quote)|(?<=: )(?P<last>\S{6,400}?)[.!]?$"
)


def quoted_in(text: str, span: Span) -> list[Span]:
    """What a sentence about a secret quotes of it: `value 'x7Gh…' does not match`."""
    found = []
    for word in _QUOTED_WORD.finditer(text, span.start, span.end):
        group = "value" if word["value"] else "last"
        if (
            plausible(word[group])
            and not _NUMBERED.fullmatch(word[group])
            and word[group][0] not in "^\\"
            and not is_stand_in(word[group])
        ):
            found.append(Span(*word.span(group), True))
    return found


_SPOKEN_FLAGS: Final = ("password", "passwd", "pass", "pwd", "pw")
_OF_USER: Final = pattern(r"\b(?:user|username|login|uid)\b[\"']?\s?[:=]|-pass(?:in|out) $", re.IGNORECASE)


def _beside_user(match: re.Match[str]) -> bool:
    """Whether somebody is named right before it: `{user: ann, pass: …}`."""
    return _OF_USER.search(match.string[max(0, match.start() - 80) : match.start()]) is not None


_AFTER_TEXT: Final = pattern(r"\s{0,2}[)\],;}+%]")


def _is_prompt(match: re.Match[str], span: Span) -> bool:
    """Whether the quote is the one that ends a text with the name in it: `input("Password: ")`."""
    text, mark = match.string, match.string[span.start - 1]
    if any(quote in match["op"] for quote in "\"'`") or not _AFTER_TEXT.match(text, span.start):
        return False
    return mark in text[max(0, match.start() - 80, text.rfind("\n", 0, match.start()) + 1) : match.start()]


_NEVER_WORDS: Final = ("token", "auth", "authorization", "credential", "credentials", "creds", "jwt", "cookie", "key")
_SETTINGS: Final = ("auth", "authorization", "credential", "credentials", "creds")


def _is_word_about(name: str, op: str, value: str, span: Span) -> bool:
    """Whether it is a word, after a name whose secrets are never words: `token: opaque`, `auth=disabled`."""
    if not value.isalpha() or len(value) > 16:
        return False
    return name.endswith(_SETTINGS) or (not span.quoted and ":" in op and name in _NEVER_WORDS)


def _is_about(name: str, before: str) -> bool:
    """Whether a parser or a checker speaks: `unexpected token: x`. What is said of a bad password is the password."""
    return before.endswith(_ABOUT) and not name.endswith(("password", "passwd", "passphrase", "passwort", "pwd", "pin"))


def _is_prose(value: str) -> bool:
    """Whether a sentence goes on, or something stands in for the value; but no variable is named at random."""
    return PROSE.match(value) is not None and not (value[0] in "$@:%?=*" and value[1:2].isalnum() and drawn(value[1:]))


def _is_code(match: re.Match[str], span: Span, value: str) -> bool:
    text = match.string
    if _REMARK.match(text, span.start) or (text.startswith((" |", " = "), span.end) and not plausible(value)):
        return True
    if code := _CODE.match(text, span.start):
        string = _string(text, code.end())
        return string is None or not drawn(text[string[0] : string[1]])
    if _ATTRIBUTE.fullmatch(value):
        return is_secret_name(value) or value.count(".") > 1
    compared = any(mark in match["op"] for mark in ("==", "!=", "<>"))
    if _TUPLE.match(text, span.start) or value in _TYPES:
        return True
    if _NAMES.fullmatch(value):
        return any(is_secret_name(each.strip()) for each in value.split(","))
    if _IDENTIFIER.fullmatch(value.rstrip(":") if compared else value) is None:
        return False
    last = match["name"].rpartition(".")[2].lstrip("-")
    return value.lower() == last.lower() or compared or (len(value) > 1 and is_secret_name(value) and "_" in value)


_SET_NEXT: Final = pattern(r" [A-Za-z_][\w-]{0,40}(?:[:=][^\s]|: )")
# The last words of names that are said of other things, too.
COMMON_LASTS: Final = ("key", "keys", "id", "code", "codes", "string", "seed", "api", "signature", "phrase")


def _reads_on(text: str, span: Span) -> bool:
    """After a colon, a plain word that another word follows belongs to a sentence."""
    following = text[span.end : span.end + 2]
    spaced = (
        len(following) == 2 and following[0] == " " and following[1].isalnum() and not _SET_NEXT.match(text, span.end)
    )
    if spaced and not following[1].isascii() and text[span.start : span.end].isascii():
        # The sentence is in another script.
        return False
    return spaced and _WORD.fullmatch(text[span.start : span.end].rstrip(".!?:")) is not None
