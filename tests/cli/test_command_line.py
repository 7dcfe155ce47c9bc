"""What holds for every command: help, usage, files, hostile input, pipes, terminals."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from importlib.metadata import version
from pathlib import Path

import pytest

import commands

FAILWELL = Path(sys.executable).with_name("failwell")
TYPED = b'{"type":"NOT_FOUND","message":"no such agent","recoverable":false}'
COMMANDS = ("demo", "explain", "convert", "codes", "schema", "conformance")
PLAIN = {
    name: value
    for name, value in os.environ.items()
    if name not in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR", "COLUMNS", "TERM")
}


def run(*arguments: str | Path, source: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    return commands.run(*arguments, source=source, environment={**PLAIN, **environment})


def refusal(done: subprocess.CompletedProcess[bytes], code: int = 2) -> str:
    assert (done.returncode, done.stdout) == (code, b"")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("failwell: ")
    return line


def on_terminal(
    *arguments: str, source: bytes | None = None, columns: int = 100, **environment: str
) -> tuple[int, str]:
    """The exit code, and what a real pseudo-terminal was sent."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with tempfile.TemporaryFile() as piped:
        piped.write(source or b"")
        piped.seek(0)
        stdin = theirs if source is None else piped.fileno()
        started = commands.Started(
            ["failwell", *arguments], stdin, theirs, theirs, {**PLAIN, "TERM": "xterm-256color", **environment}
        )
    os.close(theirs)
    shown = b""
    while chunk := _read(ours):
        shown += chunk
    os.close(ours)
    return started.wait(), shown.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        # Linux says so when the other end is closed.
        return b""


def test_version() -> None:
    done = commands.really("--version", environment=PLAIN)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"failwell {version('failwell')}\n".encode(), b"")


def test_without_a_command_it_shows_the_help() -> None:
    done, helped = run(), run("--help")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == helped.stdout
    for command in COMMANDS:
        assert re.search(rf"^ +{command}\b", done.stdout.decode(), re.MULTILINE)
    assert b"start here:\n  failwell demo" in done.stdout
    assert b"exit codes: 0 done, 1 " in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_by_example(command: str) -> None:
    done = run(command, "--help")
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode()
    assert text.startswith(f"usage: failwell {command}")
    _, found, examples = text.partition("\nexamples:\n")
    assert found
    assert re.search(rf"^  .*failwell {command}\b", examples, re.MULTILINE)


@pytest.mark.parametrize(
    "arguments",
    [
        ("nope",),
        ("--nope",),
        ("explain", "--nope"),
        ("explain", "a", "b"),
        ("explain", "--format", "nope"),
        ("explain", "--delivery", "maybe"),
        ("convert",),
        ("convert", "--to", "nope"),
        ("codes", "nope"),
        ("codes", "--yaml"),
        ("demo", "more"),
        ("",),
    ],
    ids=" ".join,
)
def test_bad_usage_is_one_line_on_stderr(arguments: tuple[str, ...]) -> None:
    refusal(run(*arguments, source=TYPED))


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("exlpain", "there is no command 'exlpain'; did you mean: failwell explain"),
        ("Codes", "there is no command 'Codes'; did you mean: failwell codes"),
    ],
)
def test_a_misspelt_command_is_told_which_was_meant(named: str, said: str) -> None:
    assert refusal(run(named, "--json", "x")) == f"failwell: {said}"


@pytest.mark.parametrize("command", [("explain",), ("convert", "--to", "xml")], ids=" ".join)
def test_what_cannot_be_read_is_named(command: tuple[str, ...], tmp_path: Path) -> None:
    missing = tmp_path / "missing.json"
    assert refusal(run(*command, missing)) == f"failwell: cannot read {missing}: No such file or directory"
    assert refusal(run(*command, tmp_path)) == f"failwell: cannot read {tmp_path}: Is a directory"
    inside = tmp_path / "file.json"
    inside.write_bytes(TYPED)
    assert refusal(run(*command, inside / "x")) == f"failwell: cannot read {inside / 'x'}: Not a directory"
    refusal(run(*command, "x" * 5000))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_one_may_not_read_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "closed.json"
    closed.write_bytes(TYPED)
    closed.chmod(0)
    assert refusal(run("explain", closed)) == f"failwell: cannot read {closed}: Permission denied"


