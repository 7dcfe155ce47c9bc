"""The failures as JSON lines, for whoever collects logs."""

from __future__ import annotations

import json
import logging
from typing import Any

_NAMES = ("request_id", "tool_name", "error_code", "mcp_error_code", "correlation_id", "details", "context")


class JsonLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {"event": "tool_error", "level": record.levelname}
        line |= {name: getattr(record, name, None) for name in _NAMES}
        if record.exc_text:
            line["way"] = record.exc_text
        return json.dumps(line, ensure_ascii=False)


def json_lines(path: str) -> logging.Logger:
    """A logger that stands by itself, so that nothing of it gets to standard output."""
    logger = logging.Logger("routers", logging.INFO)
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(JsonLine())
    logger.addHandler(handler)
    return logger
