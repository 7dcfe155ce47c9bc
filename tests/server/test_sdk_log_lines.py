"""What the frameworks write into the log themselves holds no secret, on whichever logger they write it."""

from __future__ import annotations

import logging

import pytest

from failwell.guards import DEFAULT
from failwell.server.logs import mask
from failwell.server.served_call import ServedCall, current

LINE = "Failed to validate request: input_value={'user': 'ann', 'password': 'hunter2xYz'}"


def line(path: str) -> logging.LogRecord:
    return logging.LogRecord("root", logging.WARNING, path, 363, LINE, (), None)


@pytest.mark.parametrize("path", ["/x/site-packages/mcp/shared/session.py", "C:\\x\\mcp\\shared\\session.py"])
def test_a_line_of_the_sdk_on_the_root_logger_is_masked(path: str, caplog: pytest.LogCaptureFixture) -> None:
    mask(DEFAULT)
    logging.getLogger().handle(line(path))
    assert caplog.messages == ["Failed to validate request: input_value={'user': 'ann', 'password': '[redacted]'}"]


def test_a_line_of_somebody_else_on_the_root_logger_stays(caplog: pytest.LogCaptureFixture) -> None:
    mask(DEFAULT)
    logging.getLogger().handle(line("/x/app/main.py"))
    assert caplog.messages == [LINE]


@pytest.mark.parametrize("is_answered", [True, False])
def test_how_a_tool_failed_is_told_once(is_answered: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Of a call that Failwell answers, its own line tells it: FastMCP's would be a traceback in forty columns."""
    mask(DEFAULT)
    token = current.set(ServedCall("pay", {}, None) if is_answered else None)
    try:
        raise ValueError("no")
    except ValueError:
        logging.getLogger("fastmcp.tools.tool_manager").exception("Error calling tool 'pay'")
    finally:
        current.reset(token)
    assert ("Traceback" in caplog.text) is not is_answered
    assert "Error calling tool 'pay'" in caplog.text


def test_lines_are_masked_once_however_many_servers_there_are() -> None:
    mask(DEFAULT)
    before = list(logging.getLogger().filters)
    mask(DEFAULT)
    assert logging.getLogger().filters == before
