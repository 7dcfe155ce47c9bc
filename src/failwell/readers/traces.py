"""Stack traces, one row per language: the line that says what happened, without the way to it."""

from __future__ import annotations

import re
from re import MULTILINE, Pattern
from typing import Final, NamedTuple

from failwell.model import pattern
from failwell.redact import uncoloured

_PYTHON: Final = pattern(r"Traceback \(most recent call last\):|\n  File \"[^\"\n]{1,300}\", line \d{1,7}")
# The first line at the left margin after the frames.
_LAST: Final = pattern(r"(?:^|\n)((?:[a-zA-Z_]\w{0,60}\.){0,8}[A-Z]\w{1,60}(?:: [^\n]{0,2000})?)(?=\n|$)")
_PYTHON_FRAMES: Final = pattern(
    r"(?:^|\n)(?:Exception Group )?Traceback \(most recent call last\):(?:\n[ \t][^\n]{0,2000}){1,400}\n"
)
# Several exceptions at once: each is set in, behind a line drawn along it.
_GROUP: Final = "Exception Group Traceback (most recent call last):"
_GROUPED: Final = pattern(
    rf"\+ {re.escape(_GROUP)}[ \t\r]*$(?:\n[ \t]{{0,400}}[|+][^\n]{{0,2000}}){{1,5000}}", MULTILINE
)
_DRAWN: Final = pattern(
    r"^[ \t]{0,400}(?:\+(?:-\+)?-{4,60} (?:\d{1,6}|\.{3}) -{4,60}|\+-{10,80}|(?:\| ?|\+ (?=Exception Group )))",
    MULTILINE,
)
# The same with its lines put into one: where the next frame begins, and what stands behind the last one.
_FLAT: Final = pattern(r"Traceback \(most recent call last\):[ \t|]{1,40}File \"[^\n]{1,100000}")
_FLAT_FRAME: Final = pattern(r"File \"[^\"\n]{1,300}\", line \d{1,7}(?:, in [\w<>.]{1,200})?")
_FLAT_LAST: Final = pattern(
    r"(?<=\s)(?:(?:[a-z_]\w{0,60}\.){1,8}[A-Z]\w{1,60}|[A-Z]\w{0,60}(?:Error|Exception|Timeout|Warning|Exit|Interrupt))"
    r"(?:: [^\n]{0,2000}|\s*)$"
)
# A control character: the guard lets none through, so that no text holds it.
_FRAME: Final = "\x00"
_PANICKED: Final = "panicked at"
_PANIC: Final = "panicked: "
_NOTHING_LEFT: Final = "The tool crashed."


class _Trace(NamedTuple):
    """How a language writes a trace."""

    sign: Pattern[str]
    """By this it is told in one look that a text is such a trace."""

    frames: Pattern[str]
    """Lines that are no words of anybody: where it was, and what stands above and below that."""

    around: Pattern[str] | None = None
    """What stands before and after the words in the line that says what happened."""


def _row(sign: str, *frames: str, around: str = "") -> _Trace:
    return _Trace(
        pattern(sign),
        pattern(rf"^(?:{'|'.join(frames)})[ \t\r]*$", MULTILINE),
        pattern(around, MULTILINE) if around else None,
    )


_REST: Final = r"[^\n]{0,2000}"
_BEFORE_AT: Final = r"(?:\t{1,4}|[ \t]{2,12})"
_PLACE: Final = r"[^\s:()]{1,300}"
_GO_LINE: Final = r"[ \t]{1,8}[^\s:]{1,300}\.(?:go|s):\d{1,7}" + _REST

