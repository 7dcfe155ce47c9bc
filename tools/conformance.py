"""Writes the conformance vectors from the tables; `--check` only says whether the files hold what the tables give."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance_tables import BACK, DECISIONS, ERRORS, LOSSES, OPTIONS, WIRES
from failwell import Guard
from failwell.formats import FORMATS
from failwell.formats.crosswalk import ROWS, core_code
from failwell.model.catalogs import CATALOGS
from failwell.model.codes import find
from failwell.model.tool_error import ToolError
from failwell.testing.adapter import perform, read

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "src" / "failwell" / "conformance"
LARGEST = 32_000
"""A request has to fit into the buffer of a pipe, so that simple implementations cannot block on one."""


def whole(row: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The canonical object of a row: everything it says, defaults included."""
    outcome = read({"failwell": 1, **row, **more})
    if Guard()(outcome) != outcome:
        raise SystemExit(f"conformance: the guard would change {row}; the tables may not hold such a text")
    return outcome.to_dict(provenance=False) if isinstance(outcome, ToolError) else outcome.to_dict()


def error(name: str, format: str) -> dict[str, Any]:
    """The canonical object of an error in the table, as it is given to one format."""
    return whole(ERRORS[name][1])


def vector(id: str, operation: str, format: str, options: dict[str, Any], given: Any) -> dict[str, Any]:
    found = {
        "id": f"{format}/{operation}/{id}",
        "operation": operation,
        "format": format,
        "options": options,
        "input": given,
        "expect": perform(operation, format, options, given),
    }
    if len(json.dumps(found)) > LARGEST:
        raise SystemExit(f"conformance: {found['id']} is larger than {LARGEST} characters")
    return found


def vectors() -> Iterator[dict[str, Any]]:
    """Every vector there is."""
    for name, (formats, _) in ERRORS.items():
        for format in formats.split():
            made = vector(name, "render", format, {}, error(name, format))
            yield made
            if format in BACK.get(name, "").split():
                yield vector(f"rendered-{name}", "parse", format, {}, made["expect"])
    for name, format, options in OPTIONS:
        words = "-".join(f"{key}-{value}" for key, value in options.items() if key != "now") or "now"
        made = vector(f"{name}-{words}".lower(), "render", format, options, error(name, format))
        yield made
        if "carry" in options:
            yield vector(f"carried-{name}", "parse", format, {}, made["expect"])
    for name, formats in LOSSES.items():
        for format in formats.split():
            yield vector(name, "losses", format, {}, error(name, format))
    for format, wires in WIRES.items():
        for name, wire in wires.items():
            yield vector(name, "parse", format, {}, wire)
    for name, (row, options) in DECISIONS.items():
        known = {key: value for key, value in row.items() if key in ("origin", "format", "legacy")}
        earlier = {"history": [whole(item) for item in options["history"]]} if "history" in options else {}
        yield vector(name, "decide", "decide", {**options, **earlier}, {**whole(row), **known})


def codes() -> list[dict[str, Any]]:
    """The catalogues as data, in the order in which a code is looked up; the first of a name counts."""
    rows: dict[str, dict[str, Any]] = {}
    for catalog in CATALOGS.values():
        for code in catalog:
            if code.name in rows:
                continue
            core = core_code(code("m"))
            number = code.number
            if number is None and (row := find(core, exact=True)) is not None:
                number = row.number
            rows[code.name] = {
                "code": code.name,
                "catalog": catalog.catalog,
                "core": core,
                "kind": code.kind.value,
                "title": code.title,
                "retryable": code.retryable,
                "strategy": code.strategy.value,
                "effect": code.effect.value if code.effect else None,
                "v1": ROWS[core][0],
                "envelope": ROWS[core][1],
                "number": number,
            }
    return list(rows.values())


def files() -> dict[Path, str]:
    """What every file should hold."""
    sorted_vectors: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in (*FORMATS, "decide")}
    for made in vectors():
        if made["id"] in sorted_vectors[made["format"]]:
            raise SystemExit(f"conformance: there are two vectors {made['id']}")
        sorted_vectors[made["format"]][made["id"]] = made
    contents: dict[Path, Any] = {
        FOLDER / "vectors" / f"{format}.json": [found[id] for id in sorted(found)]
        for format, found in sorted_vectors.items()
    }
    contents[FOLDER / "codes.json"] = codes()
    return {path: json.dumps(value, ensure_ascii=False, indent=2) + "\n" for path, value in contents.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file differs")
    check = parser.parse_args().check
    wanted = files()
    stray = [path for path in FOLDER.rglob("*.json") if path not in wanted]
    different = [
        path for path, text in wanted.items() if not path.exists() or path.read_bytes() != text.encode("utf-8")
    ]
    if check:
        for path in (*different, *stray):
            print(f"conformance: {path.relative_to(ROOT)} is not what the tables give; run tools/conformance.py")
        return 1 if different or stray else 0
    (FOLDER / "vectors").mkdir(parents=True, exist_ok=True)
    for path in different:
        path.write_bytes(wanted[path].encode("utf-8"))
    for path in stray:
        path.unlink()
    print(f"{len(different)} of {len(wanted)} files written, {len(stray)} removed")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