@pytest.mark.parametrize(
    "arguments",
    [
        ("explain", "a\x1b[31mb\x9b2J"),
        ("explain", "--format", "a\x1b[31mb\x9b2J"),
        ("convert", "--to", "a\x1b[31mb\x9b2J"),
        ("convert", "--to", "xml", "--option", "a\x1b[31mb\x9b2J"),
        ("codes", "a\x1b[31mb\x9b2J:X"),
        ("explain", "--\x1b[31m"),
    ],
    ids=ascii,
)
def test_names_with_terminal_escapes_are_repeated_harmlessly(arguments: tuple[str, ...]) -> None:
    line = refusal(run(*arguments, source=TYPED, PYTHONIOENCODING="utf-8"))
    assert re.findall("[\x00-\x1f\x7f-\x9f]", line) == []


def test_names_with_newlines_keep_to_one_line() -> None:
    refusal(run("explain", "a\nb\r\nc"))
    refusal(run("a\nb"))
    refusal(run("codes", "a\nb:C"))


HOSTILE = {
    "5 MB of brackets": b"[" * 5_000_000,
    "a million objects": b'{"a":' * 1_000_000,
    "deep data": b'{"type":"NOT_FOUND","message":"m","recoverable":false,"data":'
    + b"[" * 50_000
    + b"]" * 50_000
    + b"}",
    "nested data": b'{"type":"INTERNAL","message":"m","recoverable":false,"data":' + b'{"a":' * 900 + b"1" + b"}" * 901,
    "NUL bytes": b"\0" * 1000,
    "NUL inside": b'{"type":"NOT_FOUND","message":"a\0b","recoverable":false}',
    "NUL as an escape": b'{"type":"NOT_FOUND","message":"a\\u0000b","recoverable":false}',
    "invalid UTF-8": b'{"type":"NOT_FOUND","message":"\xff\xfe\xc3\x28\xed\xa0\x80","recoverable":false}',
    "UTF-16": '{"type":"NOT_FOUND","message":"m","recoverable":false}'.encode("utf-16"),
    "every byte": bytes(range(256)) * 40,
    "a line of 5 MB": b'{"type":"NOT_FOUND","message":"' + b"a" * 5_000_000 + b'","recoverable":false}',
    "an entity bomb": (
        b'<?xml version="1.0"?><!DOCTYPE z [<!ENTITY a "ha">'
        + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(12))
        + b"]><tool_error><message>&m;</message></tool_error>"
    ),
    "an outer entity": (
        b'<!DOCTYPE z [<!ENTITY x SYSTEM "file:///etc/passwd">]><tool_error><message>&x;</message></tool_error>'
    ),
    "entities alone": b"<tool_error><message>&a;&#x110000;&#xD800;&#0;&#99999999999;</message></tool_error>",
    "XML never closed": b"<tool_error><message>x" + b"<" * 200_000,
    "XML of nothing but elements": b"<tool_error>" + b"<message>" * 100_000,
    "half a character": b'{"type":"NOT_FOUND","message":"a\\ud800b","recoverable":false,"data":{"\\udfff":"\\ud83d"}}',
    "numbers out of range": b'{"type":"TRANSIENT","message":"m","recoverable":true,"data":{"retry_after":1e999,"a":NaN}}',
    "a number of 10000 digits": b'{"failwell":1,"kind":"transient","message":"m","retry_after":' + b"9" * 10_000 + b"}",
    "everything of the wrong type": (
        b'{"failwell":1,"kind":[],"code":{},"message":[1],"fields":{"a":1},"actions":5,"details":"x","retry_after":"soon",'
        b'"severity":7,"notes":{},"conflicts":[null],"next_steps":[[]],"verify":[],"patch":[{}],"effect":9}'
    ),
}


