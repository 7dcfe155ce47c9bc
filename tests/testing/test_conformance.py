"""The conformance vectors over a real wire: the real command, a subprocess, and implementations good and bad."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from failwell.model import UNWRITTEN
from failwell.testing.adapter import answer
from failwell.testing.conformance import LEVELS, Vector, differences, load_vectors, run

ROOT = Path(__file__).parent.parent.parent
ADAPTER = [sys.executable, "-m", "failwell.testing.adapter"]
TYPESCRIPT = ROOT / "conformance" / "typescript" / "failwell.ts"
NODE = Path(sys.executable).parent / "node"

# What every scripted implementation below begins with.
_READS = "import json, sys, time, os\nrequests = (json.loads(line) for line in sys.stdin)\n"


def failwell(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "failwell", "conformance", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=300, check=False)
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], list[str]]:
    """A command that runs some lines of Python."""

    def write(program: str) -> list[str]:
        path = tmp_path / "implementation.py"
        path.write_text(_READS + program, encoding="utf-8")
        return [sys.executable, str(path)]

    return write


def only_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_failwell_itself_passes_everything() -> None:
    done = failwell("--json", "--", *ADAPTER)
    report = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert report["conforms"] == list(LEVELS)
    assert report["failures"] == []
    assert sum(level["passed"] for level in report["formats"].values()) == len(load_vectors())


def test_the_report_for_people_has_one_line_per_format() -> None:
    done = failwell("--format", "text", "--format", "decide", "--", *ADAPTER)
    counts = {level: len(load_vectors([level])) for level in ("text", "decide")}
    assert done.stdout.splitlines() == [
        f"text         {counts['text']} passed, 0 failed, 0 unsupported",
        f"decide       {counts['decide']} passed, 0 failed, 0 unsupported",
        "conforms: text, decide",
    ]


def test_the_typescript_implementation_has_what_it_claims_and_nothing_else() -> None:
    done = failwell("--json", "--timeout", "120", "--", str(NODE), str(TYPESCRIPT))
    report = json.loads(done.stdout)
    assert (done.returncode, report["failures"]) == (0, [])
    assert report["conforms"] == ["typed", "v1"]
    for level in LEVELS:
        count = len(load_vectors([level]))
        mine = level in ("typed", "v1")
        assert report["formats"][level] == {
            "passed": count if mine else 0,
            "failed": 0,
            "unsupported": 0 if mine else count,
            "not_run": 0,
        }


def test_the_typescript_implementation_stays_small_and_typed() -> None:
    text = TYPESCRIPT.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 200
    # It is checked with tsc --strict by hand; what would make that worthless is not in it.
    assert not re.search(r"\bany\b|@ts-|as unknown as", text)


def test_node_runs_the_typescript_implementation_without_a_word() -> None:
    done = subprocess.run(
        [str(NODE), str(TYPESCRIPT)], input="", capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_wrong_implementation_fails_with_the_difference(script: Callable[[str], list[str]]) -> None:
    wrong = script(
        "from failwell.testing.adapter import answer\n"
        "for request in requests:\n"
        "    said = answer(json.dumps(request).encode())\n"
        "    if request['id'] == 'typed/render/rate-limited':\n"
        "        said['output']['data']['retry_after'] = '30'\n"
        "        said['output']['retry'] = True\n"
        "    if request['id'] == 'typed/losses/actions':\n"
        "        said['output'] = ['suggestion', 'mood']\n"
        "    print(json.dumps(said), flush=True)\n"
    )
    done = failwell("--format", "typed", "--", *wrong)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        f"typed        {len(load_vectors(['typed'])) - 2} passed, 2 failed, 0 unsupported",
        "  typed/losses/actions",
        "    not named: actions",
        "    not named: code",
        "    named: mood",
        "  typed/render/rate-limited",
        '    data.retry_after: expected 30, got "30"',
        "    retry: expected nothing, got true",
        "conforms: nothing in full",
    ]


def test_an_error_is_a_failure_and_many_are_summed_up(script: Callable[[str], list[str]]) -> None:
    broken = script("for request in requests:\n    print(json.dumps({'id': request['id'], 'error': 'no such luck'}))\n")
    done = failwell("--format", "text", "--", *broken)
    count = len(load_vectors(["text"]))
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert lines[0] == f"text         0 passed, {count} failed, 0 unsupported"
    assert lines[2] == '    it answered with an error: "no such luck"'
    assert lines[-2] == f"  and {count - 3} more; --json shows all"


def test_unsupported_is_no_failure_and_no_claim(script: Callable[[str], list[str]]) -> None:
    none = script("for request in requests:\n    print(json.dumps({'id': request['id'], 'unsupported': True}))\n")
    done = failwell("--format", "xml", "--", *none)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "conforms: nothing in full"


def test_answers_may_come_in_any_order(script: Callable[[str], list[str]]) -> None:
    late = script(
        "from failwell.testing.adapter import answer\n"
        "for request in reversed(list(requests)):\n"
        "    print(json.dumps(answer(json.dumps(request).encode())))\n"
    )
    assert failwell("--", *late).returncode == 0


# what it does, the timeout it is given, and what is said about it
BAD: dict[str, tuple[str, str, str]] = {
    "dies at once": ("sys.exit(7)\n", "120", "the command ended with exit code 7 before it answered {first}"),
    "dies with an exception": (
        "next(requests)\nraise RuntimeError('out of paper')\n",
        "120",
        'the command ended with exit code 1 before it answered {first}; its last words: "RuntimeError: out of paper"',
    ),
    "dies after an answer": (
        "print(json.dumps({'id': next(requests)['id'], 'unsupported': True}), flush=True)\nsys.exit(0)\n",
        "120",
        "the command ended with exit code 0 before it answered {second}",
    ),
    "hangs": ("time.sleep(600)\n", "0.5", "the command gave no answer to {first} within 0.5 seconds"),
    "hangs in the middle of a line": (
        "sys.stdout.write('{\"id\"')\nsys.stdout.flush()\ntime.sleep(600)\n",
        "0.5",
        "the command gave no answer to {first} within 0.5 seconds",
    ),
    "prints empty lines for ever": (
        "while True:\n    sys.stdout.write('\\n' * 1000)\n",
        "0.5",
        "the command gave no answer to {first} within 0.5 seconds",
    ),
    "prints a banner": (
        "print('Listening on stdio', flush=True)\ntime.sleep(600)\n",
        "120",
        'the command printed something that is not an answer: "Listening on stdio"',
    ),
    "prints bytes that are no text": (
        "sys.stdout.buffer.write(b'\\xff\\xfe\\n')\nsys.stdout.flush()\ntime.sleep(600)\n",
        "120",
        'the command printed something that is not an answer: "\ufffd\ufffd"',
    ),
    "prints another value": ("print('[1]')\n", "120", 'the command printed something that is not an answer: "[1]"'),
    "prints what is nearly JSON": (
        'print(\'{"id": "x", "output": NaN}\')\n',
        "120",
        'the command printed something that is not an answer: "{\\"id\\": \\"x\\", \\"output\\": NaN}"',
    ),
    "floods": (
        "while True:\n    sys.stdout.write('x' * 100000)\n",
        "120",
        'the command printed something that is not an answer: "' + "x" * 118 + '…"',
    ),
    "answers what was not asked": (
        "print(json.dumps({'id': 'other', 'output': 1}), flush=True)\ntime.sleep(600)\n",
        "120",
        'the command answered "other", which was not asked or is answered',
    ),
    "answers twice": (
        "id = next(requests)['id']\nfor _ in '12':\n    print(json.dumps({'id': id, 'unsupported': True}), flush=True)\n"
        "time.sleep(600)\n",
        "120",
        'the command answered "{first}", which was not asked or is answered',
    ),
    "answers nothing in particular": (
        "print(json.dumps({'id': next(requests)['id']}), flush=True)\ntime.sleep(600)\n",
        "120",
        "the answer to {first} has neither output nor unsupported nor error",
    ),
    "closes its output": (
        "os.close(1)\ntime.sleep(600)\n",
        "120",
        "the command closed its output before it answered {first}",
    ),
}


@pytest.mark.parametrize(("program", "timeout", "expected"), BAD.values(), ids=BAD)
def test_a_command_that_misbehaves_gives_one_line_and_exit_1(
    script: Callable[[str], list[str]], program: str, timeout: str, expected: str
) -> None:
    vectors = load_vectors(["typed"])
    done = failwell("--format", "typed", "--timeout", timeout, "--", *script(program))
    expected = expected.replace("{first}", vectors[0].id).replace("{second}", vectors[1].id)
    assert (done.returncode, only_line(done)) == (1, f"failwell: {expected}")
    assert f"{len(vectors)} not run" in done.stdout or f"{len(vectors) - 1} not run" in done.stdout


def test_a_misbehaving_command_still_gives_json(script: Callable[[str], list[str]]) -> None:
    done = failwell("--json", "--format", "typed", "--", *script("sys.exit(3)\n"))
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert report["passed"] is False
    assert f"failwell: {report['problem']}" == only_line(done)


def test_a_slow_command_has_the_timeout_for_every_answer(script: Callable[[str], list[str]]) -> None:
    slow = script(
        "for request in requests:\n"
        "    time.sleep(0.08)\n"
        "    print(json.dumps({'id': request['id'], 'unsupported': True}), flush=True)\n"
    )
    vectors = load_vectors(["xml"])
    # Together they take longer than the time for one.
    report = run(slow, vectors, timeout=0.08 * len(vectors))
    assert (report.problem, report.levels["xml"].unsupported) == (None, len(vectors))


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX")
def test_what_the_command_started_ends_with_it(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    report = run(["sh", "-c", f"sleep 600 & echo $! > {pid}; wait"], load_vectors(["typed"]), timeout=3.0)
    assert report.problem is not None
    child = int(pid.read_text())
    for _ in range(2_000):
        if not _runs(child):
            return
        time.sleep(0.05)
    pytest.fail("the command's own child is still running")


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A zombie that nobody has collected yet is as good as gone.
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_command_that_does_not_end_by_itself_is_ended(script: Callable[[str], list[str]]) -> None:
    lingering = script(
        "for request in requests:\n"
        "    print(json.dumps({'id': request['id'], 'unsupported': True}), flush=True)\n"
        "time.sleep(600)\n"
    )
    report = run(lingering, load_vectors(["text"]), timeout=60.0)
    assert report.passed


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--", "/no/such/command"], "failwell: cannot start /no/such/command: No such file or directory"),
        (["--", str(ROOT)], f"failwell: cannot start {ROOT}: Permission denied"),
        ([], "failwell: name the command to test after --, as in: failwell conformance -- ./my-adapter"),
        (
            ["--timeout", "0", "--", "true"],
            "failwell: argument --timeout: '0' is not a number of seconds above zero; try: failwell conformance --help",
        ),
        (
            ["--timeout", "nan", "--", "true"],
            "failwell: argument --timeout: 'nan' is not a number of seconds above zero; try: failwell conformance --help",
        ),
        (
            ["--format", "yaml", "--", "true"],
            f"failwell: there are no vectors for 'yaml'; use one of: {', '.join(LEVELS)}",
        ),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="the words are the system's")
def test_bad_usage_gives_one_line_and_exit_2(arguments: list[str], expected: str) -> None:
    done = failwell(*arguments)
    assert (done.returncode, done.stdout, only_line(done)) == (2, "", expected)


def test_options_of_the_command_are_its_own(script: Callable[[str], list[str]]) -> None:
    strict = script(
        "assert sys.argv[1:] == ['--json', '--', '--format', 'x'], sys.argv\n"
        "for request in requests:\n    print(json.dumps({'id': request['id'], 'unsupported': True}))\n"
    )
    assert failwell("--format", "text", "--", *strict, "--json", "--", "--format", "x").returncode == 0


def test_list_counts_the_vectors() -> None:
    listed = json.loads(failwell("--list", "--json").stdout)
    assert list(listed) == list(LEVELS)
    assert sum(sum(counts.values()) for counts in listed.values()) == len(load_vectors())
    rows = [line.split("\t") for line in failwell("--list", "--format", "decide").stdout.splitlines()]
    count = str(listed["decide"]["decide"])
    assert rows == [["decide", "0", "0", "0", count, count]]


def test_the_files_are_what_the_tables_give() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "conformance.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_check_notices_a_changed_file(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "tools", copy / "tools")
    shutil.copytree(ROOT / "src" / "failwell" / "conformance", copy / "src" / "failwell" / "conformance")
    changed = copy / "src" / "failwell" / "conformance" / "vectors" / "typed.json"
    changed.write_text(changed.read_text(encoding="utf-8").replace("TRANSIENT", "TRANSIT", 1), encoding="utf-8")
    (changed.parent / "stray.json").write_text("[]", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(copy / "tools" / "conformance.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert [line.split()[1] for line in done.stdout.splitlines()] == [
        str(Path("src/failwell/conformance/vectors") / name) for name in ("typed.json", "stray.json")
    ]


def test_every_vector_says_which_file_it_is_in_and_has_its_own_id() -> None:
    ids = [vector.id for vector in load_vectors()]
    assert len(ids) == len(set(ids))
    for level in LEVELS:
        found = load_vectors([level])
        assert [vector.id for vector in found] == sorted(vector.id for vector in found)
        assert {(vector.format, vector.id.split("/")[0]) for vector in found} == {(level, level)}
        assert all(vector.operation == vector.id.split("/")[1] for vector in found)


def test_every_kind_and_every_field_is_in_the_vectors() -> None:
    given = [vector.input for vector in load_vectors() if vector.operation == "render"]
    assert {error["kind"] for error in given if "kind" in error} == {
        "not_found",
        "conflict",
        "validation",
        "permission",
        "transient",
        "internal",
    }
    from failwell.model.fields import Fields

    read = {"origin", "delivery", "standing", "format", "confidence", "legacy", "notes"}
    unsent = {*UNWRITTEN}
    assert set(Fields.__annotations__) - read - unsent <= {name for error in given for name in error}


@pytest.mark.parametrize(
    ("expected", "got", "lines"),
    [
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
        (1, True, ["expected 1, got true"]),
        (None, False, ["expected null, got false"]),
        ({"a": [1, 2]}, {"a": [1]}, ["a[1]: expected 2, got nothing"]),
        ({"a": None}, {}, ["a: expected null, got nothing"]),
        (["x"], {"0": "x"}, ['expected ["x"], got {"0": "x"}']),
        ("a\nb\nc", "a\nB\nc", ["the texts differ (- expected, + got)", "  - b", "  + B"]),
    ],
)
def test_differences_are_those_of_json(expected: Any, got: Any, lines: list[str]) -> None:
    assert differences(expected, got) == lines


def test_a_reader_need_not_say_where_the_error_came_from() -> None:
    vector = Vector("x", "parse", "xml", {}, "<tool_error/>", {"failwell": 1, "message": "m"})
    assert vector.differences({"failwell": 1, "message": "m", "origin": "peer", "notes": ["n"]}) == []
    assert vector.differences({"failwell": 1, "message": "m", "severity": "error"}) == []
    assert vector.differences({"failwell": 1, "message": "m", "severity": "warning"}) == [
        'severity: expected "error", got "warning"'
    ]
    assert vector.differences(None) == [
        'expected {"failwell": 1, "message": "m", "severity": "error"}, got null',
    ]


@pytest.mark.parametrize("line", [b"", b"nonsense", b"[]", b"{}", b'{"id": 1}', b"\xff"])
def test_our_adapter_answers_whatever_it_is_asked(line: bytes) -> None:
    assert "error" in answer(line)
