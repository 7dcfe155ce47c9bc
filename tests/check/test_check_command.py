"""`failwell check` as people and scripts run it, on a small server whose failures are good but for one thing."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema_rs
import pytest
import yaml
from jsonschema import Draft4Validator

from failwell.cli import main

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
ROUGH = Path(__file__).with_name("rough.py")
SERVER = [sys.executable, str(ROUGH), "noise"]
REPORTS = ("sarif", "junit", "html", "badge", "json", "text")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one check in every form, each under its own name."""
    folder = tmp_path_factory.mktemp("reports")
    options = [part for name in REPORTS for part in ("--output", f"{name}={folder / name}")]
    command = [sys.executable, "-m", "failwell", "check", *options, "--", *SERVER]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    assert done.stderr == ""
    return folder


@pytest.fixture
def report(written: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((written / "json").read_text())
    return found


def test_the_json_is_as_its_schema_says(report: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "check"]) == 0
    jsonschema_rs.validate(json.loads(capsys.readouterr().out), report)
    assert (report["score"], report["grade"], report["started"], report["rubric"]) == (92, "A", True, 1)
    assert report["lost"] == {"protocol.envelope": 6.0, "form.code": 2.0}
    assert {finding["rule"] for finding in report["findings"]} == report["lost"].keys()


def test_each_finding_is_one_line_and_fits_a_terminal(written: Path, report: dict[str, Any]) -> None:
    lines = (written / "text").read_text().splitlines()
    for finding in report["findings"]:
        assert f"{finding['tool'] or 'server'} {finding['rule']}: {finding['message']}" in lines


def test_the_command_of_a_finding_shows_it_again(report: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    finding = next(each for each in report["findings"] if each["rule"] == "form.code")
    program, *arguments = shlex.split(finding["reproduce"])
    assert program == "failwell"
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["result"] == finding["answer"]["result"]


def test_the_sarif_is_as_the_standard_says(written: Path) -> None:
    schema = json.loads((DATA / "sarif-2.1.0.json").read_text())
    found = [
        error.message for error in Draft4Validator(schema).iter_errors(json.loads((written / "sarif").read_text()))
    ]
    assert found == []


def test_sarif_names_a_file_that_stands_here_and_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "server.py").write_text("raise SystemExit('no key')")
    (tmp_path / "known.json").write_text(json.dumps({"findings": [{"rule": "form.code", "tool": "weather"}]}))
    monkeypatch.chdir(tmp_path)
    baseline = ["--baseline", "known.json", "--output", "sarif=-"]
    assert main(["check", *baseline, "--", sys.executable, "server.py"]) == 2
    new, gone = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    place = {"artifactLocation": {"uri": "server.py"}, "region": {"startLine": 1}}
    assert [each["locations"][0]["physicalLocation"] for each in (new, gone)] == [place, place]
    assert [(each["ruleId"], each["baselineState"]) for each in (new, gone)] == [
        ("harm.starts", "new"),
        ("form.code", "absent"),
    ]