@pytest.mark.parametrize(
    "name",
    [
        "5 MB of brackets",
        "deep data",
        "NUL bytes",
        "invalid UTF-8",
        "UTF-16",
        "every byte",
        "a line of 5 MB",
        "an entity bomb",
        "an outer entity",
        "half a character",
        "a number of 10000 digits",
        "everything of the wrong type",
    ],
)
def test_hostile_input_never_gives_a_traceback(name: str) -> None:
    for arguments in (("explain",), ("convert", "--to", "canonical", "--carry")):
        done = run(*arguments, source=HOSTILE[name], PYTHONIOENCODING="utf-8")
        if done.returncode == 0:
            assert done.stderr == b""
            assert b"root:" not in done.stdout
            done.stdout.decode()
            if "canonical" in arguments:
                json.loads(done.stdout)
        else:
            refusal(done, done.returncode)
            assert done.returncode in (1, 2)


def test_hostile_lines_never_give_a_traceback() -> None:
    texts = [json.dumps(source.decode(errors="replace")) for source in HOSTILE.values()]
    for target in ("xml", "jsonrpc", "text"):
        done = run("convert", "--to", target, "--carry", "--jsonl", source="\n".join(texts).encode())
        assert (done.returncode, done.stderr) == (0, b"")
        assert len([json.loads(line) for line in done.stdout.split(b"\n")[:-1]]) == len(texts)


def test_hostile_prose_never_gives_a_traceback() -> None:
    for name in ("5 MB of brackets", "every byte"):
        done = run("convert", "--to", "v1", "--from", "text", source=HOSTILE[name], PYTHONIOENCODING="utf-8")
        assert (done.returncode, done.stderr) == (0, b"")
        assert json.loads(done.stdout)["code"] == "UNKNOWN_ERROR"


