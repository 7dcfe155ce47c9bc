"""How a name is set to a value: in code, JSON, YAML, headers, queries, markup, on command lines, and in sentences.

Whether a name stands for a secret is asked of `secret_names`; the value is read from where a match ends. No pattern can
begin in the middle of what it has gone over, so that a search takes time in proportion to the text.
"""

from __future__ import annotations

import re
from typing import Final

from failwell.model import pattern

# A colour as programs write it that do not send it to a terminal.
COLOUR: Final = r"(?:\\(?:u001[bB]|x1[bB]|033|e)|\^\[)\[[0-9;]{0,20}m"
# What closes a name before it is set to something: quotes of any script, however often escaped, brackets, emphasis.
_CLOSED: Final = (
    r"(?:\\{0,7}[\"'`]|\)(?!=\()|[\]}*»«”“„’‘‚」』›‹＂´]|>{2}(?=,)|&quot;|</\w{1,10}>"
    rf"|&#(?:3[49]|x2[27]);|%2[27]|\\?u002[27]|\\x2[27]|{COLOUR}){{0,6}}+"
)
_MARK: Final = (
    r"(?::=|!==?|<>(?=\s)|={1,3}|-{1,2}>|→|⇒|➜|::(?=\s)|:|：|＝|&#(?:61|58|x3[dD]|x3[aA]);|&(?:equals|colon);"
    r"|[—–](?=\s)|(?<=\s)\.(?=\s[\"'])|\\u003[dDaA]|\\x3[dDaA]|\.{4,80}(?=\s)|<-(?=\s)|\((?=[\"'])|(?-i:\bI?LIKE|\bIN)\b\s{0,3}\(?(?=N?'))"
)
# Emphasis may end after the colon, a tag too, and a text of several lines may begin.
_SET: Final = (
    rf"{_MARK}[>›]?(?:[*_]{{1,2}}(?=[\s`])|</\w{{1,10}}>)?\s{{0,20}}+(?:[|>][-+]?\s{{1,20}}+)?"
    rf"(?:{COLOUR}\s{{0,3}}){{0,3}}+"
)
# A control character inside the name does not part it.
NAMED: Final = pattern(
    r"(?P<lead>[?&])?(?<![\w.%\ufffd-])(?P<name>(?:[\w.%\ufffd\u0300-\u036f\u0900-\u0963\u0e31-\u0e4e]|-(?!-?>)"
    r"|\\u00[4-7][0-9a-fA-F])++)"
    rf"(?P<op>(?:\)s(?==))?{_CLOSED}(?: \([\w .,]{{1,30}}\)(?=[ :=]))?+\s{{0,20}}+{_SET})"
)
# The same on a command line, in a list of arguments, and in a Dockerfile.
FLAG: Final = pattern(
    r"(?P<lead>)(?:(?<![\w-])--?|(?<!\w)(?:ENV|ARG|SETX?|setx?|setenv)[ ]{1,3})(?P<name>[A-Za-z][\w.-]{1,60})"
    r"(?P<op>[ ]{1,3}|\ufffd|[\"']?,\s{0,3}|[\"']\s{1,3}(?=[\"']))(?!\s|[\"']?-(?![\w-]{15}))"
)
_OPEN_TAG: Final = r"(?:<|&lt;|\\u003[cC]|%3[cC])"
ELEMENT: Final = pattern(
    rf"(?P<lead>){_OPEN_TAG}(?P<name>[A-Za-z][\w.:-]{{1,60}}+)(?:\s(?:[^<>&\\]|&(?!gt;)|\\(?!u003)){{0,200}}+)?"
    rf"(?P<op>>|&gt;|\\u003[eE]|%3[eE])(?!\s{{0,20}}+(?:{_OPEN_TAG}|$))"
)
END_OF_ELEMENT: Final = pattern(_OPEN_TAG)
# A name and its value side by side, as in `define('DB_PASSWORD', '…')` and in lists of headers.
PAIR: Final = pattern(
    r"(?P<lead>)(?<=[\"'{(:])(?P<name>[A-Za-z][\w.-]{1,80})(?P<op>[\"']?(?:>>)?,\s{0,3}(?:<<)?)(?=[bru]?[\"'])"
)
# A line that begins with the name and holds nothing but the value after it.
DIRECTIVE: Final = pattern(
    r"(?P<lead>)(?:^|(?<=\n))[ \t>+-]{0,8}(?P<name>[A-Za-z][\w.-]{1,60}+)(?P<op>[ \t]{1,40}+)"
    r"(?=[\"']?[^\s\"']{6,200}+[\"']?[ \t]{0,8}(?:\r?\n|$))"
)
# A name that no sentence has, and a value after it.
SPACED: Final = pattern(
    r"(?P<lead>)(?<![\w./\\@-])(?P<name>[A-Za-z][A-Za-z0-9]{0,30}+(?:[-_.][A-Za-z0-9]{1,30}+){1,8}+)(?P<op>[ ]{1,3})"
    r"(?![a-z]{1,20}[-_]?[0-9]{0,3}(?:\s|$))(?=[\"']?[^\s\"'=:(){}\[\]]{6,200}+[\"']?(?:[\s,;]|$))"
)
# How validators tell about a value: the path on one line and the value in the next, or in two members of an object.
REPORTED: Final = pattern(
    r"(?P<lead>)(?:^|(?<=\n))(?:[\w-]{1,60}\.){0,8}(?P<name>[\w-]{1,60})\r?"
    r"(?P<op>(?:\n[ ]{2,8}|:[ ])[^\r\n]{1,400}?\binput_value=)(?=[\"'])"
)
LOCATED: Final = pattern(
    r"(?P<lead>)[\"'](?:loc|path)[\"']\s{0,2}:\s{0,2}[\[(][^\]()\r\n]{0,200}?[\"'](?P<name>[\w.-]{1,60})[\"'](?:,\s{0,2}"
    r"[0-9]{1,6})?,?[\])]"
    r"(?P<op>[^{}\r\n]{0,400}?[\"']input[\"']\s{0,2}:\s{0,2})(?=[\"'])"
)
# Each with what a text must hold for it, and whether only what looks drawn at random is a secret there.
ASSIGNED: Final = (
    (ELEMENT, "", False),
    (NAMED, "", False),
    (FLAG, "", False),
    (PAIR, ",", False),
    (DIRECTIVE, "", True),
    (SPACED, " ", True),
    (REPORTED, "input_value=", False),
    (LOCATED, "input", False),
)

