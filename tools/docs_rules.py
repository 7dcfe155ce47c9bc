"""The pages of the documentation about the rules of `failwell check`: one for each, and their index."""

from __future__ import annotations

from failwell.check import GROUPS, RULES, CheckRule

_INDEX = """\
# Rules of the check

What [failwell check](../../check.md) looks at, {rules} rules in {groups} groups. A group counts as much of a hundred as
stands beside its name, a rule as much of its group as its weight. A server that breaks a rule with a limit scores no
higher, whatever else holds. One that breaks a critical rule has 59 at most, a high one 88.
"""
_GROUP = """
## {group}, {weight} of 100

| rule | what holds | severity | weight | limit |
|---|---|---|--:|---|
"""
_PAGE = """\
# {rule.id}

**{rule.title}.** {rule.why}

| property | value |
|---|---|
| group | {rule.group} |
| severity | {rule.severity} |
| weight | {rule.weight} |
| limit | {limit} |
| clause | {clause} |

## What it looks at

{rule.looks_at}

## How to put it right

{rule.plain}

With Failwell:

```text
{rule.failwell}
```

Only this rule: `failwell check --rule {rule.id} -- CMD`. All but this one: `--skip {rule.id}`.
"""


def rule_pages() -> dict[str, str]:
    """The pages by their path."""
    made = {f"check/rules/{rule.id}.md": _page(rule) for rule in RULES.values()}
    return {"check/rules/index.md": _index(), **made}


def _index() -> str:
    text = _INDEX.format(rules=len(RULES), groups=len(GROUPS))
    for group, weight in GROUPS.items():
        text += _GROUP.format(group=group, weight=weight)
        text += "".join(
            f"| [`{rule.id}`]({rule.id}.md) | {rule.title} | {rule.severity} | {rule.weight} | {_limit(rule)} |\n"
            for rule in RULES.values()
            if rule.group == group
        )
    return text


def _limit(rule: CheckRule) -> str:
    if rule.most == 100:
        return ""
    return f"{rule.most}, more if it is broken seldom" if rule.scales else str(rule.most)


def _page(rule: CheckRule) -> str:
    return _PAGE.format(rule=rule, limit=_limit(rule) or "none", clause=rule.clause or "none: it is good practice")