@pytest.mark.parametrize("command", [("explain",), ("convert", "--to", "xml")], ids=" ".join)
def test_with_nothing_to_read_it_says_so(command: tuple[str, ...]) -> None:
    said = "failwell: nothing to read: name a file, or pipe the error in"
    closed = subprocess.run(
        ["sh", "-c", 'exec "$0" "$@" <&-', FAILWELL, *command], capture_output=True, env=PLAIN, check=False, timeout=60
    )
    assert refusal(closed) == said
    assert on_terminal(*command) == (2, said + "\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("demo",),
        ("explain",),
        ("convert", "--to", "typed", "--jsonl"),
        ("codes",),
        ("codes", "--json"),
        ("--help",),
    ],
    ids=" ".join,
)
def test_a_reader_that_has_seen_enough_ends_it_quietly(arguments: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "source"
    file.write_bytes((TYPED + b"\n") * (5000 if "--jsonl" in arguments else 1))
    with (
        file.open("rb") as source,
        subprocess.Popen(
            [FAILWELL, *arguments], stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=PLAIN
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.parametrize("redirect", [">/dev/full", ">&-"])
@pytest.mark.parametrize("arguments", [("explain",), ("convert", "--to", "xml"), ("codes",), ("demo",)], ids=" ".join)
def test_output_that_cannot_be_written_is_no_traceback(arguments: tuple[str, ...], redirect: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {redirect}', FAILWELL, *arguments],
        input=TYPED,
        capture_output=True,
        env=PLAIN,
        check=False,
        timeout=60,
    )
    assert b"Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 1


@pytest.mark.parametrize("arguments", [("demo",), ("explain",), ("codes", "typed")], ids=" ".join)
def test_away_from_a_terminal_there_is_no_colour(arguments: tuple[str, ...]) -> None:
    done = run(*arguments, source=TYPED, TERM="xterm-256color", COLORTERM="truecolor", COLUMNS="20")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\x1b" not in done.stdout
    if arguments == ("codes", "typed"):
        assert done.stdout.splitlines()[0] == (
            b"typed\tNOT_FOUND\tnot_found\tno\tfix_and_retry\t\t\tWork around the missing resource.\t"
        )


def test_a_terminal_gets_a_table_in_colour() -> None:
    code, shown = on_terminal("codes", "typed", columns=140)
    assert code == 0
    assert "\x1b[33mnot_found" in shown
    assert "\t" not in shown
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
    assert lines[0].split() == ["catalog", "code", "kind", "retry", "recovery", "http", "number", "meaning", "category"]
    assert [line.split()[:5] for line in lines[1:]] == [
        ["typed", "NOT_FOUND", "not_found", "no", "fix_and_retry"],
        ["typed", "CONFLICT", "conflict", "no", "fix_and_retry"],
        ["typed", "VALIDATION", "validation", "no", "fix_and_retry"],
        ["typed", "PERMISSION", "permission", "no", "user_action_required"],
        ["typed", "TRANSIENT", "transient", "yes", "retry_with_backoff"],
        ["typed", "INTERNAL", "internal", "no", "report_and_abort"],
    ]
    assert len({line.index(line.split()[2], 20) for line in lines}) == 1


def test_a_terminal_gets_colour_where_people_read() -> None:
    code, shown = on_terminal("explain", source=TYPED)
    assert code == 0
    assert re.search(r"\x1b\[1;32mdo next +\x1b\[0m Do something else\.", shown)
    code, shown = on_terminal("demo")
    assert code == 0
    assert "\x1b[1;36m1. A payment whose answer gets lost\x1b[0m" in shown


@pytest.mark.parametrize("arguments", [("explain", "--json"), ("convert", "--to", "xml"), ("codes", "typed", "--json")])
def test_a_terminal_gets_what_programs_read_as_it_is(arguments: tuple[str, ...]) -> None:
    code, shown = on_terminal(*arguments, source=TYPED, columns=20)
    assert (code, shown) == (0, run(*arguments, source=TYPED).stdout.decode())


@pytest.mark.parametrize("arguments", [("explain",), ("codes", "typed"), ("demo",)], ids=" ".join)
def test_no_color_is_plain_on_a_terminal(arguments: tuple[str, ...]) -> None:
    code, shown = on_terminal(*arguments, source=TYPED, NO_COLOR="1")
    assert code == 0
    assert "\x1b" not in shown


def test_an_error_cannot_steer_the_terminal() -> None:
    hostile = "a\x1b[2J\x1b]0;title\x07\x1b]52;c;aGk=\x07\x9b2J\x1bPq\x1b\\b\x1bc"
    source = json.dumps({"type": "NOT_FOUND", "message": hostile, "recoverable": False}).encode()
    for arguments in (("explain",), ("explain", "--json"), ("convert", "--to", "text"), ("convert", "--to", "typed")):
        code, shown = on_terminal(*arguments, source=source, columns=200)
        assert code == 0
        assert re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f]", re.sub(r"\x1b\[(?:0|1|1;32)m", "", shown)) == []


@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
    ids=["ascii", "C"],
)
def test_a_locale_without_utf_8_works(environment: dict[str, str]) -> None:
    environment = {**environment, "PYTHONUTF8": "0"}
    message = "nö ☃ 日本 😀"
    source = json.dumps({"type": "NOT_FOUND", "message": message, "recoverable": False}, ensure_ascii=False).encode()
    done = run("explain", source=source, **environment)
    assert (done.returncode, done.stderr) == (0, b"")
    done.stdout.decode("ascii")
    done = run("explain", "--json", source=source, **environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["outcome"]["message"] == message
    assert done.stdout.isascii()


def test_bad_usage_in_a_locale_without_utf_8_is_still_one_line() -> None:
    done = commands.really("explain", "nö☃", environment={**PLAIN, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stdout) == (2, b"")
    assert len(done.stderr.decode("ascii").splitlines()) == 1


def test_as_a_module_it_is_the_same_command() -> None:
    for module in ("failwell", "failwell.cli"):
        done = subprocess.run(
            [sys.executable, "-m", module, "convert", "--to", "text"],
            input=TYPED,
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode, done.stdout, done.stderr) == (
            0,
            b"no such agent. Look for another one; the same call will fail again.\n",
            b"",
        )