_TRACES: Final = (
    # Node, Java and .NET
    _row(
        rf"\n{_BEFORE_AT}at (?:async )?[^\n]{{1,2000}}(?=\n|$)",
        rf"{_BEFORE_AT}at (?:async )?{_REST}",
        rf"(?:Caused by|[ \t]{{0,12}}Suppressed): {_REST}",
        r"[ \t]{0,12}\.\.\. \d{1,6} (?:more|common frames omitted)",
        rf"[ \t]{{0,12}}--- End of (?:inner exception )?stack trace{_REST}",
        r"Node\.js v[\d.]{1,20}",
        around=r"^Exception in thread \"[^\"\n]{0,200}\" ",
    ),
    # Go
    _row(
        r"goroutine \d{1,9} \[|\n\t\S{1,300}\.go:\d{1,7} \+0x",
        r"goroutine \d{1,9} \[[^\]\n]{0,200}\]:",
        rf"[^\s(]{_REST}\)\n{_GO_LINE}|created by {_REST}\n{_GO_LINE}|{_GO_LINE}",
        rf"\[signal SIG{_REST}|exit status \d{{1,3}}",
    ),
    # Rust
    _row(
        r"' (?:\(\d{1,9}\) )?panicked at |stack backtrace:",
        r"stack backtrace:",
        rf"[ \t]{{1,8}}\d{{1,4}}: {{1,8}}\S{_REST}",
        rf"[ \t]{{4,20}}at \S{_REST}",
        rf"note: (?:run with|[Ss]ome details are omitted){_REST}",
        around=rf"^thread '[^'\n]{{0,200}}' (?:\(\d{{1,9}}\) )?panicked at (?:{_PLACE}:\d{{1,7}}:\d{{1,7}}:\s|')"
        rf"|', {_PLACE}\.rs:\d{{1,7}}:\d{{1,7}}$",
    ),
    # PHP
    _row(
        r"\n(?:PHP )?[ \t]{0,4}#?\d{1,4}\.? (?:\{main\}|\S{1,300}\(\d{1,7}\): )|Stack trace:\s| in \S{1,300}\.php:\d",
        r"(?:PHP )?Stack trace:",
        rf"(?:PHP )?[ \t]{{0,4}}#?\d{{1,4}}\.? "
        rf"(?:\{{main\}}|\[internal function\]: {_REST}|\S{{1,300}}\(\d{{1,7}}\): {_REST})",
        r"[ \t]{0,4}thrown in \S{1,300} on line \d{1,7}",
        around=r"^(?:PHP )?Fatal error: {1,3}(?:Uncaught )?| in \S{1,300}\.php(?::\d{1,7}| on line \d{1,7})(?=$|[.\s])",
    ),
    # Ruby
    _row(
        r"\S:\d{1,7}:in [`']",
        rf"[ \t]{{0,8}}(?:\d{{1,4}}: )?(?:from )?\S{{1,300}}:\d{{1,7}}:in [`']{_REST}'",
        r"Traceback \(most recent call last\):",
        around=r"^\S{1,300}:\d{1,7}:in [`'][^'\n]{1,200}': ",
    ),
    # Perl
    _row(
        r" at \S{1,300}\.(?:p[lm]|t|cgi) line \d|\n[ \t]{1,8}[^\n]{1,2000} called at \S{1,300} line \d",
        rf"[ \t]{{1,8}}{_REST} called at \S{{1,300}} line \d{{1,7}}\.?",
        around=r" at \S{1,300}\.(?:p[lm]|t|cgi) line \d{1,7}(?:, <\w{1,40}> (?:line|chunk) \d{1,9})?\.?",
    ),
    # Elixir and Erlang
    _row(
        r"\n[ \t]{2,8}(?:\([^()\n]{1,80}\) )?[^\s:]{1,300}\.(?:exs?|erl):\d{1,7}: ",
        rf"[ \t]{{2,8}}(?:\([^()\n]{{1,80}}\) )?[^\s:]{{1,300}}\.(?:exs?|erl):\d{{1,7}}: {_REST}",
    ),
    # R
    _row(
        r"(?:^|\n)(?:Error in [\w.:$]{1,100}\([^\n]{0,300}\) ?:\s|Calls: [^\n]{0,300}->|Traceback:\n)"
        r"| at \S{1,300}\.[rR]#\d",
        rf"Calls: {_REST}|Traceback:",
        rf"[ \t]{{0,4}}\d{{1,4}}[:.] {_REST}(?: at \S{{1,300}}#\d{{1,7}}|\))",
        r"Execution halted|In addition: Warning messages?:",
        around=r"(?<=^Error) in [\w.:$]{1,100}\([^\n]{0,300}\) ?(?=:\s)",
    ),
    # Dart
    _row(r"\n#\d{1,4} {2,8}[^\n]{1,2000}\([^()\n]{1,300}:\d{1,7}", rf"#\d{{1,4}} {{2,8}}{_REST}\([^()\n]{{1,300}}\)"),
    # C and C++
    _row(
        r"(?:^|\n)[ \t]{0,8}#\d{1,4} {1,4}0x[0-9a-fA-F]{1,16} in \S|\+0x[0-9a-fA-F]{1,16}\) ?\[0x[0-9a-fA-F]{1,16}\]",
        rf"[ \t]{{0,8}}#\d{{1,4}} {{1,4}}0x[0-9a-fA-F]{{1,16}} in {_REST}",
        rf"[ \t]{{0,8}}#\d{{1,4}} {{1,4}}[^\n(]{{1,300}}\({_REST}\) (?:at|from) \S{{1,300}}",
        r"[^\s(]{1,300}\([^()\n]{0,300}\+0x[0-9a-fA-F]{1,16}\) ?\[0x[0-9a-fA-F]{1,16}\]",
    ),
    # Swift
    _row(
        r"\n\d{1,4} {1,8}\S{1,200}[ \t]{1,60}0x[0-9a-fA-F]{4,16} [^\n]{1,2000} \+ \d|\.swift(?::|, line )\d",
        rf"\d{{1,4}} {{1,8}}\S{{1,200}}[ \t]{{1,60}}0x[0-9a-fA-F]{{4,16}} {_REST}",
        rf"\d{{1,4}} {{1,8}}(?:\[[\w, ]{{1,40}}\] )?0x[0-9a-fA-F]{{4,16}} {_REST}",
        r"(?:Current stack trace|Stack dump):",
        around=r": file \S{1,300}\.swift, line \d{1,7}$"
        r"|^\S{1,300}\.swift:\d{1,7}: (?=Fatal error|Assertion|Precondition)",
    ),
)
# Frames that stand in one line with the words, where somebody put the lines of a trace into one. One that names only a
# file may be about the caller's own; several in a row, and those with the root of a file system, are of no one else.
_NAME: Final = r"(?:async |new )?[^\s()]{1,200}(?: \[as [^\]\n]{1,100}\])?"
_SCRIPT: Final = r"\.(?:[cm]?[jt]sx?|vue|svelte):\d{1,7}:\d{1,7}"
_NODE: Final = (
    rf"[ \t]{{1,12}}at (?:{_NAME} "
    rf"\((?:[^()\n]{{1,300}}{_SCRIPT}|node:[^()\s]{{1,200}}|<anonymous>|native|index \d{{1,6}})\)"
    rf"|(?:async )?(?:[^\s()]{{1,300}}{_SCRIPT}|node:[^\s()]{{1,200}}:\d{{1,7}}))"
)
_IN_LINE: Final = pattern(
    rf"(?<=\S)(?:(?:{_NODE}){{2,400}}|[ \t]{{1,12}}at {_NAME} \((?:file:|/|[A-Za-z]:[\\/])[^()\n]{{1,300}}{_SCRIPT}\)"
    r"|[ \t]{1,12}at [\w.$<>/@]{3,300}\([^()\n]{1,200}\.(?:java|kt|scala|groovy):\d{1,7}\)"
    r"|[ \t]{1,12}at [^\s()]{3,300}\([^()\n]{0,300}\) in [^\n]{1,300}?:line \d{1,7})"
)
_PLACED: Final = pattern(r"[jt]sx?:\d|\.(?:vue|svelte|java|kt|scala|groovy):\d|:line \d")
# Without one of these, a single line is none, which most failures are.
_IN_ONE_LINE: Final = pattern(r"race|goroutine |panicked at | line |:in |:line |:\d{1,7}[:)]|\.php:|Error in |#|\[0x")
# What whoever wrote the tool says after a trace: a sentence at the margin.
_SENTENCE: Final = pattern(r"[A-Z][^\n]{1,2000}[.!?]")


