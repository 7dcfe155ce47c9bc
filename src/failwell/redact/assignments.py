"""How a name is set to a value: in code, JSON, YAML, headers, queries, markup, on command lines, and in sentences.

Whether a name stands for a secret is asked of `secret_names`; the value is read from where a match ends. No pattern can
begin in the middle of what it has gone over, so that a search takes time in proportion to the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from failwell.model import pattern

from .looks import PROSE, drawn, is_elsewhere, is_stand_in, names_a_secret, plausible, random, says_whats_wrong
from .secret_names import is_secret_name, masks_numbers


class Span(NamedTuple):
    """A value without its quotes: where it is, and whether it had any."""

    start: int
    end: int
    quoted: bool


# A colour as programs write it that do not send it to a terminal.
_COLOUR: Final = r"(?:\\(?:u001[bB]|x1[bB]|033|e)|\^\[)\[[0-9;]{0,20}m"
# What closes a name before it is set to something: quotes of any script, however often escaped, brackets, emphasis.
_CLOSED: Final = (
    r"(?:\\{0,7}[\"'`]|\)(?!=\()|[\]}*»«”“„’‘‚」』›‹＂´]|>{2}(?=,)|&quot;|</\w{1,10}>"
    rf"|&#(?:3[49]|x2[27]);|%2[27]|\\?u002[27]|\\x2[27]|{_COLOUR}){{0,6}}+"
)
_MARK: Final = (
    r"(?::=|!==?|<>(?=\s)|={1,3}|-{1,2}>|→|⇒|➜|::(?=\s)|:|：|＝|&#(?:61|58|x3[dD]|x3[aA]);|&(?:equals|colon);"
    r"|[—–](?=\s)|(?<=\s)\.(?=\s[\"'])|\\u003[dDaA]|\\x3[dDaA]|\.{4,80}(?=\s)|<-(?=\s)|\((?=[\"'])|(?-i:\bI?LIKE|\bIN)\b\s{0,3}\(?(?=N?'))"
)
# Emphasis may end after the colon, a tag too, and a text of several lines may begin.
_SET: Final = (
    rf"{_MARK}[>›]?(?:[*_]{{1,2}}(?=[\s`])|</\w{{1,10}}>)?\s{{0,20}}+(?:[|>][-+]?\s{{1,20}}+)?"
    rf"(?:{_COLOUR}\s{{0,3}}){{0,3}}+"
)
# A control character inside the name does not part it.
_NAMED: Final = pattern(
    r"(?P<lead>[?&])?(?<![\w.%\ufffd-])(?P<name>(?:[\w.%\ufffd\u0300-\u036f\u0900-\u0963\u0e31-\u0e4e]|-(?!-?>)"
    r"|\\u00[4-7][0-9a-fA-F])++)"
    rf"(?P<op>(?:\)s(?==))?{_CLOSED}(?: \([\w .,]{{1,30}}\)(?=[ :=]))?+\s{{0,20}}+{_SET})"
)
# The same on a command line, in a list of arguments, and in a Dockerfile.
_FLAG: Final = pattern(
    r"(?P<lead>)(?:(?<![\w-])--?|(?<!\w)(?:ENV|ARG|SETX?|setx?|setenv)[ ]{1,3})(?P<name>[A-Za-z][\w.-]{1,60})"
    r"(?P<op>[ ]{1,3}|\ufffd|[\"']?,\s{0,3}|[\"']\s{1,3}(?=[\"']))(?!\s|[\"']?-(?![\w-]{15}))"
)
_OPEN_TAG: Final = r"(?:<|&lt;|\\u003[cC]|%3[cC])"
_ELEMENT: Final = pattern(
    rf"(?P<lead>){_OPEN_TAG}(?P<name>[A-Za-z][\w.:-]{{1,60}}+)(?:\s(?:[^<>&\\]|&(?!gt;)|\\(?!u003)){{0,200}}+)?"
    rf"(?P<op>>|&gt;|\\u003[eE]|%3[eE])(?!\s{{0,20}}+(?:{_OPEN_TAG}|$))"
)
_END_OF_ELEMENT: Final = pattern(rf"{_OPEN_TAG}(?P<closes>/|\\/|%2[fF])?")
# A name and its value side by side, as in `define('DB_PASSWORD', '…')` and in lists of headers.
_PAIR: Final = pattern(
    r"(?P<lead>)(?<=[\"'{(:])(?P<name>[A-Za-z][\w.-]{1,80})(?P<op>[\"']?(?:>>)?,\s{0,3}(?:<<)?)(?=[bru]?[\"'])"
)
# How a validator tells about a value: the path on one line and the value in the next.
_REPORTED: Final = pattern(
    r"(?P<lead>)(?:^|(?<=\n))(?:[\w-]{1,60}\.){0,8}(?P<name>[\w-]{1,60})\r?"
    r"(?P<op>(?:\n[ ]{2,8}|:[ ])[^\r\n]{1,400}?\binput_value=)(?=[\"'])"
)
# Each with what a text must hold for it.
_WAYS: Final = (
    (_ELEMENT, ("<", "&lt;", "u003", "%3")),
    (_NAMED, ("",)),
    (_FLAG, ("-", "ENV", "ARG", "SET", "set")),
    (_PAIR, (",",)),
    (_REPORTED, ("input_value=",)),
)
# The last words of names that are said of other things, too.
_COMMON_LASTS: Final = ("key", "keys", "id", "code", "codes", "string", "seed", "api", "signature", "phrase")
# Words that say what something is only together with the word before them.
_NEEDS_MORE: Final = frozenset(
    "key keys code codes passe sandi phrase id signature seed api string secreta secrète secrete passcode".split()
)
_WORDS_BEFORE: Final = pattern(r"(?:(?!(?:with|use|uses|is|has) )[^\W_][\w-]{0,19} ){1,2}$")


def full_name(text: str, start: int, end: int) -> str:
    """The name between two places, with the words before it where it is no name without them: `API key`."""
    name = text[start:end]
    if name.isdigit() or name.lower() in _NEEDS_MORE:
        before = _WORDS_BEFORE.search(text[max(0, start - 42) : start])
        name = before[0] + name if before else name
    return name


class Assignment(NamedTuple):
    """A name, and what it is set to."""

    name: str
    match: re.Match[str]
    value: Span
    # Whether only what somebody may have thought of is a secret there.
    doubted: bool


def assignments(text: str) -> Iterator[Iterator[Assignment]]:
    """All that is set to something in a text, way by way."""
    for way, marks in _WAYS:
        if any(mark in text for mark in marks):
            yield _assigned(text, way)


def _assigned(text: str, way: re.Pattern[str]) -> Iterator[Assignment]:
    for match in way.finditer(text):
        name = full_name(text, *match.span("name"))
        doubted = name != match["name"] and name.lower().endswith(_COMMON_LASTS)
        for span in _element(text, match.end()) if way is _ELEMENT else spans(text, match.end(), match["op"]):
            yield Assignment(name, match, span, doubted)


_FIRST_WORD: Final = pattern(r"[^\s<>\"']{6,400}")


def _element(text: str, start: int) -> list[Span]:
    """What an element holds; of one that nobody closes, the first word, if it looks like a secret."""
    end = _END_OF_ELEMENT.search(text, start, start + 4000)
    if end is not None and end["closes"]:
        return [Span(start, end.start(), False)]
    word = _FIRST_WORD.match(text, start)
    return [Span(start, word.end(), True)] if word and drawn(word[0]) else []


# What may stand between operator and value: a dash, a type, a wrapper, a tag, the letters before quotes.
_PREFIX: Final = pattern(
    r"(?:-\s{1,4}|string\(\d{1,6}\)\s{1,3}|\[\]\w{1,20}(?=\{)|\([\w *.=]{1,30}\)\s{1,3}(?=[(\"'])"
    r"|(?:chr|string|0x[0-9a-f]{4,16})\s(?=[\"'])"
    r"|(?:[A-Z][\w.:<>]{0,60}|str|bytes|secret)\((?=\s{0,40}[\w.:]{0,60}[(\"'])|[bruBRUNfF]{1,2}(?=[\"'])"
    r"|[*&]{1,2}(?=[\"'])|<<(?=\")|(?:&\w{1,40}|!{1,2}[\w/-]{1,30})\s{1,3}+(?![\w.-]{1,60}(?:=|:\s))(?:[|>][-+]?\s{1,20})?){0,4}"
)
_OPENING: Final = pattern(r"[\[({]\s{0,20}")
_COLON: Final = pattern(r"\s{0,3}(?::|=>)\s{0,20}")
_COMMA: Final = pattern(r"\s{0,20},\s{0,20}")
_PLAIN_ITEM: Final = pattern(r"[^,{}\[\]()\"'\r\n]{1,60}")
_BRACED: Final = pattern(r"\{([^{}\"'\r\n]{1,400})\}|\[([^\[\]\"'\r\n]{1,400})\]")
_QUOTE: Final = pattern(
    r"\\{1,7}[\"']|\\u002[27]|\\x2[27]|&quot;|&#(?:3[49]|x2[27]);|%2[27]|\"\"\"|'''"
    r"|''(?=[^\s',;)}\]])|\"\"(?=[^\s\",;:)}\]])|[\"'“`„«»「『‘‚＂´]"
)
_CLOSING: Final = {
    "“": "”", "„": "“”", "«": "»", "»": "«", "「": "」", "『": "』", "‘": "’", "‚": "‘’", "＂": "＂", "´": "´",
}  # fmt: skip
_INNER: Final = {
    mark: pattern(rf"((?:[^{mark}\\\r\n]|\\.){{0,4000}})(?:{mark}|((?:\\?\r?\n[^{mark}\r\n]{{0,400}}){{1,4}}){mark})?")
    for mark in "\"'`"
}
_MASKED: Final = r"\[redacted\]"
_CHARACTERS: Final = r"[^\s\"',;&<>)}\]\[]{0,4000}(?:\[(?:redacted\])?[^\s\"',;&<>)}\]\[]{0,400}){0,20}"
# An ampersand begins the next parameter or an escape, or else it is part of the value.
_AMPERSAND: Final = r"&(?=[\w!@#$%^*+/?~.-])(?![\w.%-]{1,60}[\"']?\s?[=:;&])"
_BARE: Final = pattern(rf"(?:[^\s\"',;&<>)}}\]\[{{]|{_AMPERSAND}){_CHARACTERS}")
# A comma or a bracket ends a value, unless more of it follows at once that is not another assignment. A backslash at
# the end of a line does not.
_MORE: Final = pattern(
    r"(?:(?:[,;)}\]]{1,2}(?=[\w!@#$%^*+/?])(?![\w.%-]{1,60}[\"']?\s?[=:])|(?<=\\)\r?\n\s{0,20}"
    rf"|{_AMPERSAND})[^\s\"',;&<>)}}\]]{{1,400}}){{1,8}}"
)
# What was masked by its looks before its name was read, and more of the same value after it.
_GLUED: Final = pattern(rf"{_MASKED}(?=[\w%.+/=~-]{{1,8}}(?:(?<=[^\W_])|[^\W_]|{_MASKED}))[\w%.+/=~-]{_CHARACTERS}")
_REST: Final = pattern(r"(?<=[\w+/=~-])(?:[\w+/=~-]|\.(?=\w)|%(?:2[BbFf]|3[Dd]))*")
_ANY_COLOUR: Final = pattern(_COLOUR)
# What follows on the next line when a long value was folded.
_FOLDED: Final = pattern(r"\\?\r?\n[ \t>|]{0,20}([A-Za-z0-9+/_=.-]{6,200})(?=[\"'\s]|$)")
# The words of a schema: what stands here says what a value must be.
_SCHEMA: Final = frozenset(
    "type format minLength maxLength pattern enum title description required default writeOnly readOnly nullable "
    "examples items properties additionalProperties anyOf oneOf allOf $ref const min max loc msg".split()
)
# A call in code, and what it is given.
_CALL: Final = r"[A-Za-z_]\w{0,40}(?:(?:\.|::|->)[A-Za-z_]\w{0,40}){0,6}(?:\((?=[\"')\w:])|\[(?=[\"']|\w{1,20}[\],]))"


def spans(text: str, at: int, op: str = "") -> list[Span]:
    """The stretches of `text` that make up the value which begins at `at`, after `op`."""
    if glued := _GLUED.match(text, at):
        return [Span(at, glued.end(), True)]
    begin, at = at, _prefixed(text, at)
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
    if string := _string(text, at):
        start, end, _ = string
        return [Span(start, end, True)] if end > start else []
    bare = _BARE.match(text, at)
    if bare is None:
        return []
    more = None if is_stand_in(bare[0]) else _MORE.match(text, bare.end())
    end = folded_end(text, more.end() if more else bare.end())
    colour = _ANY_COLOUR.search(text, at, end)
    return [Span(at, colour.start() if colour else end, False)]


def _prefixed(text: str, at: int) -> int:
    found = _PREFIX.match(text, at)
    return found.end() if found else at


def _inside(text: str, at: int) -> int:
    opening = _OPENING.match(text, at)
    return _prefixed(text, opening.end() if opening else at)


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
            at = _prefixed(text, colon.end())
            number = None if _QUOTE.match(text, at) else _PLAIN_ITEM.match(text, at)
            start, end, after = _string(text, at) or (at, at, number.end() if number else at)
        if end > start:
            yield Span(start, end, True)
        comma = _COMMA.match(text, after)
        if comma is None:
            return
        at = _prefixed(text, comma.end())


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
        return start, found.end(2) if found[2] else found.end(1), found.end()
    line = text.find("\n", start, start + 4000)
    stop = line if line >= 0 else min(len(text), start + 4000)
    if closers := _CLOSING.get(mark):
        end = min((at for each in closers if (at := text.find(each, start, stop)) >= 0), default=-1)
        return None if end < 0 else (start, end, end + 1)
    end = text.find(mark, start, start + 4000)
    # Of quotes inside quotes each has one more backslash than the ones around it.
    while end > 0 and mark[0] == "\\" and text[end - 1] == "\\":
        end = text.find(mark, end + 1, start + 4000)
    return (start, stop, stop) if end < 0 else (start, end, end + len(mark))


def token_end(text: str, end: int) -> int:
    """Where a token really ends that a rule with a bound has found up to `end`."""
    rest = _REST.match(text, end)
    return rest.end() if rest else end


def folded_end(text: str, end: int) -> int:
    """Where a value really ends that was folded over lines of a fixed width."""
    for _ in range(100):
        more = _FOLDED.match(text, end)
        if more is None or not drawn(more[1]):
            return end
        end = more.end(1)
    return end


_WORD: Final = pattern(r"[^\W\d_]{1,40}|[0-9]{1,3}(?:-[0-9]{1,3}|\+)?")
_SETTING: Final = pattern(r"[a-z_]{2,40}=[^=]")
_VERSION: Final = pattern(r"[0-9]{1,4}(?:\.[0-9x*]{1,4}){1,4}")
# What a permission may be for: `secret:write`.
_SCOPE: Final = pattern(
    r"(?:read|write|list|get|create|delete|update|manage|view|edit|show|diff|fetch|inherit|(?:read|write)-all)"
)
_SYMBOL: Final = pattern(r"[A-Z][A-Z_]{1,30}")
# Code that gets a value from elsewhere: a call, an index, a keyword, a remark; an attribute, a name.
_CODE: Final = pattern(
    r"(?:await|new|yield|lambda|typeof|function)(?=\s)|(?:raise|return|break|continue|throw)(?=[\s;]|$)"
    rf"|{_CALL}|\([a-z]{{2,20}}(?: [a-z]{{2,20}}){{0,6}}\)"
)
_ATTRIBUTE: Final = pattern(r"[A-Za-z_]{1,40}(?:\.[A-Za-z_]{1,40}){1,6}")
_IDENTIFIER: Final = pattern(r"[A-Za-z_]{1,60}")
_PARSER: Final = ("undefined ", "unexpected ", "invalid ", "missing ", "expected ", "unknown ", "bad ", "next ")
_PIN_OF_BOARD: Final = pattern(r"(?:GPIO|[A-Z]{1,2})_?[0-9]{1,2}|[0-9]{1,3}")
_MECHANISM: Final = pattern(
    r"(?:plain|login|none|basic|digest|ntlm|gssapi|external|anonymous|cram-md5|xoauth2|oauth2?|scram-[\w-]{1,20})",
    re.IGNORECASE,
)
_SETTINGS: Final = ("auth", "authorization", "credential", "credentials", "creds")
_NEVER_WORDS: Final = ("token", "jwt", "cookie", "key", *_SETTINGS)


def is_harmless(match: re.Match[str], span: Span) -> bool:
    """Whether what stands after a secret's name is no secret: a word about it, a stand-in, or code."""
    text, op, name = match.string, match["op"], match["name"].lower()
    shown = text[span.start : span.end]
    value = shown.strip("\\\"'{}")
    number = value.rstrip(":.")
    if not value or value[0] == "…" or is_stand_in(value.rstrip("[!")) or is_stand_in(shown) or is_elsewhere(value):
        return True
    if len(value) < 6 and not any(map(str.isalnum, value)):
        return True
    if number.isdigit() and len(number) < 5 and not masks_numbers(name):
        return True
    if span.quoted and says_whats_wrong(value):
        return True
    if not span.quoted and not value.isascii() and not any(each.isascii() and each.isalnum() for each in value):
        # A word of another script, in a sentence about the secret.
        return True
    if match["lead"] and not is_secret_name(name):
        # In a query `key` and `code` are often words: only what looks drawn at random is a secret.
        return not random(value) and (len(value) < 16 or not (drawn(value) or value.isdigit()))
    never_word = name.endswith(_SETTINGS) or (not span.quoted and ":" in op and name in _NEVER_WORDS)
    if never_word and value.isalpha() and len(value) <= 16:
        # `token: opaque`, `auth=disabled`.
        return True
    if name.endswith("cookie") and "=" in value:
        # There is a rule of its own for these.
        return True
    if name.endswith("pin") and (_VERSION.fullmatch(value) or _PIN_OF_BOARD.fullmatch(number)):
        return True
    if ("==" in op and _VERSION.fullmatch(value)) or (name.endswith("auth") and _MECHANISM.fullmatch(value)):
        return True
    if name.endswith(("secret", "secrets", "tokens")) and names_a_secret(value):
        return True
    if not span.quoted and ":" in op and _SCOPE.fullmatch(value.rstrip("`")):
        return True
    before = text[max(0, match.start() - 12) : match.start()].lower()
    parsed = before.endswith(_PARSER) or (not span.quoted and _SYMBOL.fullmatch(value))
    in_query = text[match.start("name") - 1 : match.start("name")] in ("?", "&")
    if name == "token" and parsed and not in_query and not drawn(value):
        # What a parser says.
        return True
    if "," in op and "input" not in op:
        # Beside a name in a list stands another name more often than its value.
        return not (plausible(value) or (value.isdigit() and masks_numbers(name))) or _is_prose(value)
    if not span.quoted and _is_code(match, span, value):
        return True
    if "=" in op and "==" not in op:
        return False
    if span.quoted:
        return " " in value and PROSE.match(value) is not None
    if ":" in op and text[match.start() - 1 : match.start()] == ":" and text[match.start() - 2 : match.start()] != "::":
        # Between colons it is part of a longer name.
        return True
    is_setting = ":" in op and _SETTING.match(value) is not None
    return is_setting or _is_prose(value) or (value[0] == "-" and not drawn(value)) or _reads_on(text, span)


