"""The twenty error objects of contract 004, as they are printed there, in its order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

PRINTED: Final[list[dict[str, Any]]] = json.loads(
    Path(__file__).with_name("data").joinpath("jsonrpc-printed.json").read_text(encoding="utf-8")
)
