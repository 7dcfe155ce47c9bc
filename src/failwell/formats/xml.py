"""`xml`: contract 002, `<tool_error>` and `<validation_error>`."""

from __future__ import annotations

from typing import Final

from failwell.model import Json, ToolError

from .wire import Format
from .xml_reader import load
from .xml_writer import dump


def _stow(error: ToolError, carried: dict[str, Json], **options: str) -> str:
    return dump(error, carried=carried, **options)


FORMAT: Final = Format(
    "xml",
    "002, self-healing XML",
    dump,
    load,
    str,
    options=("layout",),
    stow=_stow,
    start="<",
    severity_of_result=True,
    gated=False,
    remarks=True,
    closed=True,
    schema="xml.rng",
)
