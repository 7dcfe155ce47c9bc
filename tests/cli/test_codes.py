"""`failwell codes`, as people and scripts run it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import commands
from failwell import catalogs

FAILWELL = Path(sys.executable).with_name("failwell")
CATALOGS = {"core": 37, "typed": 6, "v1": 6, "xml": 19, "social": 27, "jsonrpc": 21, "standard": 23}
MODULES = {
    "shop_errors": """
        import failwell as fw
        class Billing(fw.Catalog):
            INVOICE_PAID = fw.Code("conflict", "The invoice has been paid already.")
            BANK_DOWN = fw.Code("transient", "The bank does not answer: ☃.", http_status=503)
        class Odd(fw.Catalog):
            ODD = fw.Code("internal", "a\\x1b[31mb\\tc\\nd\\x9b2J")
        class Plain: pass
        NUMBER = 5
    """,
    "needs_more": "import a_module_that_is_not_there",
    "raises": "raise RuntimeError('no\\n\\x1b[31mdatabase')",
    "raises_oddly": "class Odd(BaseException): pass\nraise Odd('x')",
    "is_no_python": "def (",
    "holds_nul": "\0",
    "exits": "raise SystemExit(7)",
    "runs_deep": "def f(): f()\nf()",
    "answers_oddly": "def __getattr__(name): raise KeyError(name)",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("modules")
    for name, text in MODULES.items():
        source = "\n".join(line.removeprefix("        ") for line in text.split("\n"))
        (made / f"{name}.py").write_text(source, encoding="utf-8")
    return made


def run(*arguments: str, folder: Path | None = None, **environment: str) -> subprocess.CompletedProcess[bytes]:
    plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "TTY_COMPATIBLE")}
    path = {} if folder is None else {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return commands.run("codes", *arguments, environment={**plain, "PYTHONIOENCODING": "utf-8", **path, **environment})


def rows(*arguments: str, folder: Path | None = None) -> list[list[str]]:
    done = run(*arguments, folder=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    return [line.split("\t") for line in done.stdout.decode().split("\n")[:-1]]


def as_json(*arguments: str, folder: Path | None = None) -> list[dict[str, Any]]:
    done = run("--json", *arguments, folder=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def refusal(done: subprocess.CompletedProcess[bytes]) -> str:
    assert (done.returncode, done.stdout) == (2, b"")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("failwell: ")
    return line


@pytest.mark.checklist(254, 259)
def test_without_a_name_it_lists_every_code_of_every_catalogue() -> None:
    found = rows()
    assert {name: sum(row[0] == name for row in found) for name in CATALOGS} == CATALOGS
    assert len(found) == sum(CATALOGS.values())
    assert {len(row) for row in found} == {9}
    assert {row[2] for row in found} == {"not_found", "conflict", "validation", "permission", "transient", "internal"}
    assert {row[3] for row in found} == {"yes", "no"}
    strategies = {"fix_and_retry", "report_and_abort", "retry_with_backoff", "user_action_required"}
    assert {row[4] for row in found} == strategies
    assert found[0] == [
        "core", "NOT_FOUND", "not_found", "no", "fix_and_retry", "404", "-32003", "The thing asked for does not exist.", ""
    ]  # fmt: skip


def test_with_a_name_it_lists_that_catalogue() -> None:
    assert rows("typed") == [
        ["typed", "NOT_FOUND", "not_found", "no", "fix_and_retry", "", "", "Work around the missing resource.", ""],
        ["typed", "CONFLICT", "conflict", "no", "fix_and_retry", "", "", "Negotiate with the holder, or wait.", ""],
        ["typed", "VALIDATION", "validation", "no", "fix_and_retry", "", "", "Fix the input.", ""],
        ["typed", "PERMISSION", "permission", "no", "user_action_required", "", "", "Escalate to the user.", ""],
        ["typed", "TRANSIENT", "transient", "yes", "retry_with_backoff", "", "", "Retry unchanged.", ""],
        ["typed", "INTERNAL", "internal", "no", "report_and_abort", "", "", "Give up.", ""],
    ]


@pytest.mark.checklist(181)
def test_the_category_stands_in_each_row() -> None:
    found = {row[1]: row[8] for row in rows("social")}
    assert found == {code.name: code.category for code in catalogs.Social}
    assert len(set(found.values())) == 10


def test_json_is_one_object_per_code() -> None:
    found = as_json()
    assert len(found) == sum(CATALOGS.values())
    assert found[0] == {
        "catalog": "core",
        "code": "NOT_FOUND",
        "title": "Not Found",
        "kind": "not_found",
        "retryable": False,
        "strategy": "fix_and_retry",
        "effect": "none",
        "http_status": 404,
        "number": -32003,
        "description": "The thing asked for does not exist.",
    }


@pytest.mark.checklist(183)
def test_json_of_the_closed_set_tells_which_may_be_retried() -> None:
    found = as_json("social")
    assert {row["code"] for row in found if row["retryable"]} == {
        "policy_error",
        "llm_error",
        "db_error",
        "thread_partial_failure",
        "x_api_error",
        "x_network_error",
        "x_rate_limited",
    }
    assert len({row["category"] for row in found}) == 10


def test_a_catalogue_of_ones_own_is_listed(folder: Path) -> None:
    assert rows("shop_errors:Billing", folder=folder) == [
        [
            "billing",
            "INVOICE_PAID",
            "conflict",
            "no",
            "fix_and_retry",
            "",
            "",
            "The invoice has been paid already.",
            "",
        ],
        [
            "billing",
            "BANK_DOWN",
            "transient",
            "yes",
            "retry_with_backoff",
            "503",
            "",
            "The bank does not answer: ☃.",
            "",
        ],
    ]
    assert as_json("shop_errors:Billing", folder=folder)[0] == {
        "catalog": "billing",
        "code": "INVOICE_PAID",
        "title": "Invoice Paid",
        "kind": "conflict",
        "retryable": False,
        "strategy": "fix_and_retry",
        "effect": "none",
        "description": "The invoice has been paid already.",
    }


def test_a_catalogue_in_the_current_folder_is_found(folder: Path) -> None:
    done = subprocess.run(
        [FAILWELL, "codes", "shop_errors:Billing"], cwd=folder, capture_output=True, text=True, check=True
    )
    assert [line.split("\t")[1] for line in done.stdout.splitlines()] == ["INVOICE_PAID", "BANK_DOWN"]


def test_an_odd_description_stays_in_its_row_and_harmless(folder: Path) -> None:
    found = rows("shop_errors:Odd", folder=folder)
    assert [len(row) for row in found] == [9]
    assert re.findall("[\x00-\x1f\x7f-\x9f]", "".join(found[0])) == []


def test_a_row_without_utf_8_is_written_all_the_same(folder: Path) -> None:
    done = run("shop_errors:Billing", folder=folder, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"The bank does not answer: \u2603." in done.stdout
    done = run("shop_errors:Billing", "--json", folder=folder, PYTHONIOENCODING="ascii")
    assert json.loads(done.stdout)[1]["description"] == "The bank does not answer: ☃."


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "nope",
            "there is no catalogue 'nope'; use one of: core, typed, v1, xml, social, jsonrpc, standard, or module:Class",
        ),
        (
            "CORE",
            "there is no catalogue 'CORE'; use one of: core, typed, v1, xml, social, jsonrpc, standard, or module:Class",
        ),
        ("", "there is no catalogue ''; use one of: core, typed, v1, xml, social, jsonrpc, standard, or module:Class"),
        ("not_there_at_all:X", "there is no module 'not_there_at_all', neither in this folder nor installed"),
        ("needs_more:X", "cannot load needs_more:X: No module named 'a_module_that_is_not_there'"),
        ("shop_errors:Nope", "cannot load shop_errors:Nope: module 'shop_errors' has no attribute 'Nope'"),
        ("shop_errors:Plain", "shop_errors:Plain is not a catalogue; it must be a subclass of failwell.Catalog"),
        ("shop_errors:NUMBER", "shop_errors:NUMBER is not a catalogue; it must be a subclass of failwell.Catalog"),
    ],
)
def test_what_is_no_catalogue_is_said_in_one_line(folder: Path, name: str, said: str) -> None:
    assert refusal(run(name, folder=folder)) == f"failwell: {said}"


@pytest.mark.parametrize(
    "name",
    [
        "raises",
        "raises_oddly",
        "is_no_python",
        "holds_nul",
        "exits",
        "runs_deep",
        "answers_oddly",
        ".",
        "..",
        ".raises",
        "",
    ],
)
def test_a_module_that_cannot_be_loaded_is_said_in_one_line(folder: Path, name: str) -> None:
    line = refusal(run(f"{name}:Billing", folder=folder))
    assert line.startswith(f"failwell: cannot load {name}:Billing: ")
    assert "\x1b" not in line


def test_a_second_catalogue_is_bad_usage() -> None:
    refusal(run("core", "typed"))
