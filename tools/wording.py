"""What a model reads about each kind of failure, in every format, for a person to read.

    python tools/wording.py                # the plain text of every case
    python tools/wording.py --all          # every format
    python tools/wording.py --format typed # one of them

The words were measured on models; a sentence that is changed here is one that models were not asked about. The rules
that need no model (the reason first, then one step; the seconds; nothing that says what not to do) are held by
`tests/formats/test_wording.py`, over these cases.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import failwell as fw
from failwell.formats import FORMATS
from failwell.model import CATALOGS, Action
from failwell.readers import from_schema, unknown_tool

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string"},
        "status": {"enum": ["planned", "in_progress", "closed"]},
        "verb": {"enum": ["list", "get", "create"]},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        "title": {"type": "string", "minLength": 3},
        "email": {"type": "string", "format": "email"},
        "confirm": {"const": True},
        "password": {"type": "string", "minLength": 8},
        "body": {"type": "string"},
        "address": {
            "type": "object",
            "properties": {"zip": {"type": "string", "pattern": "^[0-9]{5}$"}},
            "required": ["zip"],
        },
        "urgent": {"type": "boolean"},
    },
    "required": ["id"],
}
TOOL: Final = "projects.update"
LONG: Final = "Once upon a time there was a project. " * 12
WRONG: Final[Mapping[str, dict[str, Any]]] = {
    "an option that does not exist": {"id": "p_1", "status": "done"},
    "an option in another spelling": {"id": "p_1", "status": "In-Progress"},
    "an option that is near": {"id": "p_1", "status": "progress"},
    "an option with a letter missing": {"id": "p_1", "verb": "lst"},
    "an argument that is missing": {"status": "closed"},
    "a number as text": {"id": "p_1", "limit": "10"},
    "a number in words": {"id": "p_1", "limit": "ten"},
    "a number out of bounds": {"id": "p_1", "limit": 0},
    "an item of a list": {"id": "p_1", "tags": ["a", {}]},
    "a text that is too short": {"id": "p_1", "title": "x"},
    "a pattern inside an object": {"id": "p_1", "address": {"zip": "abc"}},
    "a confirmation": {"id": "p_1", "confirm": False},
    "a yes that is none": {"id": "p_1", "urgent": "maybe"},
    "a name with a letter missing": {"id": "p_1", "limt": 5},
    "a name that does not exist": {"id": "p_1", "colour": "red"},
    "two mistakes": {"id": "p_1", "status": "done", "limit": "10"},
    "a secret beside it": {"id": "p_1", "password": "correct-horse-1", "limit": 0},
    "a secret that is wrong": {"id": "p_1", "password": "short"},
    "a long text beside it": {"id": "p_1", "body": LONG, "limit": 0},
    "more than can be shown": {"id": "p_1", "address": {"zip": "abc", "note": LONG}},
}
CHECK: Final = Action("invoices.get", arguments={"id": "inv_7"})


class Case(NamedTuple):
    """One failure, and what it is an example of."""

    name: str
    error: fw.ToolError


def wrong_arguments() -> Iterator[Case]:
    for name, arguments in WRONG.items():
        error = from_schema(SCHEMA, arguments, tool=TOOL)
        assert error is not None, name
        yield Case(name, error.replace(sent=arguments))
    yield Case(
        "an author's own words, and no arguments",
        fw.Invalid("The trip ends before it starts.", tool="trips.plan", fields={"end": "must be after start"}),
    )
    yield Case("an author's sentence", fw.Invalid("The amount must be above zero.", tool="pay"))
    yield Case("a tool that does not exist", unknown_tool("project.updat", [TOOL, "projects.list"]))
    yield Case("a tool like no other", unknown_tool("frobnicate", [TOOL, "projects.list"]))


def kinds() -> Iterator[Case]:
    yield Case("not found, with a way out", fw.NotFound("Invoice inv_7 does not exist.", actions=["invoices.list"]))
    yield Case("held by somebody", fw.Conflict("The file is reserved.", conflicts=["agent-7"]))
    yield Case("refused", fw.Denied("Refunds need a manager: ask Ann."))
    yield Case("passing, with a delay", fw.Transient("Too many requests.", code="RATE_LIMITED", retry_after=30))
    yield Case("passing, without", fw.Transient("The service is busy.", effect="none"))
    yield Case("broken", fw.Internal("[pay] The tool failed unexpectedly."))


def in_doubt() -> Iterator[Case]:
    about: dict[str, Any] = {"tool": "invoices.pay", "code": "TIMEOUT"}
    for effect in ("unknown", "partial", "done"):
        yield Case(f"{effect}", fw.ToolError("The bank did not answer.", effect=effect, **about))
        yield Case(f"{effect}, can be looked at", fw.ToolError("No answer.", effect=effect, verify=CHECK, **about))
    lost = fw.ToolError("The connection broke.", effect="unknown", delivery="unanswered", verify=CHECK, **about)
    yield Case("the answer was lost", lost)
    wrong = from_schema(SCHEMA, WRONG["two mistakes"], tool=TOOL)
    assert wrong is not None
    yield Case("wrong arguments after half the work", wrong.replace(effect="partial", patch=(), sent={"id": "p_1"}))
    yield Case("wrong arguments, and nobody knows", wrong.replace(effect="unknown", sent={"id": "p_1"}))


def codes() -> Iterator[Case]:
    for catalog in CATALOGS.values():
        for code in catalog:
            yield Case(
                f"{code.catalog} {code.name}", fw.ToolError("It went wrong.", code=code.name, tool="projects.get")
            )


GROUPS: Final = {
    "Wrong arguments": wrong_arguments,
    "Kinds": kinds,
    "Calls that may have been done": in_doubt,
    "Codes": codes,
}


def main() -> int:
    parser = argparse.ArgumentParser(description="What a model reads about each kind of failure.")
    parser.add_argument("--format", choices=FORMATS, default="text")
    parser.add_argument("--all", action="store_true", help="every format")
    chosen = parser.parse_args()
    formats = tuple(FORMATS) if chosen.all else (chosen.format,)
    for title, cases in GROUPS.items():
        print(f"\n# {title}")
        for case in cases():
            print(f"\n{case.name}")
            for name in formats:
                print(textwrap.indent(told(case.error, name), f"  {name}: " if chosen.all else "  "))
    return 0


def told(error: fw.ToolError, format: str) -> str:
    """All that a model reads of an error in a format: the texts of the result, as an installed server sends it."""
    if FORMATS[format].terse:
        error = error.replace(message=fw.render(error, "text"))
    result = fw.to_result(error, format)
    return "\n".join(block["text"] for block in result["content"])


if __name__ == "__main__":
    raise SystemExit(main())
