"""What the frameworks write into the log themselves holds no secret, on whichever logger they write it."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest

from failwell.redact import DEFAULT
from failwell.server.observer import mask_framework_logs
from failwell.server.served_call import ServedCall, current

LINE = "Failed to validate request: input_value={'user': 'ann', 'password': 'hunter2xYz'}"


def line(path: str) -> logging.LogRecord:
    return logging.getLogger().makeRecord("root", logging.WARNING, path, 363, LINE, (), None)


@pytest.mark.parametrize("path", ["/x/site-packages/mcp/shared/session.py", "C:\\x\\mcp\\shared\\session.py"])
def test_a_line_of_the_sdk_on_the_root_logger_is_masked(path: str, caplog: pytest.LogCaptureFixture) -> None:
    mask_framework_logs(DEFAULT)
    logging.getLogger().handle(line(path))
    assert caplog.messages == ["Failed to validate request: input_value={'user': 'ann', 'password': '[redacted]'}"]


def test_a_line_of_somebody_else_on_the_root_logger_stays(caplog: pytest.LogCaptureFixture) -> None:
    mask_framework_logs(DEFAULT)
    logging.getLogger().handle(line("/x/app/main.py"))
    assert caplog.messages == [LINE]


@pytest.mark.parametrize("component", ["tools.tool_manager", "resources.resource_manager", "prompts.prompt"])
@pytest.mark.parametrize("prefix", ["fastmcp", "fastmcp.fastmcp", "FastMCP.fastmcp"])
def test_a_crash_that_fastmcp_writes_is_masked_by_whatever_name_its_logger_has(
    prefix: str, component: str, caplog: pytest.LogCaptureFixture
) -> None:
    """FastMCP 2.12 puts a name before that of the module, and 2.12.0 another one."""
    mask_framework_logs(DEFAULT)
    try:
        raise RuntimeError("no login with password=hunter2xYz")
    except RuntimeError:
        logging.getLogger(f"{prefix}.{component}").exception("It failed.")
    assert "hunter2xYz" not in caplog.text
    assert "password=[redacted]" in caplog.text


@pytest.mark.parametrize("is_answered", [True, False])
def test_how_a_tool_failed_is_told_once(is_answered: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Of a call that Failwell answers, its own line tells it: FastMCP's would be a traceback in forty columns."""
    mask_framework_logs(DEFAULT)
    token = current.set(ServedCall("pay", {}, SimpleNamespace(protocol_version="2026-07-28")) if is_answered else None)
    try:
        raise ValueError("no")
    except ValueError:
        logging.getLogger("fastmcp.tools.tool_manager").exception("Error calling tool 'pay'")
    finally:
        current.reset(token)
    assert ("Traceback" in caplog.text) is not is_answered
    assert "Error calling tool 'pay'" in caplog.text


@pytest.mark.parametrize("sent", ["hunter2xYz", ["hunter2xYz"], {"v": "hunter2xYz"}, [["hunter2xYz"]]], ids=repr)
@pytest.mark.parametrize("loc", [("password",), ("login", "password"), ("logins", 0, "password", "str"), ()], ids=repr)
def test_what_was_sent_for_a_secret_is_masked_in_a_list_of_problems(
    sent: object, loc: tuple[str | int, ...], caplog: pytest.LogCaptureFixture
) -> None:
    mask_framework_logs(DEFAULT)
    value = sent if loc else {"password": sent}
    problem = {"type": "string_type", "loc": loc, "msg": "Input should be a valid string", "input": value}
    other = {"type": "missing", "loc": ("user",), "msg": "Field required", "input": {"city": "Bonn"}}
    logging.getLogger("fastmcp.server.server").warning("Invalid arguments for tool %r: %s", "login", [problem, other])
    assert "hunter2xYz" not in caplog.text
    assert "Bonn" in caplog.text


def test_what_was_sent_under_a_misspelt_name_is_masked_in_a_list_of_problems(caplog: pytest.LogCaptureFixture) -> None:
    """It may have been meant for a secret; another argument stays."""
    mask_framework_logs(DEFAULT)
    sent = {"api_kei": "plainword-zebra", "city": "Bonn"}
    missing = {"type": "missing_argument", "loc": ("user",), "msg": "Missing required argument", "input": sent}
    strange = {"type": "unexpected_keyword_argument", "loc": ("api_kei",), "msg": "?", "input": "plainword-zebra"}
    logging.getLogger("fastmcp.server.server").warning("Invalid arguments for tool %r: %s", "pay", [missing, strange])
    assert "plainword-zebra" not in caplog.text
    assert "Bonn" in caplog.text


def test_lines_are_masked_once_however_many_servers_there_are() -> None:
    mask_framework_logs(DEFAULT)
    before = list(logging.getLogger().filters)
    mask_framework_logs(DEFAULT)
    assert logging.getLogger().filters == before
