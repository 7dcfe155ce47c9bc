"""What tools declare about their failures: published in the listing, and held against what they send."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from operator import is_
from typing import Any, Final

from failwell.formats import keys
from failwell.model import COMMON_CODES, Declared, ToolError, declared, upper_snake

from .served_call import group_of
from .tool_rules import rules_of

RAISES_KEY: Final = keys.RAISES
"""The key in a listed tool's `_meta` under which it says what it may fail with."""
ROUTING: Final = ("INVALID_DISCRIMINATOR", "MISSING_DISCRIMINATOR", "UNKNOWN_ACTION")
"""What a grouped tool may answer before it knows the action."""
INPUT_DECLINED: Final = "INPUT_DECLINED"
"""What it may answer where it asks the user."""
KEY_CODES: Final = ("IDEMPOTENCY_CONFLICT", "IDEMPOTENCY_UNFINISHED", "INVALID_PARAMS")
"""What a call is refused with because of its idempotency key."""


class ListedFunction:
    """Stands for the function of a tool that only its listing tells of."""

    def __init__(self, said: Declared) -> None:
        self.__failwell_raises__ = said


def functions_of(function: Any) -> tuple[Callable[..., Any], ...]:
    """The functions behind a tool: its own, or those of a group's actions."""
    group = group_of(function)
    if group is not None:
        return tuple(action.fn for action in group.actions.values())
    return () if function is None else (function,)


def declared_of(function: Any) -> Declared:
    """What is declared on a tool's function; for a group, what its actions say together."""
    if group_of(function) is None:
        return declared(function)
    all_said = [declared(each) for each in functions_of(function)]
    mutations = [said.mutation for said in all_said if said.mutation is not None]
    return Declared(
        codes=tuple(dict.fromkeys(code for said in all_said for code in said.codes)),
        category=next((said.category for said in all_said if said.category is not None), None),
        # It changes things if one of its actions does.
        mutation=any(mutations) if mutations else None,
        requires=tuple(dict.fromkeys(word for said in all_said for word in said.requires)),
        profiles=tuple(dict.fromkeys(word for said in all_said for word in said.profiles)),
    )


def rule_codes(functions: tuple[Any, ...]) -> tuple[str, ...]:
    """The codes of the rules that functions stand under."""
    return tuple(sorted({code for each in functions for rule in rules_of(each) for code in rule.codes}))


def read_declared(tool: Any) -> Declared:
    """What a listed tool says about its failures."""
    said = (getattr(tool, "meta", None) or {}).get(RAISES_KEY)
    if not isinstance(said, Mapping):
        return Declared()
    texts = {name: tuple(str(each) for each in said.get(name) or ()) for name in ("codes", "requires", "profiles")}
    category, mutation = said.get("category"), said.get("mutation")
    return Declared(
        category=category if isinstance(category, str) else None,
        mutation=mutation if isinstance(mutation, bool) else None,
        **texts,
    )


async def publish(result: Any, find: Callable[[str], Awaitable[Any]]) -> Any:
    """The answer to `tools/list`, in which each tool says what it declares. `find` gives a tool's function."""
    tools = [add_declared(tool, declared_of(await find(tool.name))) for tool in result.tools]
    return result if all(map(is_, tools, result.tools)) else result.model_copy(update={"tools": tools})


def add_declared(tool: Any, said: Declared) -> Any:
    """The tool with what it declares in its `_meta`; itself if it declares nothing."""
    told = getattr(tool, "meta", None) or {}
    if said == Declared() or RAISES_KEY in told:
        return tool
    wire: dict[str, Any] = {"codes": list(said.codes), "category": said.category, "mutation": said.mutation}
    wire |= {name: list(words) for name in ("requires", "profiles") if (words := getattr(said, name))}
    # The oldest SDK has no field for it, and sends what it is given under the name of the wire.
    place = "meta" if "meta" in type(tool).model_fields else "_meta"
    published = {name: value for name, value in wire.items() if value is not None}
    return tool.model_copy(update={place: {**told, RAISES_KEY: published}})


def codes_of(function: Any, error: ToolError) -> tuple[tuple[str, ...], bool] | None:
    """The codes that a tool declares, and whether this failure has one of them or one that any tool may send; None
    where it declares none."""
    if not (codes := declared_of(function).codes):
        return None
    known = {*codes, *rule_codes((function,)), *COMMON_CODES, *ROUTING, *KEY_CODES, INPUT_DECLINED}
    return codes, error.code is None or upper_snake(error.code) in {upper_snake(code) for code in known}


def publish_declared(find: Callable[[str], Awaitable[Any]]) -> Callable[[Any], Any]:
    """Wraps a handler of `tools/list`."""

    def wrap(handler: Any) -> Any:
        async def listing(ctx: Any, params: Any) -> Any:
            return await publish(await handler(ctx, params), find)

        return listing

    return wrap
