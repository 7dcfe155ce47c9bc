"""The log lines of frameworks, made safe: they print exceptions as they come."""

from __future__ import annotations

import logging
import traceback
from typing import Any, Final

from failwell.readers import chain, exc_summary
from failwell.redact import Guard, Secrets

from .served_call import current

# How the names of the frameworks' loggers begin. FastMCP 2.12 puts its own name before that of the module.
_FRAMEWORKS: Final = frozenset({"mcp", "fastmcp", "docket"})
# What 1.x writes about every request, and a success should not pay for.
_HARMLESS: Final = "Processing request of type %s"
# What FastMCP writes about a tool that raised.
_TOLD_TWICE: Final = "Error calling tool "
# Pydantic's words for an argument, or a key, that there is not.
_UNEXPECTED: Final = frozenset({"unexpected_keyword_argument", "extra_forbidden"})


def mask_framework_logs(guard: Guard) -> None:
    """Mask what the frameworks log in this process.

    By the factory of log records: the filter of a logger does not see the lines of its children.
    """
    make: Any = logging.getLogRecordFactory()
    if getattr(make, "__module__", None) == __name__:
        return

    def make_masked(name: str, level: int, pathname: str, *args: Any, **more: Any) -> logging.LogRecord:
        record: logging.LogRecord = make(name, level, pathname, *args, **more)
        # 1.x writes through the root logger, too, which belongs to others.
        is_sdks = name == "root" and "/mcp/" in pathname.replace("\\", "/")
        if (is_sdks or name.partition(".")[0].lower() in _FRAMEWORKS) and record.msg != _HARMLESS:
            try:
                _mask(record, guard)
            except Exception:
                record.msg, record.args, record.exc_info = "A log line could not be written.", (), None
        return record

    logging.setLogRecordFactory(make_masked)


def _mask(record: logging.LogRecord, guard: Guard) -> None:
    if (call := current.get()) is not None and isinstance(record.msg, str):
        # How it came to that, Failwell's own line says, and the name of a tool is no secret.
        if record.msg.startswith(_TOLD_TWICE):
            record.exc_info = None
        if record.msg == f"{_TOLD_TWICE}{call.tool!r}":
            return
    if isinstance(record.args, tuple):
        record.args = tuple(_mask_inputs(each, guard) if type(each) is list else each for each in record.args)
    record.msg, record.args = guard.plain(record.getMessage()), ()
    if record.exc_info and record.exc_info[1] is not None:
        # As Python prints it, by readers that a `__str__` cannot hold up.
        told = [
            f"Traceback (most recent call last):\n{''.join(traceback.format_tb(each.__traceback__))}{exc_summary(each)}"
            for each in chain(record.exc_info[1])
        ]
        record.exc_text, record.exc_info = guard.plain("\n\nwhich came from\n\n".join(told)), None


def _mask_inputs(problems: list[Any], guard: Guard) -> list[Any]:
    """Pydantic's list of problems, with the input of each as far as it may be shown. In a text nobody could tell any
    more for which argument a list or an object was sent."""
    if not all(type(each) is dict and "input" in each and type(each.get("loc")) is tuple for each in problems):
        return problems
    is_secret = guard.redact.secret_name
    # What nobody takes may be a secret under a misspelt name.
    strange = {each["loc"][-1] for each in problems if each.get("type") in _UNEXPECTED and each["loc"]}
    secrets = Secrets(is_name=lambda name: name in strange or is_secret(name))
    return [{**each, "input": secrets.sample(each["input"], each["loc"])} for each in problems]
