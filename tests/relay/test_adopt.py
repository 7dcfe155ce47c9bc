"""`failwell adopt` and `--config`: the files that people have, changed in one place and nowhere else."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from failwell.cli import main
from failwell.redact import MASK
from failwell.relay import adoption, config

RELAY = ["/opt/failwell"]
CLAUDE = """\
{
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/data"],
      "env": {"TOKEN": "s3cret-value"}
    },
    "plain": {"command": "uvx"},
    "web": {"type": "http", "url": "https://x/mcp", "headers": {"Authorization": "Bearer s3cret-value"}}
  },
  "other": 1
}
"""
VSCODE = """\
{
  // my servers
  "servers": {
    "db": {
      "type": "stdio", /* local */
      "command": "node",
      "args": [
        "db.js",
      ],
    },
  },
}
"""


def test_claudes_file() -> None:
    made = adoption.adopted(CLAUDE, RELAY)
    assert made.text == CLAUDE.replace(
        '"command": "npx",\n      "args": ["-y"',
        '"command": "/opt/failwell",\n      "args": ["wrap", "--", "npx", "-y"',
    ).replace('"command": "uvx"', '"command": "/opt/failwell", "args": ["wrap", "--", "uvx"]')
    assert made.changed == ("files", "plain")
    assert made.left == (("web", "it is no server on stdio"),)


def test_a_program_that_was_called_by_steps_back_is_named_without_them_and_with_its_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("real/1.0/bin", "here", "elsewhere/below"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "real/1.0/bin/failwell").touch()
    (tmp_path / "v").symlink_to(tmp_path / "real/1.0")
    (tmp_path / "here/link").symlink_to(tmp_path / "elsewhere/below")
    (tmp_path / "elsewhere/failwell").touch()
    monkeypatch.chdir(tmp_path / "here")
    for called, told in (
        ("../v/bin/failwell", tmp_path / "v/bin/failwell"),
        ("./../v/./bin/failwell", tmp_path / "v/bin/failwell"),
        ("link/../failwell", f"{tmp_path}/here/link/../failwell"),
    ):
        monkeypatch.setattr("sys.argv", [called])
        assert adoption.relay_command() == [str(told)]


def test_the_file_of_vs_code_with_comments_and_commas() -> None:
    made = adoption.adopted(VSCODE, RELAY)
    assert made.text == VSCODE.replace('"node"', '"/opt/failwell"').replace(
        '"db.js"', '"wrap", "--", "node",\n        "db.js"'
    )
    assert adoption.returned(made.text, VSCODE).text == VSCODE


def test_projects_of_claude_code_and_settings_of_vs_code() -> None:
    text = json.dumps(
        {
            "projects": {"/a": {"mcpServers": {"x": {"command": "a", "args": []}}}},
            "mcp": {"servers": {"y": {"command": "b", "args": ["1"]}}},
        }
    )
    made = adoption.adopted(text, [*RELAY, "-m", "failwell"])
    assert made.changed == ("y", "x")
    assert json.loads(made.text)["mcp"]["servers"]["y"]["args"] == ["-m", "failwell", "wrap", "--", "b", "1"]
    assert json.loads(adoption.returned(made.text, text).text) == json.loads(text)


@pytest.mark.parametrize("text", [CLAUDE, VSCODE, CLAUDE.replace("\n", "\r\n")])
def test_wrapping_twice_changes_nothing(text: str) -> None:
    once = adoption.adopted(text, RELAY)
    twice = adoption.adopted(once.text, ["/elsewhere/failwell"])
    assert (twice.text, twice.changed) == (once.text, ())


@pytest.mark.parametrize("text", [CLAUDE, VSCODE, '{"mcpServers":{"a":{"command":"x","args":[ ]}}}'])
def test_undo_gives_the_old_file_back_byte_for_byte_with_its_mode(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes(text.encode())
    file.chmod(0o640)
    adoption.write(file, RELAY)
    assert file.read_text("utf-8") == adoption.adopted(text, RELAY).text
    backup = tmp_path / "mcp.json.before-failwell"
    assert backup.read_bytes() == text.encode()
    assert [oct(each.stat().st_mode & 0o777) for each in (file, backup)] == ["0o640", "0o640"]
    adoption.undo(file)
    assert file.read_bytes() == text.encode()
    assert [each.name for each in tmp_path.iterdir()] == ["mcp.json"]


def test_undo_takes_the_list_of_arguments_along_that_came_with_the_wrapping(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(CLAUDE, "utf-8")
    adoption.write(file, RELAY)
    file.write_text(file.read_text("utf-8").replace('"other": 1', '"other": 2'), "utf-8")
    adoption.undo(file)
    assert file.read_text("utf-8") == CLAUDE.replace('"other": 1', '"other": 2')


def test_what_has_the_name_of_the_backup_is_not_touched(tmp_path: Path) -> None:
    file, own = tmp_path / "mcp.json", tmp_path / "mcp.json.before-failwell"
    file.write_text(CLAUDE, "utf-8")
    own.write_text("mine", "utf-8")
    with pytest.raises(config.NoServer, match="is there already"):
        adoption.write(file, RELAY)
    assert adoption.undo(file).changed == ()
    assert (file.read_text("utf-8"), own.read_text("utf-8")) == (CLAUDE, "mine")


@pytest.mark.parametrize(
    ("server", "why"),
    [
        ({"command": "x", "args": "y z"}, "its args are no list of texts"),
        ({"command": "x", "args": [1, None]}, "its args are no list of texts"),
        ({"command": 5}, "its command is no text"),
        ({"command": "x", "env": ["A=x"]}, "its env is no object with a text for each name"),
        ({"command": "uvx", "args": ["failwell", "wrap", "--", "x"]}, "it is wrapped already"),
        ({"command": "uvx", "args": ["failwell@0.1.0", "wrap", "--", "x"]}, "it is wrapped already"),
        ({"command": "python", "args": ["-m", "failwell", "wrap", "--", "x"]}, "it is wrapped already"),
    ],
)
def test_what_cannot_or_need_not_be_wrapped_stays(server: dict[str, object], why: str) -> None:
    text = json.dumps({"mcpServers": {"a": server}})
    made = adoption.adopted(text, RELAY)
    assert (made.text, made.left) == (text, (("a", why),))


def test_undo_of_a_file_that_was_edited_takes_off_only_the_wrapping(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(CLAUDE, "utf-8")
    adoption.write(file, RELAY)
    file.write_text(file.read_text("utf-8").replace('"/data"', '"/data", "/more"'), "utf-8")
    adoption.undo(file)
    assert file.read_text("utf-8") == CLAUDE.replace('"/data"', '"/data", "/more"')


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    real.write_text(CLAUDE, "utf-8")
    link = tmp_path / "mcp.json"
    link.symlink_to(real)
    adoption.write(link, RELAY)
    assert link.is_symlink()
    assert '"wrap"' in real.read_text("utf-8")


def test_what_is_printed_holds_no_values_of_variables_and_headers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(CLAUDE, "utf-8")
    assert main(["adopt", str(file)]) == 0
    out, err = capsys.readouterr()
    assert '"wrap", "--", "npx"' in out
    assert '"TOKEN": "(kept)"' in out
    assert "s3cret" not in out + err
    assert file.read_text("utf-8") == CLAUDE
    assert os.path.isabs(json.loads(out)["mcpServers"]["files"]["command"])


def test_arguments_that_are_no_texts_are_printed_as_they_stand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mcp.json"
    for args, printed in (
        ("[1,null,true, 1e2]", "[1,null,true, 1e2]"),
        ('["--password", 12345]', f'["--password", "{MASK}"]'),
        ('"--read-only --token s3cret-value"', f'"--read-only --token {MASK}"'),
        ('"--read-only  x"', '"--read-only  x"'),
    ):
        text = '{"mcpServers": {"a": {"command": "x", "args": %s}}}'
        file.write_text(text % args, "utf-8")
        assert main(["adopt", str(file)]) == 0
        assert capsys.readouterr().out == text % printed


def test_a_server_is_taken_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    text = CLAUDE.replace('"/data"', '"${HOME}/x", "${NOPE:-y}"').replace("s3cret-value", "${env:PASS}")
    file.write_text(text, "utf-8")
    found = config.server(str(file), "files", {"HOME": "/me", "PASS": "p"})
    assert found.command == ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/me/x", "y"]
    assert found.env == {"HOME": "/me", "PASS": "p", "TOKEN": "p"}
    assert found.own == {"TOKEN": "p"}
    file.write_text(adoption.adopted(text, RELAY).text, "utf-8")
    assert config.server(str(file), "plain", {}).command == ["uvx"]


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [
        (CLAUDE, "fles", "names no server 'fles'; did you mean 'files'?"),
        (CLAUDE, None, "names several servers, so say which: files, plain, web"),
        (
            '{"mcpServers": {"web": {"type": "sse", "url": "http://x/sse"}}}',
            "web",
            "web is a server of the old kind, over SSE, which is not spoken here",
        ),
        ("{}", None, "names no server: it has neither mcpServers nor servers"),
        ('{"mcpServers": []}', None, "names no server: its mcpServers is no object"),
        ('{"mcpServers": {}}', None, "names no server: its mcpServers is empty"),
        ('{"servers": {"a": {}, "b": 5}}', None, "names no server: a, b have neither a command nor a url"),
        ('{"mcpServers": {"a": }}', None, "is no JSON: a value is missing in line 1"),
        ("[1]", None, "holds no object with servers"),
        ('{"servers": {"a": {"command": "x", "args": ["${input:key}"]}}}', None, "which only VS Code asks for"),
    ],
)
def test_a_file_that_is_of_no_use_says_why_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, name: str | None, line: str
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(text, "utf-8")
    assert main(["wrap", "--config", str(file), *([name] if name else [])]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert line.format(file=file) in said


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["adopt", str(tmp_path / "no.json")]) == 2
    assert main(["adopt", str(tmp_path / "no.json"), "--undo"]) == 2
    assert capsys.readouterr().err == f"failwell: there is no file {tmp_path / 'no.json'}\n" * 2


def test_a_file_that_is_wrapped_again_goes_back_to_what_it_was_with_what_was_added(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(CLAUDE, "utf-8")
    assert main(["adopt", str(file), "--write"]) == 0
    added = ('"plain"', '"new": {"command": "y"}, "plain"')
    file.write_text(file.read_text("utf-8").replace(*added), "utf-8")
    assert main(["adopt", str(file), "--write"]) == 0
    assert main(["adopt", str(file), "--undo", "--write"]) == 0
    assert file.read_text("utf-8") == CLAUDE.replace(*added)
    assert [each.name for each in tmp_path.iterdir()] == ["mcp.json"]


def test_undo_alone_shows_what_it_would_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(VSCODE, "utf-8")
    assert main(["adopt", str(file), "--write"]) == 0
    wrapped = file.read_text("utf-8")
    capsys.readouterr()
    assert main(["adopt", str(file), "--undo"]) == 0
    out, err = capsys.readouterr()
    assert (out, file.read_text("utf-8")) == (VSCODE, wrapped)
    assert "add --write" in err


def test_options_of_wrap_are_given_to_each_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(CLAUDE, "utf-8")
    given = ["--events", "sqlite:///e.db", "--reads", "x_*"]
    assert main(["adopt", str(file), "--write", "--", *given]) == 0
    args = json.loads(file.read_text("utf-8"))["mcpServers"]["plain"]["args"]
    assert args[args.index("wrap") :] == ["wrap", *given, "--", "uvx"]
    assert main(["adopt", str(file), "--undo", "--write"]) == 0
    assert file.read_text("utf-8") == CLAUDE
    capsys.readouterr()
    for wrong in (["--nope"], ["--listen", "127.0.0.1:1"], ["python"], ["--timeout", "x"]):
        assert main(["adopt", str(file), "--write", "--", *wrong]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
        assert file.read_text("utf-8") == CLAUDE


@pytest.mark.thorough
@pytest.mark.parametrize("is_replaced", [True, False])
def test_no_edit_of_another_writer_is_lost(tmp_path: Path, is_replaced: bool) -> None:
    file, edits = tmp_path / "mcp.json", 60

    def edit() -> None:
        for number in range(edits):
            while True:
                try:
                    held = json.loads(file.read_text("utf-8"))
                    break
                except ValueError:
                    continue
            held[f"edit {number}"] = number
            target = file.with_name("new") if is_replaced else file
            target.write_text(json.dumps(held, indent=1), "utf-8")
            if is_replaced:
                os.replace(target, file)

    file.write_text(CLAUDE, "utf-8")
    writer = Thread(target=edit)
    writer.start()
    wrote = 0
    while writer.is_alive() or not wrote:
        for change in (lambda: adoption.write(file, RELAY), lambda: adoption.undo(file)):
            with suppress(config.NoServer):
                wrote += bool(change().changed)
    writer.join()
    held = json.loads(file.read_text("utf-8"))
    assert [name for name in held if name.startswith("edit")] == [f"edit {number}" for number in range(edits)]
    assert set(held["mcpServers"]) == {"files", "plain", "web"}


BY_HAND = json.dumps(
    {
        "mcpServers": {
            "mine": {"command": "/usr/local/bin/failwell", "args": ["wrap", "--timeout", "5m", "--", "pay-server"]},
            "plainly": {"command": "/opt/failwell", "args": ["wrap", "--", "pay-server"]},
            "b": {"command": "x"},
        }
    }
)


def test_what_somebody_has_wrapped_by_hand_outlives_adopt_and_undo(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(BY_HAND, "utf-8")
    assert adoption.write(file, RELAY).changed == ("b",)
    assert adoption.undo(file).changed == ("b",)
    assert file.read_text("utf-8") == BY_HAND
    assert [each.name for each in tmp_path.iterdir()] == ["mcp.json"]


def test_undo_without_an_adoption_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(BY_HAND, "utf-8")
    assert main(["adopt", str(file), "--undo", "--write"]) == 0
    assert file.read_text("utf-8") == BY_HAND
    assert "nothing to undo" in capsys.readouterr().err


def test_what_was_wrapped_by_hand_in_an_adopted_file_stays_when_that_is_undone(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"a": {"command": "x", "args": [ ]}}}', "utf-8")
    adoption.write(file, RELAY)
    added = '"mine": {"command": "/opt/failwell", "args": ["wrap", "--", "y"]}, "c": {"command": "z"}, "a"'
    file.write_text(file.read_text("utf-8").replace('"a"', added), "utf-8")
    edited = '{"mcpServers": {' + added + ': {"command": "x", "args": [ ]}}}'
    assert adoption.write(file, ["/elsewhere/failwell"]).changed == ("c",)
    assert adoption.undo(file).changed == ("c", "a")
    assert json.loads(file.read_text("utf-8")) == json.loads(edited)


def test_a_backup_that_differs_from_what_is_restored_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, backup = tmp_path / "mcp.json", tmp_path / "mcp.json.before-failwell"
    file.write_text(CLAUDE, "utf-8")
    adoption.write(file, RELAY)
    file.write_text(file.read_text("utf-8").replace('"other": 1', '"other": 2'), "utf-8")
    assert main(["adopt", str(file), "--undo", "--write"]) == 0
    assert backup.read_text("utf-8") == CLAUDE
    assert f"{backup.name} stays" in capsys.readouterr().err


def test_servers_of_one_name_in_two_projects_are_two(tmp_path: Path) -> None:
    wrapped = {"command": "/opt/failwell", "args": ["wrap", "--state", "k", "--", "s"]}
    file, text = tmp_path / "c.json", json.dumps(
        {"projects": {"/a": {"mcpServers": {"s": wrapped}}, "/b": {"mcpServers": {"s": {"command": "s"}}}}}
    )  # fmt: skip
    file.write_text(text, "utf-8")
    adoption.write(file, RELAY)
    file.write_text(file.read_text("utf-8") + "\n", "utf-8")
    adoption.undo(file)
    assert file.read_text("utf-8") == text + "\n"


@pytest.mark.parametrize("flag", [[], ["--write"], ["--undo"]])
def test_a_pipe_is_no_file_and_nobody_waits_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flag: list[str]
) -> None:
    pipe = tmp_path / "mcp.json"
    os.mkfifo(pipe)
    (tmp_path / "mcp.json.before-failwell").write_text("{}", "utf-8")
    assert main(["adopt", str(pipe), *flag]) == 2
    assert capsys.readouterr().err == f"failwell: {pipe} is no file\n"


def test_a_file_that_is_read_only_stays_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(CLAUDE, "utf-8")
    file.chmod(0o400)
    assert main(["adopt", str(file), "--write"]) == 2
    assert capsys.readouterr().err == f"failwell: cannot write {file}: it is read-only\n"
    assert [each.name for each in tmp_path.iterdir()] == ["mcp.json"]
    assert file.read_text("utf-8") == CLAUDE


def test_secrets_in_arguments_and_addresses_are_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mcp.json"
    arguments = ["--token", "MYSECRET", "-p", "Zebra", "--password=hunter2", "API_KEY=plain", "--port", "80"]
    servers = {"a": {"command": "x", "args": arguments}, "b": {"url": "https://x/?api_key=Zebra77x"}}
    file.write_text(json.dumps({"mcpServers": servers}), "utf-8")
    assert main(["adopt", str(file)]) == 0
    out = capsys.readouterr().out
    assert not [each for each in ("MYSECRET", "Zebra", "hunter2", "plain") if each in out]
    told = ["--token", MASK, "-p", MASK, f"--password={MASK}", f"API_KEY={MASK}", "--port", "80"]
    assert json.loads(out)["mcpServers"]["a"]["args"] == ["wrap", "--", "x", *told]


def test_a_file_without_servers_has_nothing_to_wrap(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("{}", "utf-8")
    assert main(["adopt", str(file)]) == 0
    assert capsys.readouterr() == ("{}", "failwell: nothing to wrap\n")
