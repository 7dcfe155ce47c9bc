"""Stack traces, one row per language: the line that says what happened, without the way to it."""

from __future__ import annotations

from re import MULTILINE, Pattern
from typing import Final, NamedTuple

from failwell.model import pattern

_PYTHON: Final = pattern(r"Traceback \(most recent call last\):|\n  File \"[^\"\n]{1,300}\", line \d{1,7}")
# The first line at the left margin after the frames.
_LAST: Final = pattern(r"(?:^|\n)((?:[a-zA-Z_]\w{0,60}\.){0,8}[A-Z]\w{1,60}(?:: [^\n]{0,2000})?)(?=\n|$)")
_PYTHON_FRAMES: Final = pattern(r"(?:^|\n)Traceback \(most recent call last\):(?:\n[ \t][^\n]{0,2000}){1,400}\n")
# A control character: the guard lets none through, so that no text holds it.
_FRAME: Final = "\x00"
_PANICKED: Final = "panicked at"
_PANIC: Final = "panicked: "
_NOTHING_LEFT: Final = "The tool crashed."


class _Trace(NamedTuple):
    """How a language writes a trace."""

    frames: Pattern[str]
    """Lines that are no words of anybody: where it was, and what stands above and below that."""

    around: Pattern[str] | None = None
    """What stands before and after the words in the line that says what happened."""


def _row(*frames: str, around: str = "") -> _Trace:
    lines = "|".join(frames)
    return _Trace(pattern(rf"^(?:{lines})[ \t\r]*$", MULTILINE), pattern(around, MULTILINE) if around else None)


_REST: Final = r"[^\n]{0,2000}"
_BEFORE_AT: Final = r"(?:\t{1,4}|[ \t]{2,12})"
_PLACE: Final = r"[^\s:()]{1,300}"