def test_sarif_names_each_rule_and_each_finding(written: Path, report: dict[str, Any]) -> None:
    [run] = json.loads((written / "sarif").read_text())["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == sorted({finding["rule"] for finding in report["findings"]})
    assert [(each["ruleId"], rules[each["ruleIndex"]]) for each in run["results"]] == [
        (finding["rule"], finding["rule"]) for finding in report["findings"]
    ]
    assert {each["level"] for each in run["results"]} == {"warning", "note"}
    assert all(rule["helpUri"].endswith(f"docs/rubric.md#{rule['id']}") for rule in run["tool"]["driver"]["rules"])


def test_junit_counts_what_was_asked_and_what_is_broken(written: Path, report: dict[str, Any]) -> None:
    root = ElementTree.parse(written / "junit").getroot()
    assert int(root.get("failures", "")) == len(root.findall(".//failure")) == len(report["findings"])
    assert int(root.get("tests", "")) == len(root.findall(".//testcase")) > 20


def test_the_badge_has_the_score(written: Path) -> None:
    assert "fails well: 92 A" in (written / "badge").read_text()


def test_a_baseline_forgives_what_it_knows(written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = json.loads((written / "json").read_text())
    known["findings"] = [each for each in known["findings"] if each["rule"] != "protocol.envelope"]
    (tmp_path / "known.json").write_text(json.dumps(known))
    arguments = ["check", "--output", f"junit={tmp_path / 'junit'}"]
    assert main([*arguments, "--baseline", str(written / "json"), "--", *SERVER]) == 0
    assert capsys.readouterr().err == ""
    root = ElementTree.parse(tmp_path / "junit").getroot()
    assert (root.get("failures"), root.get("skipped")) == ("0", "2")
    assert main([*arguments, "--baseline", str(tmp_path / "known.json"), "--", *SERVER]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"failwell: 1 findings that {tmp_path / 'known.json'} does not have"
    )


def test_what_is_skipped_is_not_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    skipped = ["--skip", "form", "--skip", "protocol.envelope"]
    assert main(["check", "--output", "json=-", *skipped, "--", *SERVER]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["score"], report["findings"]) == (100, [])


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_progress_is_shown_on_a_terminal(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "failwell", "check", "--", *SERVER]
    subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, text=True, check=True, cwd=tmp_path)
    os.close(theirs)
    told = os.read(ours, 65_536).decode()
    os.close(ours)
    assert "checking 1/1: weather" in told
    assert told.endswith("\r\x1b[K")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_whoever_ends_it_gets_what_was_seen(tmp_path: Path) -> None:
    place = tmp_path / "report.json"
    command = [sys.executable, "-m", "failwell", "check", "--output", f"json={place}", "--", *SERVER[:-1], "silent"]
    called = tmp_path / "called"
    command[4:4] = ["--env", f"ROUGH_CALLED={called}"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
    for _ in range(600):
        # The server says so itself when a call has come.
        if called.exists() or running.poll() is not None:
            break
        threading.Event().wait(0.1)
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=60)
    assert running.returncode == 130
    assert json.loads(place.read_text())["partial"] is True


def test_the_action_runs_nothing_that_a_workflow_gives(tmp_path: Path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    script = action["runs"]["steps"][-1]["run"]
    folder = tmp_path / "failwell" / "bin"
    folder.mkdir(parents=True)
    (folder / "python").symlink_to(sys.executable)
    # In place of the program: what it was started with.
    package = tmp_path / "stub" / "failwell"
    package.mkdir(parents=True)
    (package / "__main__.py").write_text("import json, sys; print(json.dumps(sys.argv[1:]))")
    given = {"ARGUMENTS": "--reads 'get_*' $(touch a)", "MIN_SCORE": "80", "COMMAND": "python 'my server.py'; touch b"}
    env = {"SARIF": "s.sarif", "HTML": "p.html", "URL": "", "BASELINE": "", **given}
    env |= {"RUNNER_TEMP": str(tmp_path), "PYTHONPATH": str(tmp_path / "stub"), "PATH": os.environ["PATH"]}
    done = subprocess.run(["bash", "-c", script], env=env, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [
        *(
            "check",
            "--output",
            "sarif=s.sarif",
            "--output",
            "html=p.html",
            "--reads",
            "get_*",
            "$(touch",
            "a)",
            "--min-score",
            "80",
        ),
        *("--", "python", "my server.py;", "touch", "b"),
    ]
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()


def test_the_hook_of_pre_commit_takes_everything_from_pyproject() -> None:
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert (hook["entry"], hook["pass_filenames"], hook["always_run"]) == ("failwell check", False, True)
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["check"]
    assert sorted(hook["additional_dependencies"]) == sorted(extra)


def test_settings_come_from_pyproject(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"command": SERVER, "min-score": 99, "skip": ["form"], "rubric": 1}
    lines = ["[tool.failwell.check]", *(f"{name} = {json.dumps(value)}" for name, value in settings.items())]
    (tmp_path / "pyproject.toml").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    assert main(["check"]) == 1
    said = capsys.readouterr()
    assert said.err == "failwell: the score is 94, below 99\n"
    (tmp_path / "pyproject.toml").write_text("[tool.failwell.check]\nmin-scroe = 3\n")
    assert main(["check"]) == 2
    assert "knows no 'min-scroe'" in capsys.readouterr().err


def test_a_server_of_a_clients_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    servers = {"rough": {"command": SERVER[0], "args": SERVER[1:]}, "web": {"url": "http://127.0.0.1:9/mcp"}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    config = ["check", "--output", "json=-", "--config", str(tmp_path / "mcp.json")]
    assert main([*config, "rough", "--skip", "form"]) == 0
    assert [each["rule"] for each in json.loads(capsys.readouterr().out)["findings"]] == ["protocol.envelope"]
    assert main([*config, "web"]) == 2
    assert json.loads(capsys.readouterr().out)["reason"] == "it did not answer initialize: nobody listens there"
    assert main([*config, "ruogh"]) == 2
    assert "did you mean 'rough'?" in capsys.readouterr().err


def test_there_are_sixteen_options_at_most(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    named = set(re.findall(r"^  (--[a-z-]+)", capsys.readouterr().out, re.MULTILINE))
    assert len(named) <= 16


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name the command of a server after --, or its URL"),
        (["python"], "write -- before the command of the server: failwell check -- python"),
        (["http://x/mcp", "--", "x"], "name either a URL or a command after --, not both"),
        (["--skip", "advcie", "--", "x"], "there is no rule 'advcie'; did you mean advice?"),
        (["--baseline", "nowhere.json", "--", "x"], "there is no nowhere.json; write it with: failwell check"),
        (["--output", "pdf=x", "--", "x"], "--output pdf=x: it is written as FMT=FILE"),
        (["--rubric", "2", "--", "x"], "there is no rubric 2; there is 1"),
        (["--max-time", "soon", "--", "x"], "'soon' is not a number of seconds above zero"),
        (["--env", "FW_NOT_THERE", "--", "x"], "--env FW_NOT_THERE: there is no such variable here"),
        (["--examples", "nowhere.json", "--", "x"], "cannot read nowhere.json"),
    ],
)
def test_bad_usage_is_one_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *arguments]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert said in line