def trace_line(text: str) -> str | None:
    """The line of a trace that counts; None for a text that is none.

    >>> trace_line("Error: gone\\n    at read (/srv/a.js:1:2)\\n    at main (/srv/a.js:9:9)")
    'Error: gone'
    >>> trace_line("panic: gone\\n\\ngoroutine 1 [running]:\\nmain.main()\\n\\t/srv/a.go:7 +0x1d\\nCall list_ids.")
    'panic: gone\\nCall list_ids.'
    """
    text = _as_lines(text)
    if "\n" not in text and _IN_ONE_LINE.search(text) is None:
        return None
    told = text
    if _PYTHON.search(text):
        if (flat := _FLAT.search(text)) is not None:
            return _of_flat(flat[0])
        told = _ungrouped(text) if _GROUP in text else text
        if lines := _LAST.findall(told):
            return str(lines[-1])
    for trace in _TRACES:
        if trace.sign.search(told):
            told = _without(trace, told)
    told = _IN_LINE.sub("", told) if _PLACED.search(told) else told
    return None if told == text else told.strip() or _NOTHING_LEFT


def without_frames(text: str) -> str:
    """A long text without the frames of the traces in it; all else stays.

    >>> without_frames("built a\\nError: gone\\n    at read (/srv/a.js:1:2)\\n2 of 3 failed")
    'built a\\nError: gone\\n2 of 3 failed'
    """
    seen, said = uncoloured(text), text
    in_json = "\\n" in seen and "\n" not in seen.strip()
    if (in_json or _has_breaks(seen)) and trace_line(seen) is not None:
        # It is told as it reads.
        seen = said = _as_lines(seen)
    text = seen
    told = _PYTHON_FRAMES.sub("\n", _ungrouped(text) if _GROUP in text else text)
    told = _FLAT.sub(lambda flat: _of_flat(flat[0]), told)
    for trace in _TRACES:
        if trace.sign.search(told):
            told = trace.frames.sub(_FRAME, told)
    told = _IN_LINE.sub("", told) if _PLACED.search(told) else told
    return said if told == text else told.replace(f"{_FRAME}\r\n", "").replace(f"{_FRAME}\n", "").replace(_FRAME, "")


