"""How many planted secrets the guard keeps back, and how many ordinary texts it touches, for each set in `tests/guard`.

`incidents` was written by somebody who had not seen the guard, to test what was learnt from the others: only its two
numbers are to be looked at. `--missed SET` lists what came out of another set, and which ordinary texts were touched.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import failwell as fw
from failwell.redact import DEFAULT

HERE = Path(__file__).parent.parent / "tests" / "redact"
UNSEEN = "incidents"
_COLOURS = re.compile("\x1b\\[[0-9;]*[A-Za-z]")


def rows(set_of: str, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / f"{set_of}_{name}.jsonl").read_text().splitlines()]


def missed(set_of: str) -> list[dict[str, Any]]:
    """The rows of which a secret comes out whole."""
    return [row for row in rows(set_of, "secrets") if _comes_out(row)]


def touched(set_of: str) -> list[dict[str, Any]]:
    """The ordinary texts that do not come through as they were."""
    return [row for row in rows(set_of, "ordinary") if DEFAULT.plain(row["text"]) != _COLOURS.sub("", row["text"])]


def _comes_out(row: dict[str, Any]) -> bool:
    said = fw.Guard()(fw.ToolError(row["text"])).message
    return any(secret in said for secret in ([row["secret"]] if isinstance(row["secret"], str) else row["secret"]))


def main() -> int:
    if "--missed" in sys.argv:
        set_of = sys.argv[-1]
        if set_of == UNSEEN:
            print(
                "Nobody looks into this set: what is learnt from it says nothing about the next one.", file=sys.stderr
            )
            return 2
        for row in missed(set_of):
            print("out ", row["id"], repr(row["secret"]), "\n     ", repr(row["text"]))
        for row in touched(set_of):
            print("touched ", row["id"], "\n     ", repr(row["text"]), "\n     ", repr(DEFAULT.plain(row["text"])))
        return 0
    for set_of in sorted({path.name.rpartition("_")[0] for path in HERE.glob("*_secrets.jsonl")}):
        secrets, ordinary = len(rows(set_of, "secrets")), len(rows(set_of, "ordinary"))
        out, changed = len(missed(set_of)), len(touched(set_of))
        print(
            f"{set_of:10} kept back {secrets - out:4} of {secrets:4} = {1 - out / secrets:6.1%}"
            f"   touched {changed:3} of {ordinary:4} = {changed / ordinary:5.2%}"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
