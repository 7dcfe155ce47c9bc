"""Runs the conformance vectors against an implementation in any language, over its standard input and output.

The requests are a file, and a command that gives no answer in time is killed, so neither one that does not read nor one
that does not write can hold up the run.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import ndiff
from importlib.resources import files
from typing import IO, Any, Final

from failwell.formats import FORMATS
from failwell.model import Json

LEVELS: Final = (*FORMATS, "decide")
"""What an implementation can claim, one by one: each has a file of vectors."""

TIMEOUT: Final = 10.0
_LONGEST_LINE: Final = 4_000_000
_LONGEST_SHOWN: Final = 160
_ABSENT: Final = object()
# Where an error came from and what was noted on the way is the reader's own business.
_NOT_COMPARED: Final = ("origin", "delivery", "format", "confidence", "notes")


@dataclass(frozen=True, slots=True)
class Vector:
    """One question and the answer it should get."""

    id: str
    operation: str
    format: str
    options: Mapping[str, Json]
    input: Json
    expect: Json

    def request(self) -> bytes:
        """The line an implementation reads."""
        asked = {name: getattr(self, name) for name in ("id", "operation", "format", "options", "input")}
        return json.dumps(asked).encode() + b"\n"

    def differences(self, output: Json) -> list[str]:
        """What is wrong with an answer."""
        if self.operation == "parse":
            return differences(_compared(self.expect), _compared(output))
        if self.operation == "losses" and isinstance(output, list) and all(isinstance(name, str) for name in output):
            missing, extra = set(self.expect).difference(output), set(output).difference(self.expect)
            return [f"not named: {name}" for name in sorted(missing)] + [f"named: {name}" for name in sorted(extra)]
        return differences(self.expect, output)


def _compared(outcome: Json) -> Json:
    if not isinstance(outcome, dict):
        return outcome
    data = {name: value for name, value in outcome.items() if name not in _NOT_COMPARED}
    # Not to be told apart in meaning: an error that says nothing about its severity is an error.
    return data if "outcome" in data else {**data, "severity": data.get("severity", "error")}


def load_vectors(levels: Iterable[str] = LEVELS) -> list[Vector]:
    """The vectors of these levels, in the order of the files."""
    folder = files("failwell") / "conformance" / "vectors"
    return [
        Vector(**vector)
        for level in levels
        for vector in json.loads((folder / f"{level}.json").read_text(encoding="utf-8"))
    ]


@dataclass(slots=True)
class Tally:
    """How one level went."""

    passed: int = 0
    failed: int = 0
    unsupported: int = 0
    not_run: int = 0

    @property
    def claim(self) -> bool:
        """Whether the implementation may say that it has this level: all of it, and right."""
        return self.passed > 0 and not (self.failed or self.unsupported or self.not_run)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A vector that was answered wrongly, and how."""

    vector: Vector
    differences: list[str]


@dataclass(slots=True)
class ConformanceReport:
    """How a run went. `problem` is why it ended before all vectors were answered."""

    levels: dict[str, Tally]
    failures: list[Mismatch] = field(default_factory=list)
    problem: str | None = None

    @property
    def passed(self) -> bool:
        return self.problem is None and not self.failures


class Misbehaved(Exception):
    """The command did not keep to the protocol, so there is no point in going on."""


def run(command: Sequence[str], vectors: Sequence[Vector], timeout: float = TIMEOUT) -> ConformanceReport:
    """Start `command` once and ask it everything. Raises OSError or ValueError when it cannot be started."""
    report = ConformanceReport({level: Tally() for level in dict.fromkeys(vector.format for vector in vectors)})
    pending = {vector.id: vector for vector in vectors}
    with tempfile.TemporaryFile() as requests, tempfile.TemporaryFile() as errors:
        requests.write(b"".join(vector.request() for vector in vectors))
        requests.seek(0)
        process = subprocess.Popen(
            command,
            stdin=requests,
            stdout=subprocess.PIPE,
            stderr=errors,
            # A group of its own, so that a shell or a package runner does not leave the real command behind.
            start_new_session=sys.platform != "win32",
        )
        try:
            while pending:
                answer = _next_answer(process, errors, next(iter(pending)), timeout)
                vector = pending.pop(answer["id"], None) if isinstance(answer["id"], str) else None
                if vector is None:
                    raise Misbehaved(f"the command answered {_quote(answer['id'])}, which was not asked or is answered")
                _judge(report, vector, answer)
            # It knows that nothing more comes.
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(min(timeout, 2.0))
        except Misbehaved as problem:
            report.problem = str(problem)
        finally:
            _kill(process)
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
    for vector in pending.values():
        report.levels[vector.format].not_run += 1
    return report


