"""How the time grows with the text: what reads and guards hostile texts, on texts of one length and of four times that.

A text that is four times as long may take twelve times as long, and fifty milliseconds more. The tests count steps
instead, which no clock and no other program disturbs; what runs in C cannot be counted, so its time is measured here.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS), *(str(TESTS / name) for name in ("redact", "readers", "laws"))]

import hostile  # noqa: E402
import test_error_guard  # noqa: E402
import test_error_text  # noqa: E402
import test_law_parse  # noqa: E402

import failwell as fw  # noqa: E402
from failwell.readers import from_text  # noqa: E402
from failwell.redact import DEFAULT  # noqa: E402
from growth import repeated  # noqa: E402

Work = Callable[[str], object]
Text = Callable[[int], str]


def seconds(work: Work, text: str, tries: int) -> float:
    best = float("inf")
    for _ in range(tries):
        started = time.process_time()
        work(text)
        best = min(best, time.process_time() - started)
    return best


def slow(work: Work, text: Text, lengths: Iterable[int]) -> str | None:
    for length in lengths:
        for tries in (1, 3):
            shorter, longer = seconds(work, text(length), tries), seconds(work, text(4 * length), tries)
            if longer <= 12 * shorter + 0.05:
                break
        else:
            return f"{text(30)!r}: {shorter:.3f} s for {length}, {longer:.3f} s for {4 * length}"
    return None


def framed(frame: str, piece: str) -> Text:
    return lambda length: frame.replace("{{", "{").replace("{}", piece * (length // len(piece) + 1))


def measured(name: str, work: Work, texts: Iterable[Text], lengths: Iterable[int]) -> int:
    found = [each for each in (slow(work, text, lengths) for text in texts) if each is not None]
    print(f"{name}: {'grows with the text' if not found else 'GROWS FASTER THAN THE TEXT'}", flush=True)
    for line in found:
        print(f"  {line}")
    return len(found)


# Names that make a rule look closer, around every beginning of every rule.
AROUND = ("{}", "{}pass", "password={}", "token: '{}", "[parameters: ({}", "{} password")


def bounded() -> int:
    """How long one error takes, whatever its text: a megabyte is cut before anybody looks through it."""
    worst, slowest = 0.0, ""
    for beginning in hostile.beginnings(2)[:: 1 if "--all" in sys.argv else 23]:
        for around in AROUND:
            unit = around.format(beginning)
            took = seconds(lambda text: DEFAULT(fw.ToolError(text)), repeated(unit)(1_000_000), 1)
            if took > worst:
                worst, slowest = took, unit
    print(f"guard: one error of a megabyte takes {worst:.2f} s at most, for {slowest!r}", flush=True)
    return int(worst >= 3)


def main() -> int:
    units = [repeated(unit) for unit in test_error_guard.UNITS]
    wrong = 0
    for name, work in test_error_guard.WORKERS.items():
        lengths = (1_500, 5_000, 50_000) if name == "redact" else (1_500, 5_000)
        wrong += measured(f"guard: {name}", work, units, lengths)
    for unit in ("-eyJ", "password=", "\x9d", "\u200d", "a-", "https://", "_-", "ops_eyJ", "ignore all "):
        took = seconds(DEFAULT.text, repeated(unit)(16_000), 2)
        if took >= 0.5:
            wrong += 1
            print(f"guard: one error of {unit!r} takes {took:.2f} s")
    wrong += bounded()
    prose = [repeated(unit) for unit in test_error_text.UNITS]
    wrong += measured("prose", from_text, prose, (1_000, 4_000, 16_000))
    wrong += measured("prose of errors", lambda text: from_text(text, is_error=True), prose, (1_000, 4_000, 16_000))
    for frame in test_law_parse.FRAMES:
        texts = [framed(frame, piece) for piece in test_law_parse.PIECES]
        wrong += measured(f"parse: {frame}", fw.parse, texts, (5_000, 50_000))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