_TRACES: Final = {
    "Node, Java and .NET": _row(
        rf"{_BEFORE_AT}at (?:async )?{_REST}",
        rf"(?:Caused by|[ \t]{{0,12}}Suppressed): {_REST}",
        r"[ \t]{0,12}\.\.\. \d{1,6} (?:more|common frames omitted)",
        rf"[ \t]{{0,12}}--- End of (?:inner exception )?stack trace{_REST}",
        r"Node\.js v[\d.]{1,20}",
        around=r"^Exception in thread \"[^\"\n]{0,200}\" ",
    ),
    "Go": _row(
        r"goroutine \d{1,9} \[[^\]\n]{0,200}\]:",
        rf"[^\s(]{_REST}\)\n[ \t]{{1,8}}[^\s:]{{1,300}}\.(?:go|s):\d{{1,7}}{_REST}",
        rf"created by {_REST}\n[ \t]{{1,8}}[^\s:]{{1,300}}\.(?:go|s):\d{{1,7}}{_REST}",
        rf"[ \t]{{1,8}}[^\s:]{{1,300}}\.(?:go|s):\d{{1,7}}{_REST}",
        rf"\[signal SIG{_REST}|exit status \d{{1,3}}",
    ),
    "Rust": _row(
        r"stack backtrace:",
        rf"[ \t]{{1,8}}\d{{1,4}}: {{1,8}}\S{_REST}",
        rf"[ \t]{{4,20}}at \S{_REST}",
        rf"note: (?:run with|[Ss]ome details are omitted){_REST}",
        around=rf"^thread '[^'\n]{{0,200}}' (?:\(\d{{1,9}}\) )?panicked at (?:{_PLACE}:\d{{1,7}}:\d{{1,7}}:\s|')"
        rf"|', {_PLACE}\.rs:\d{{1,7}}:\d{{1,7}}$",
    ),
    "PHP": _row(
        r"(?:PHP )?Stack trace:",
        rf"(?:PHP )?[ \t]{{0,4}}#?\d{{1,4}}\.? "
        rf"(?:\{{main\}}|\[internal function\]: {_REST}|\S{{1,300}}\(\d{{1,7}}\): {_REST})",
        r"[ \t]{0,4}thrown in \S{1,300} on line \d{1,7}",
        around=r"^(?:PHP )?Fatal error: {1,3}(?:Uncaught )?| in \S{1,300}\.php(?::\d{1,7}| on line \d{1,7})(?=$|[.\s])",
    ),
    "Ruby": _row(
        rf"[ \t]{{0,8}}(?:\d{{1,4}}: )?(?:from )?\S{{1,300}}:\d{{1,7}}:in [`']{_REST}'",
        r"Traceback \(most recent call last\):",
        around=r"^\S{1,300}:\d{1,7}:in [`'][^'\n]{1,200}': ",
    ),
    "Perl": _row(
        rf"[ \t]{{1,8}}{_REST} called at \S{{1,300}} line \d{{1,7}}\.?",
        around=r" at \S{1,300}\.(?:p[lm]|t|cgi) line \d{1,7}(?:, <\w{1,40}> (?:line|chunk) \d{1,9})?\.?",
    ),
    "Elixir and Erlang": _row(
        rf"[ \t]{{2,8}}(?:\([^()\n]{{1,80}}\) )?[^\s:]{{1,300}}\.(?:exs?|erl):\d{{1,7}}: {_REST}",
    ),
    "R": _row(
        rf"Calls: {_REST}|Traceback:",
        rf"[ \t]{{0,4}}\d{{1,4}}[:.] {_REST}(?: at \S{{1,300}}#\d{{1,7}}|\))",
        r"Execution halted|In addition: Warning messages?:",
        around=r"(?<=^Error) in [\w.:$]{1,100}\([^\n]{0,300}\) ?(?=:\s)",
    ),
    "Dart": _row(rf"#\d{{1,4}} {{2,8}}{_REST}\([^()\n]{{1,300}}\)"),
    "Lua": _row(r"stack traceback:", rf"\t(?:\[C\]|[^\s:]{{1,300}}:\d{{1,7}}): (?:in|\?){_REST}|\t\[C\]: \?"),
}
# By these it is told in one look that a text is a trace, and of which language.
_SIGNS: Final = {
    "Node, Java and .NET": pattern(rf"\n{_BEFORE_AT}at (?:async )?[^\n]{{1,2000}}(?=\n|$)"),
    "Go": pattern(r"goroutine \d{1,9} \[|\n\t\S{1,300}\.go:\d{1,7} \+0x"),
    "Rust": pattern(r"' (?:\(\d{1,9}\) )?panicked at |stack backtrace:"),
    "PHP": pattern(
        r"\n(?:PHP )?[ \t]{0,4}#?\d{1,4}\.? (?:\{main\}|\S{1,300}\(\d{1,7}\): )|Stack trace:\s| in \S{1,300}\.php:\d"
    ),
    "Ruby": pattern(r"\S:\d{1,7}:in [`']"),
    "Perl": pattern(r" at \S{1,300}\.(?:p[lm]|t|cgi) line \d|\n[ \t]{1,8}[^\n]{1,2000} called at \S{1,300} line \d"),
    "Elixir and Erlang": pattern(r"\n[ \t]{2,8}(?:\([^()\n]{1,80}\) )?[^\s:]{1,300}\.(?:exs?|erl):\d{1,7}: "),
    "R": pattern(
        r"(?:^|\n)(?:Error in [\w.:$]{1,100}\([^\n]{0,300}\) ?:\s|Calls: [^\n]{0,300}->|Traceback:\n)"
        r"| at \S{1,300}\.[rR]#\d"
    ),
    "Dart": pattern(r"\n#\d{1,4} {2,8}[^\n]{1,2000}\([^()\n]{1,300}:\d{1,7}"),
    "Lua": pattern(r"stack traceback:\n"),
}
# Without one of these, a single line is none, which most failures are.
_IN_ONE_LINE: Final = pattern(r"race|goroutine |panicked at | line |:in |\.php:|Error in |#")
# What whoever wrote the tool says after a trace: a sentence at the margin.
_SENTENCE: Final = pattern(r"[A-Z][^\n]{1,2000}[.!?]")


def trace_line(text: str) -> str | None:
    """The line of a trace that counts; None for a text that is none.

    >>> trace_line("Error: gone\\n    at read (/srv/a.js:1:2)\\n    at main (/srv/a.js:9:9)")
    'Error: gone'
    >>> trace_line("panic: gone\\n\\ngoroutine 1 [running]:\\nmain.main()\\n\\t/srv/a.go:7 +0x1d\\nCall list_ids.")
    'panic: gone\\nCall list_ids.'
    """
    if "\\n" in text:
        # In JSON, or what is left of it where a long answer was cut.
        text = text.replace("\\n", "\n").replace('\\"', '"')
    if "\n" not in text and _IN_ONE_LINE.search(text) is None:
        return None
    if _PYTHON.search(text) and (lines := _LAST.findall(text)):
        return str(lines[-1])
    told = text
    for language, sign in _SIGNS.items():
        if sign.search(told):
            told = _without(_TRACES[language], told)
    return None if told == text else told.strip() or _NOTHING_LEFT


def without_frames(text: str) -> str:
    """A long text without the frames of the traces in it; all else stays.

    >>> without_frames("built a\\nError: gone\\n    at read (/srv/a.js:1:2)\\n2 of 3 failed")
    'built a\\nError: gone\\n2 of 3 failed'
    """
    told = _PYTHON_FRAMES.sub("\n", text)
    for language, sign in _SIGNS.items():
        if sign.search(told):
            told = _TRACES[language].frames.sub(_FRAME, told)
    return told if told == text else told.replace(f"{_FRAME}\r\n", "").replace(f"{_FRAME}\n", "").replace(_FRAME, "")


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