# Words that follow "password:" in a sentence about passwords rather than in one that gives one away.
PROSE: Final = pattern(
    r"(?:(?:is|was|are|were|must|should|may|can|cannot|could|has|have|had|not|no|the|a|an|of|for|in|on|at|to|and|or"
    r"|too|"
    r"required|missing|invalid|expired|incorrect|wrong|empty|unknown|null|none|nil|undefined|true|false|string|str|int|"
    r"integer|number|object|array|boolean|optional|field|value|length|type|expected|please|use|enter|your|this|that|it|"
    r"bearer|basic|digest|token|password|secret|key|header|format|malformed|rejected|denied|failed|revoked|does|did|"
    r"never|already|used|shorter|longer|minimum|maximum|unset|blank|redacted|hidden|masked|input|signature|got|at|"
    r"authentication|refresh|access|auth|yes|no|needs|takes|requires|option|flag|argument|with|from|by|if|when|only|"
    r"via|over|through|instead|as|be|been|will|would|which|than|then|but|so|also|both|without|within|into|per|before|"
    r"after|until|unless|because|since|while|where|each|every|either|neither|all|any|some|same|were|isn't|wasn't|"
    r"varchar|char|text|character|done|fail|failure|success|found|default|unchanged|changed|weak|strong|valid|"
    r"obbligatori[oa]|obligatori[oa]|obrigatóri[oa]|requerid[oa]|obligatoire|requise?|erforderlich|pflichtfeld|vereist"
    r"|krävs|pakollinen|обязательн\w{0,3}|wymagane|zorunlu|campo|retry|again|try|réessayez|essayez|intente|bitte|ungültig|ongeldig|ogiltigt)(?![\w-]|[=@#$%^&!+~*]\w)"
    r"|\[redacted|[*•x.]{3,80}(?!\w)|<|\$[{(A-Z]|\$\d{1,2}(?![\w$])|=|\{\{|%[s(]|\?(?!\w)|[:@]\w{1,30}$)",
    re.IGNORECASE,
)

PLACEHOLDER: Final = pattern(
    r"(?:none|null|nil|undefined|same-origin|include|omit|true|false|yes|no|required|missing|empty|unset|redacted|hidden|filtered|masked|scrubbed|removed|"
    r"omitted|protected|sensitive|string|[*•x.]{2,80}|[<‹]"
    r"[^<>‹›]{0,80}[>›]|"
    r"\$\{[^{}]{0,80}\}?|\$\([^()]{0,80}\)?|(?-i:\$[A-Z_][A-Z0-9_]{0,60})|\$[0-9]{1,2}|\{\{[^{}]{0,200}\}?\}?|%s"
    r"|%\(\w{1,60}\)?s?|\?|your[-_ ][\w -]{1,40}|ok|ENC\[.{0,4000}|\(?(?:sensitive(?: value)?\)?|known after apply\))"
    r"|[\w-]{0,8}(?:\.{3}|…|\*{3,40})\w{0,4}|"
    r":[a-z_]\w{0,60}|(?-i:@[a-z_]{1,20})|[\[(]redacted[\])]|=|env\.\w{1,60}|process\.env\.\w{1,60})",
    re.IGNORECASE,
)
