"""The pages of the rubric, from its data: `python tools/docs_rules.py` writes docs/rubric.md, --check compares it."""

from __future__ import annotations

import sys
from pathlib import Path

from failwell.check import RULES, VERSION

PAGE = Path(__file__).parents[1] / "docs" / "rubric.md"
_HEAD = """\
# The rubric, version {version}

For anybody who grades, or is graded: what a good failure of an MCP server is, and what each fault costs.
[`failwell check`](check.md) applies it; apply it with other tools as you like. The page and its data,
`src/failwell/check/rubric-{version}.toml`, are under [CC0 1.0](https://creativecommons.org/publicdomain/zero/1.0/).
`--rubric {version}` pins the version: rules and numbers change only in a new one. The data has the measurement behind
each rule, and the fix.

- **By what happens.** No rule knows a phrase or a language. Names and values of the schema, forms, and whether texts
  differ are observed. A call that a failure shows is made, where it only reads.
- **What is scored was seen.** A rule holds, is broken, does not apply, or is inconclusive. The last two are named, and
  not scored.
- **One root cause counts once.** Of one failure only the lowest missing rung of `answer.*` counts. Any other rule costs
  its points for the share of tools that show it.
- **100 less what was lost.** Only `harm.*` limits the score: to the limit below if all tools show it, to 69 if one of
  many does.
- **Refusals only.** Where no valid call worked, the score is at most 59.

The ladder: crashes and leaks, failures as successes, one text for all faults, the fault told, the argument named, the
accepted values given, the next call given. A+ from 95, A from 90, B from 75, C from 60, D from 40, F below.

| rule | points | limit | observed | reason |
|---|--:|--:|---|---|
"""
_PAGE = """\
# {rule.id}

**{rule.title}.** {rule.reason}

| property | value |
|---|---|
| observed | {rule.observes} |
| costs | {rule.points} points, severity {rule.severity} |
| limit | {limit} |
| measured | {rule.measured} |
| clause | {clause} |
| fix | {rule.fix} |
{code}
All rules but this one: `failwell check --skip {rule.id} -- CMD`. [The rubric](../../rubric.md).
"""


def rubric() -> str:
    """The page that is kept in the repository."""
    text = _HEAD.format(version=VERSION)
    for rule in RULES.values():
        place = f'<a id="{rule.id}"></a>`{rule.id}`'
        limit = "" if rule.floor is None else rule.floor
        text += f"| {place} | {rule.points} | {limit} | {rule.observes} | {rule.reason} |\n"
    return text


def rule_pages() -> dict[str, str]:
    """A page for each rule by its path, for the site."""
    pages = {}
    for rule in RULES.values():
        limit = "none" if rule.floor is None else f"{rule.floor} if all tools show it"
        code = "".join(f"| in {name} | `{code}` |\n" for name, code in rule.code.items())
        clause = rule.clause or "none: it is good practice"
        pages[f"check/rules/{rule.id}.md"] = _PAGE.format(rule=rule, limit=limit, code=code, clause=clause)
    return pages


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text(encoding="utf-8") != rubric())
    PAGE.write_text(rubric(), encoding="utf-8")