# Pages write the end of a line as an element, and what stands around a trace as others.
_BREAK: Final = pattern(r"<br ?/?>\n?|</?(?:pre|code|p|div|body|html)\b[^<>]{0,200}>", re.IGNORECASE)


def _has_breaks(text: str) -> bool:
    return "<br" in text or "<BR" in text


def _as_lines(text: str) -> str:
    """A text in the lines that its readers see: without colours, with line ends for what JSON and markup write."""
    text = uncoloured(text)
    if "\\n" in text:
        # In JSON, or what is left of it where a long answer was cut.
        text = text.replace("\\n", "\n").replace('\\"', '"')
    if _has_breaks(text):
        from html import unescape

        # A space that does not break is one that sets a frame in.
        text = unescape(_BREAK.sub("\n", text)).replace("\xa0", " ").strip("\n")
    return text


def _ungrouped(text: str) -> str:
    """A text with the exceptions that were raised at once one after the other, each as if it were alone."""
    return _GROUPED.sub(lambda group: "\n" + _DRAWN.sub("", group[0]), text)


def _of_flat(text: str) -> str:
    """What a trace of Python says whose lines were put into one. Of what is no exception for certain nothing is told,
    since it may be a line of the program."""
    start = 0
    for frame in _FLAT_FRAME.finditer(text):
        start = frame.end()
    found = _FLAT_LAST.search(text.rstrip(_DRAWING), start)
    return found[0] if found is not None else _NOTHING_LEFT


# What is drawn around exceptions that were raised at once.
_DRAWING: Final = "+-| \t\r\n"


def _without(trace: _Trace, text: str) -> str:
    first = trace.frames.search(text)
    if first is not None:
        after = trace.frames.sub("", text[first.start() :]).splitlines()
        kept = [line for line in after if _SENTENCE.fullmatch(line) or (trace.around and trace.around.match(line))]
        text = "\n".join([text[: first.start()].strip(), *kept])
    # That it was a panic is what tells it from a refusal in the same words.
    return (
        text if trace.around is None else trace.around.sub(lambda found: _PANIC if _PANICKED in found[0] else "", text)
    )
