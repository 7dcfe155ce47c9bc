"""The example of contract 002: every code, every root element and every text of the contract, over real wires."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from running import ERAS, Client, Example, compare, talking

import failwell as fw
from failwell.formats import META_KEY

# The contract's table, and the codes of its automatic errors.
CODES = {
    *("NOT_FOUND", "VALIDATION_ERROR", "UNAUTHORIZED", "FORBIDDEN", "CONFLICT", "RATE_LIMITED", "TIMEOUT"),
    *("INTERNAL_ERROR", "DEPRECATED", "SERVER_BUSY", "MISSING_REQUIRED_FIELD"),
    *("MISSING_DISCRIMINATOR", "INVALID_DISCRIMINATOR", "UNKNOWN_ACTION", "UNKNOWN_TOOL"),
    *("ProjectNotFound", "InvoiceAlreadyPaid", "UserInactive"),
}
CALLS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("a project", "projects", {"action": "get", "project_id": "apollo"}),
    ("no such project", "projects", {"action": "get", "project_id": "proj_xyz"}),
    ("a field that is missing", "projects", {"action": "create", "name": "Mercury"}),
    ("a simple error", "projects", {"action": "create", "name": "Apollo", "workspace_id": "ws_1"}),
    ("a name too short", "projects", {"action": "create", "name": "M", "workspace_id": "ws_1"}),
    ("a key nobody knows", "projects", {"action": "create", "name": "Mercury", "hallucinated_param": 1}),
    ("no action", "projects", {"project_id": "apollo"}),
    ("a misspelt action", "projects", {"action": "delte", "project_id": "apollo", "user_id": "u_ada"}),
    ("an action from nowhere", "projects", {"action": "frobnicate"}),
    ("an action that is no text", "projects", {"action": 7}),
    ("an action that is null", "projects", {"action": None}),
    ("a pipeline, no user", "projects", {"action": "delete", "project_id": "gemini", "user_id": "u_x"}),
    ("a pipeline, switched off", "projects", {"action": "delete", "project_id": "gemini", "user_id": "u_eve"}),
    ("a pipeline, not theirs", "projects", {"action": "delete", "project_id": "apollo", "user_id": "u_bob"}),
    ("a pipeline, to its end", "projects", {"action": "delete", "project_id": "gemini", "user_id": "u_bob"}),
    ("an invoice nobody has", "billing", {"action": "get_invoice", "invoice_id": "inv_123"}),
    ("paid already", "billing", {"action": "pay", "invoice_id": "inv_2"}),
    ("a rule of the business", "billing", {"action": "pay", "invoice_id": "inv_3"}),
    ("too many payments", "billing", {"action": "pay", "invoice_id": "inv_1"}),
    ("deprecated", "billing", {"action": "invoices"}),
    ("too far ahead", "billing", {"action": "forecast", "months": 2_000_000_000}),
    ("a broken record", "billing", {"action": "print_invoice", "invoice_id": "inv_4"}),
    ("two wrong arguments", "users", {"action": "create", "email": "bad-email", "role": "superadmin"}),
    ("somebody who is there", "users", {"action": "create", "email": "ada@example.com"}),
    ("no token", "users", {"action": "me"}),
    ("a tool from nowhere", "project", {"action": "list"}),
)


class Office:
    def __init__(self, folder: Path, http: bool) -> None:
        self.http = http
        database = folder / "workspace.db"
        self.process = Example("workspace", folder / "errors.log", {"WORKSPACE_DB": str(database)}, http=http)
        self.database = database

    def spoil(self) -> None:
        """A record that no code wrote: its amount is missing."""
        with closing(sqlite3.connect(self.database)) as database, database:
            database.execute("INSERT OR REPLACE INTO invoices VALUES ('inv_4', 'apollo', NULL, 'open')")


@pytest.fixture(params=["stdio", "http"])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    place = Office(tmp_path, request.param == "http")
    yield place
    place.process.close()


def asked(client: Client, tool: str, arguments: dict[str, Any], id: str) -> dict[str, Any]:
    return client.ask("tools/call", {"name": tool, "arguments": arguments}, id=id).value


def code_of(answer: dict[str, Any]) -> str | None:
    error = fw.parse(answer["result"])
    return error.code if isinstance(error, fw.ToolError) else None


@pytest.mark.checklist(110, 113, 150, 155, 156, 157, 158, 161, 163, 164, 167, 175)
@pytest.mark.parametrize("era", ERAS)
def test_every_code_and_every_root_element(office: Office, era: str) -> None:
    with talking(office.process, era, http=office.http) as client:
        client.ask("tools/list", {}, id="list")
        office.spoil()
        answers = {name: asked(client, tool, arguments, name) for name, tool, arguments in CALLS}
    codes = {code for answer in answers.values() if (code := code_of(answer))}
    assert codes == CODES - {"SERVER_BUSY"}
    roots = {
        match[1]
        for answer in answers.values()
        if (match := re.match(r"<(\w+)", answer["result"]["content"][0]["text"])) and answer["result"]["isError"]
    }
    assert roots == {"tool_error", "validation_error"}
    assert answers["deprecated"]["result"]["isError"] is False
    # It depends on how long the calls before it took.
    settled = json.loads(re.sub(r"\b(5\d|60)( seconds</retry_after>)", r"60\2", json.dumps(answers)))
    settled["too many payments"]["result"]["_meta"][META_KEY]["retry_after"] = 60
    problems = compare("workspace", settled, era)
    assert not problems, "\n".join(problems)


@pytest.mark.checklist(166)
def test_a_second_forecast_is_told_to_wait(tmp_path: Path) -> None:
    office = Office(tmp_path, http=True)
    try:
        with (
            talking(office.process, ERAS[0], http=True) as one,
            talking(office.process, ERAS[0], http=True) as other,
            ThreadPoolExecutor() as pool,
        ):
            wanted = {"action": "forecast", "months": 2_000_000_000}
            waiting = [pool.submit(asked, each, "billing", wanted, "f") for each in (one, other)]
            answers = {code_of(each.result()): each.result() for each in waiting}
        assert answers.keys() == {"TIMEOUT", "SERVER_BUSY"}
        busy = fw.parse(answers["SERVER_BUSY"])
        assert isinstance(busy, fw.ToolError)
        assert busy.retry_after is not None
        assert busy.retryable
    finally:
        office.process.close()