def _judge(report: ConformanceReport, vector: Vector, answer: Mapping[str, Json]) -> None:
    tally = report.levels[vector.format]
    if answer.get("unsupported") is True:
        tally.unsupported += 1
        return
    if "error" in answer:
        wrong = [f"it answered with an error: {_quote(answer['error'])}"]
    elif "output" in answer:
        wrong = vector.differences(answer["output"])
    else:
        raise Misbehaved(f"the answer to {vector.id} has neither output nor unsupported nor error")
    if wrong:
        tally.failed += 1
        report.failures.append(Mismatch(vector, wrong))
    else:
        tally.passed += 1


def _next_answer(
    process: subprocess.Popen[bytes], errors: IO[bytes], waiting_for: str, timeout: float
) -> dict[str, Json]:
    """The next answer; Misbehaved when there is none in time."""
    expired = threading.Event()

    def expire() -> None:
        expired.set()
        _kill(process)

    watchdog = threading.Timer(timeout, expire)
    watchdog.daemon = True
    watchdog.start()
    assert process.stdout is not None
    line = b""
    try:
        while not line.strip() and (line := process.stdout.readline(_LONGEST_LINE)):
            pass
    finally:
        watchdog.cancel()
    if expired.is_set():
        raise Misbehaved(f"the command gave no answer to {waiting_for} within {timeout:g} seconds")
    if not line:
        try:
            code = process.wait(min(timeout, 1.0))
            ending = (
                f"the command ended with exit code {code}" if code >= 0 else f"the command was ended by signal {-code}"
            )
        except subprocess.TimeoutExpired:
            ending = "the command closed its output"
        errors.seek(0)
        words = errors.read().decode("utf-8", "replace").strip().splitlines()
        last = f"; its last words: {_quote(words[-1])}" if words else ""
        raise Misbehaved(f"{ending} before it answered {waiting_for}{last}")
    try:
        answer = json.loads(line.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict) or "id" not in answer:
        shown = _quote(line.decode("utf-8", "replace"))
        raise Misbehaved(f"the command printed something that is not an answer: {shown}")
    return answer


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _no_number(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _quote(value: Json) -> str:
    text = value.strip() if isinstance(value, str) else value
    shown = json.dumps(text, ensure_ascii=False)
    return shown if len(shown) <= 120 else shown[:119] + '…"'


def differences(expected: Json, got: Json) -> list[str]:
    """One line for each place where `got` is not `expected`; none when they are the same JSON value."""
    return list(_walk(expected, got, ""))


def _walk(expected: Any, got: Any, path: str) -> Iterator[str]:
    if isinstance(expected, dict) and isinstance(got, dict):
        for name in [*expected, *(name for name in got if name not in expected)]:
            inner = f"{path}.{name}" if path else name
            yield from _walk(expected.get(name, _ABSENT), got.get(name, _ABSENT), inner)
    elif isinstance(expected, list) and isinstance(got, list):
        for index in range(max(len(expected), len(got))):
            wanted, came = (items[index] if index < len(items) else _ABSENT for items in (expected, got))
            yield from _walk(wanted, came, f"{path}[{index}]")
    elif not _same(expected, got):
        where = f"{path}: " if path else ""
        if isinstance(expected, str) and isinstance(got, str) and "\n" in expected + got:
            yield f"{where}the texts differ (- expected, + got)"
            compared = ndiff(expected.split("\n"), got.split("\n"))
            yield from (f"  {_short(line)}" for line in compared if not line.startswith(("  ", "? ")))
        else:
            yield f"{where}expected {_shown(expected)}, got {_shown(got)}"


def _same(expected: Any, got: Any) -> bool:
    # Python says that True equals 1; JSON does not. It does say that 1 and 1.0 are the same number.
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    return bool(expected == got)


def _shown(value: Any) -> str:
    return "nothing" if value is _ABSENT else _short(json.dumps(value, ensure_ascii=False))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
