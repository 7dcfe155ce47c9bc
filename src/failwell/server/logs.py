"""The log lines of frameworks, made safe: they print exceptions as they come."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from typing import Any, Final

from failwell.readers import chain, exc_summary
from failwell.redact import Guard, Secrets

from .served_call import current

# How the names of the frameworks' loggers begin. FastMCP 2.12 puts its own name before that of the module.
_FRAMEWORKS: Final = frozenset({"mcp", "fastmcp", "docket"})
# What 1.x writes about every request, and a success should not pay for.
_HARMLESS: Final = frozenset({"Processing request of type %s"})
# What FastMCP writes about a tool that raised.
_TOLD_TWICE: Final = "Error calling tool "
_IN_SDK: Final = "/mcp/"
# Pydantic's words for an argument, or a key, that there is not.
_UNEXPECTED: Final = frozenset({"unexpected_keyword_argument", "extra_forbidden"})


class _MaskedRecords:
    """A factory of log records that takes secrets out of the frameworks' lines and tracebacks.

    Not a filter: that of a logger does not see the lines of its children.
    """

    def __init__(self, make: Callable[..., logging.LogRecord], guard: Guard) -> None:
        self._make = make
        self._guard = guard

    def __call__(self, name: str, level: int, pathname: str, *args: Any, **more: Any) -> logging.LogRecord:
        record = self._make(name, level, pathname, *args, **more)
        # 1.x writes through the root logger, too, which belongs to others.
        is_sdks = name == "root" and _IN_SDK in pathname.replace("\\", "/")
        if (is_sdks or name.partition(".")[0].lower() in _FRAMEWORKS) and record.msg not in _HARMLESS:
            self._mask(record)
        return record

    def _mask(self, record: logging.LogRecord) -> None:
        try:
            if (call := current.get()) is not None and isinstance(record.msg, str):
                # How it came to that, Failwell's own line says, and the name of a tool is no secret.
                if record.msg.startswith(_TOLD_TWICE):
                    record.exc_info = None
                if record.msg == f"{_TOLD_TWICE}{call.tool!r}":
                    return
            if isinstance(record.args, tuple):
                record.args = tuple(map(self._spared, record.args))
            record.msg, record.args = self._guard.plain(record.getMessage()), ()
            if record.exc_info and record.exc_info[1] is not None:
                record.exc_text, record.exc_info = self._guard.plain(_printed(record.exc_info[1])), None
        except Exception:
            record.msg, record.args, record.exc_info = "A log line could not be written.", (), None

    def _spared(self, value: object) -> object:
        """What is put into a line: of pydantic's list of problems, what was sent as far as it may be shown. In a text
        nobody could tell any more for which argument a list or an object was sent."""
        if type(value) is not list or not all(map(_is_problem, value)):
            return value
        is_secret = self._guard.redact.secret_name
        # What nobody takes may be a secret under a misspelt name.
        strange = {each["loc"][-1] for each in value if each.get("type") in _UNEXPECTED and each["loc"]}
        secrets = Secrets(is_name=lambda name: name in strange or is_secret(name))
        return [{**each, "input": secrets.sample(each["input"], each["loc"])} for each in value]


def _is_problem(value: object) -> bool:
    return type(value) is dict and "input" in value and type(value.get("loc")) is tuple


def _printed(exc: BaseException) -> str:
    """A traceback as Python prints it, by readers that a `__str__` cannot hold up."""
    told: list[str] = []
    for each in chain(exc):
        frames = "".join(traceback.format_tb(each.__traceback__))
        told.append(f"Traceback (most recent call last):\n{frames}{exc_summary(each)}")
    return "\n\nwhich came from\n\n".join(told)


def mask_framework_logs(guard: Guard) -> None:
    """Mask what the frameworks log in this process."""
    factory = logging.getLogRecordFactory()
    if not isinstance(factory, _MaskedRecords):
        logging.setLogRecordFactory(_MaskedRecords(factory, guard))
