"""What a server gets to see of a check, by its own records: it writes down every call, and ignores its own schemas."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from failwell.check import CheckOptions, CheckReport, CheckTarget, Waits, check

WRITER = Path(__file__).with_name("writer.py")
FAST = Waits(start=60, call=20)
# The JSON types that a value of each required argument may have.
ALLOWED: dict[str, dict[str, tuple[type, ...]]] = {
    "delete": {"path": (str,), "mode": (str,)},
    "pay": {"amount": (int, float), "note": (object,)},
    "store": {"key": (str, int), "value": (dict, list)},
}
NEVER = {"wipe", "wipe_marked", "wipe_maybe", "get_all", "broken", "none_at_all", "both", "same_again"}


def calls(place: Path, **options: Any) -> tuple[CheckReport, dict[str, list[dict[str, Any]]]]:
    report = check(CheckTarget([sys.executable, str(WRITER), str(place)]), CheckOptions(waits=FAST, **options))
    seen: dict[str, list[dict[str, Any]]] = {}
    for line in place.read_text().splitlines():
        params = json.loads(line)
        if isinstance(params, dict) and isinstance(params.get("name"), str):
            arguments = params.get("arguments")
            seen.setdefault(params["name"], []).append(arguments if isinstance(arguments, dict) else {})
    return report, seen


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> tuple[CheckReport, dict[str, list[dict[str, Any]]]]:
    return calls(tmp_path_factory.mktemp("safe") / "calls.jsonl")


def test_tools_that_may_write_and_require_nothing_are_not_called(checked: Any) -> None:
    _, seen = checked
    assert NEVER.isdisjoint(seen)


def test_all_others_get_only_calls_in_which_every_required_argument_is_missing_or_of_a_wrong_type(checked: Any) -> None:
    _, seen = checked
    for tool, required in ALLOWED.items():
        assert seen[tool]
        for arguments in seen[tool]:
            for name, types in required.items():
                assert name not in arguments or not isinstance(arguments[name], types), (tool, arguments)


def test_a_tool_that_carried_out_a_forbidden_call_is_called_no_more_in_either_era(checked: Any) -> None:
    report, seen = checked
    assert report.examined.eras == ["2025-11-25", "2026-07-28"]
    assert {tool: len(seen[tool]) for tool in ALLOWED} == dict.fromkeys(ALLOWED, 1)
    assert report.examined.notes == [
        'Schemas that cannot be used as they are: broken ("path" is not of type "array"), none_at_all (it has none).',
        "delete, pay, store: a call that the schema forbids was carried out, so no more calls were made.",
    ]


def test_examples_are_what_is_sent_where_a_call_should_work(tmp_path: Path) -> None:
    _, seen = calls(tmp_path / "calls.jsonl", examples={"peek": {"key": "mine"}}, only=("peek",), era="2025-11-25")
    assert {"key": "mine"} in seen["peek"]
    assert {"key": "mine", "failwell_unknown": 1} in seen["peek"]


def test_a_tool_that_says_it_reads_is_asked_everything(checked: Any) -> None:
    report, seen = checked
    assert any(isinstance(arguments.get("key"), str) for arguments in seen["peek"])
    assert {tool["name"]: tool["scope"] for tool in report.tools} == {
        **dict.fromkeys(NEVER, "none"),
        **dict.fromkeys(ALLOWED, "refusals"),
        "peek": "all",
    }
    assert report.graded == {"tools": 12, "fully": 1, "refusals": 3, "none": 8}


def test_a_server_that_ignores_its_schemas_is_told_so(checked: Any) -> None:
    report, _ = checked
    broken = {finding.tool for finding in report.findings if finding.rule == "calls.schema"}
    assert broken == {"delete", "pay", "store", "peek"}
    assert report.score < 60


def test_more_is_sent_only_when_it_is_allowed(tmp_path: Path) -> None:
    _, seen = calls(tmp_path / "calls.jsonl", allow_writes=True, only=("wipe", "delete"))
    assert {"path": "failwell-no-such-thing", "mode": "soft"} in seen["delete"]
    assert seen["wipe"]


def test_a_user_who_names_reads_is_believed_but_not_against_the_tool(tmp_path: Path) -> None:
    _, seen = calls(tmp_path / "calls.jsonl", reads=("get_*", "wipe_marked"), only=("get_all", "wipe_marked"))
    assert "get_all" in seen
    assert "wipe_marked" not in seen


def test_home_folder_and_environment_are_not_those_of_whoever_runs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FW_SECRET_OF_MINE", "hidden")
    monkeypatch.setenv("FW_GIVEN", "given")
    seen = tmp_path / "seen.json"
    code = (
        "import json, os, pathlib;"
        f"pathlib.Path({str(seen)!r}).write_text(json.dumps([dict(os.environ), os.getcwd(), os.path.expanduser('~')]))"
    )
    check(CheckTarget([sys.executable, "-c", code], env={"FW_GIVEN": os.environ["FW_GIVEN"]}), CheckOptions(waits=FAST))
    environment, folder, home = json.loads(seen.read_text())
    assert "FW_SECRET_OF_MINE" not in environment
    assert environment["FW_GIVEN"] == "given"
    assert home != os.path.expanduser("~")
    assert Path(folder).parent == Path(home).parent
    assert not Path(home).exists()


def test_a_tool_that_was_asked_for_and_is_not_there_is_named(tmp_path: Path) -> None:
    report, _ = calls(tmp_path / "calls.jsonl", only=("peek", "nope"), era="2025-11-25")
    assert "None of the tools is named nope." in report.examined.notes
