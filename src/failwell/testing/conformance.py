"""Runs the conformance vectors against an implementation in any language, over its standard input and output.

The requests are written by a thread of their own and the answers read by another, so that neither a command that does
not read nor one that does not write can hold up the run: only the wait for the next answer counts, and it has an end.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from threading import Thread
from typing import IO, Any, Final, Self

from failwell.formats import FORMATS
from failwell.model import Json

from .differences import differences

LEVELS: Final = (*FORMATS, "decide")
"""What an implementation can claim, one by one: each has a file of vectors."""

TIMEOUT: Final = 10.0
_LONGEST_LINE: Final = 4_000_000
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
    with _Running(command, vectors, timeout) as running:
        try:
            while pending:
                answer = running.answer(next(iter(pending)))
                vector = pending.pop(answer["id"], None) if isinstance(answer["id"], str) else None
                if vector is None:
                    raise Misbehaved(f"the command answered {_quote(answer['id'])}, which was not asked or is answered")
                _judge(report, vector, answer)
            running.finish()
        except Misbehaved as problem:
            report.problem = str(problem)
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


class _Running:
    """A command that was started, its answers, and the certainty that it is gone afterwards."""

    def __init__(self, command: Sequence[str], vectors: Sequence[Vector], timeout: float) -> None:
        self.timeout = timeout
        self.lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed on exit
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.stderr,
                # A group of its own, so that a shell or a package runner does not leave the real command behind.
                start_new_session=sys.platform != "win32",
            )
        except BaseException:
            self.stderr.close()
            raise
        self.asking = self._pump(self.process.stdin, self._ask, vectors)
        self.reading = self._pump(self.process.stdout, self._read)

    def _pump(self, pipe: IO[bytes] | None, work: Callable[..., None], *arguments: Any) -> Thread:
        assert pipe is not None
        thread = Thread(target=work, args=(pipe, *arguments), daemon=True)
        thread.start()
        return thread

    def _ask(self, stdin: IO[bytes], vectors: Sequence[Vector]) -> None:
        # That a command has ended is noticed by its answers, not here.
        with contextlib.suppress(OSError):
            for vector in vectors:
                stdin.write(vector.request())
                stdin.flush()
        with contextlib.suppress(OSError):
            stdin.close()

    def _read(self, stdout: IO[bytes]) -> None:
        with contextlib.suppress(OSError), stdout:
            while line := stdout.readline(_LONGEST_LINE):
                self.lines.put(line)
        self.lines.put(b"")

    def answer(self, waiting_for: str) -> dict[str, Json]:
        """The next answer; Misbehaved when there is none."""
        deadline = time.monotonic() + self.timeout
        while (left := deadline - time.monotonic()) > 0:
            try:
                line = self.lines.get(timeout=left)
            except queue.Empty:
                break
            if not line:
                raise Misbehaved(f"{self._ending()} before it answered {waiting_for}{self._last_words()}")
            if line.strip():
                return _answer(line)
        raise Misbehaved(f"the command gave no answer to {waiting_for} within {self.timeout:g} seconds")

    def _ending(self) -> str:
        try:
            code = self.process.wait(min(self.timeout, 1.0))
        except subprocess.TimeoutExpired:
            return "the command closed its output"
        return f"the command ended with exit code {code}" if code >= 0 else f"the command was ended by signal {-code}"

    def _last_words(self) -> str:
        self.stderr.seek(0, os.SEEK_END)
        self.stderr.seek(max(0, self.stderr.tell() - 4096))
        said = self.stderr.read().decode("utf-8", "replace").strip().splitlines()
        return f"; its last words: {_quote(said[-1])}" if said else ""

    def finish(self) -> None:
        """Time to say goodbye: it knows that nothing more comes."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(min(self.timeout, 2.0))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            if sys.platform == "win32":
                self.process.kill()
            else:
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        # The pipes end with the command, and the threads with the pipes; something it set free may still hold them.
        for thread in (self.asking, self.reading):
            thread.join(1.0)
        self.stderr.close()


def _answer(line: bytes) -> dict[str, Json]:
    try:
        answer = json.loads(line.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict) or "id" not in answer:
        raise Misbehaved(
            f"the command printed something that is not an answer: {_quote(line.decode('utf-8', 'replace'))}"
        )
    return answer


def _no_number(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _quote(value: Json) -> str:
    text = value.strip() if isinstance(value, str) else value
    shown = json.dumps(text, ensure_ascii=False)
    return shown if len(shown) <= 120 else shown[:119] + '…"'