def _is_prose(value: str) -> bool:
    """Whether a sentence goes on, or something stands in for the value; but no variable is named at random."""
    return PROSE.match(value) is not None and not (value[0] in "$@:%?=*" and value[1:2].isalnum() and drawn(value[1:]))


def _is_code(match: re.Match[str], span: Span, value: str) -> bool:
    text = match.string
    if code := _CODE.match(text, span.start):
        string = _string(text, code.end())
        return string is None or not drawn(text[string[0] : string[1]])
    if _ATTRIBUTE.fullmatch(value):
        return is_secret_name(value) or value.count(".") > 1
    compared = any(mark in match["op"] for mark in ("==", "!=", "<>"))
    if _IDENTIFIER.fullmatch(value.rstrip(":") if compared else value) is None:
        return False
    last = match["name"].rpartition(".")[2].lstrip("-")
    return value.lower() == last.lower() or compared or (len(value) > 1 and is_secret_name(value) and "_" in value)


def _reads_on(text: str, span: Span) -> bool:
    """After a colon, a plain word that another word follows belongs to a sentence."""
    following = text[span.end : span.end + 2]
    spaced = len(following) == 2 and following[0] == " " and following[1].isalnum()
    return spaced and _WORD.fullmatch(text[span.start : span.end].rstrip(".!?:")) is not None
