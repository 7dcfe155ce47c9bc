"""Grouped tools: one tool with several actions, chosen by an argument, as contract 002 has them.

projects = Group("projects", description="Work with projects.")

@projects.action(description="List projects.")
async def list(limit: int = 10) -> list[str]: ...

projects.add_to(server)
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar

from failwell.model import UNSET, Action, FieldError, Patch, ToolError, shown
from failwell.packages import bring
from failwell.readers import call_of, check_names
from failwell.redact import shown_arguments
from failwell.schema import (
    LONGEST_NAME,
    Schema,
    as_option,
    cut,
    invalid,
    is_certain,
    nearest,
    properties_of,
    pydantic_problems,
)
from failwell.server.served_call import GROUP, ToolInfo

from .group_schemas import SHAPES, action_schema

if TYPE_CHECKING:
    from mcp_types import ToolAnnotations

F = TypeVar("F", bound=Callable[..., Any])

# By name, so that nothing is imported that the server did not import itself.
_BINDINGS: Final = {
    "fastmcp.server.server.FastMCP": ".fastmcp",
    "mcp.server.mcpserver.server.MCPServer": ".mcpserver",
    # What MCPServer was called in version 1 of the SDK: who has it hears which version is needed.
    "mcp.server.fastmcp.server.FastMCP": ".mcpserver",
}
_ARGUMENT: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_UNNAMEABLE: Final = {
    inspect.Parameter.POSITIONAL_ONLY: "positional-only",
    inspect.Parameter.VAR_POSITIONAL: "any number of positional arguments",
    inspect.Parameter.VAR_KEYWORD: "any keyword arguments",
}
_MOST_OPTIONS: Final = 25
_JSON_TYPES: Final = ((bool, "boolean"), ((int, float), "number"), ((list, tuple), "array"), (type(None), "null"))

# By code, in the contract's texts: what is wrong, and what to do (the second row is the contract's own
# implementation's); then the rule, and the words of other validation errors.
_ROUTING: Final = {
    "MISSING_DISCRIMINATOR": (
        'The required field "{field}" is missing.',
        'Add the "{field}" field and call the tool again.',
        "required",
        "Required",
    ),
    "INVALID_DISCRIMINATOR": (
        'Discriminator field "{field}" must be a string, got {sent}.',
        'Set "{field}" to one of the available actions as a string.',
        "type",
        "Expected string, received {sent}",
    ),
    "UNKNOWN_ACTION": (
        'The {field} "{sent}" does not exist.',
        "Choose a valid {field} from available_actions and call the tool again.",
        "enum",
        "Invalid enum value",
    ),
}


@dataclass(frozen=True, slots=True)
class GroupAction:
    """One action of a group."""

    name: str
    fn: Callable[..., Any]
    description: str
    annotations: ToolAnnotations | None


class Group:
    """A tool with several actions. One argument, the discriminator, says which of them is called.

    `schema="flat"` lists one object with the arguments of all actions, for model APIs that refuse a union at the top.
    """

    def __init__(
        self,
        name: str,
        *,
        discriminator: str = "action",
        title: str | None = None,
        description: str = "",
        schema: Literal["union", "flat"] = "union",
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"A group needs a name, such as Group('projects'), not {name!r}.")
        if not isinstance(discriminator, str) or not _ARGUMENT.fullmatch(discriminator):
            raise ValueError(
                f"The discriminator is the name of an argument, such as 'action' (a letter, then letters, digits, "
                f"'_', '-' or '.'), not {discriminator!r}."
            )
        if schema not in SHAPES:
            raise ValueError(f"There is no schema {schema!r}; use one of: {', '.join(SHAPES)}.")
        self.name = name
        self.discriminator = discriminator
        self.title = title
        self.actions: dict[str, GroupAction] = {}
        self._description = description
        self._shape = schema
        self._facts: dict[str | None, ToolInfo] = {}
        self._listed = False

    def action(
        self, name: str | None = None, *, description: str | None = None, annotations: ToolAnnotations | None = None
    ) -> Callable[[F], F]:
        """Make a function an action, by its own name or another one. The function itself stays what it is."""
        if name is not None and not isinstance(name, str):
            raise TypeError(f"The name of an action is a text, not {name!r}; write @{self.name}.action().")

        def register(fn: F) -> F:
            if isinstance(fn, Group):
                raise TypeError(f"A group cannot be an action; call add_to(server) on {fn.name!r}, too.")
            if not callable(fn):
                raise TypeError(f"An action is a function, not {fn!r}.")
            if self._listed:
                raise ValueError(f"The group {self.name!r} is on a server already; define its actions before add_to().")
            called = getattr(fn, "__name__", "") if name is None else name
            if called == "<lambda>" or not called.strip():
                raise ValueError(f"An action needs a name; write @{self.name}.action('a_name').")
            if called != called.strip() or "," in called or not called.isprintable():
                raise ValueError(
                    "An action's name has no commas, line breaks or outer white space, since actions are listed as "
                    f"'a, b, c'; rename {called!r}."
                )
            if called in self.actions:
                raise ValueError(
                    f"The group {self.name!r} has an action {called!r} already; give this one another name."
                )
            for parameter in inspect.signature(fn).parameters.values():
                if parameter.kind in _UNNAMEABLE:
                    raise TypeError(
                        f"The action {called!r} takes {_UNNAMEABLE[parameter.kind]} ({parameter.name}), but is called "
                        "with named arguments; name each parameter."
                    )
            words = inspect.getdoc(fn) or "" if description is None else description
            self.actions[called] = GroupAction(called, _awaitable(fn), words.strip(), annotations)
            return fn

        return register

    def add_to(self, server: Any) -> Self:
        """List the group as one tool of an MCPServer or a FastMCP; gives the group back."""
        if not self.actions:
            raise ValueError(f"The group {self.name!r} has no actions; define one with @{self.name}.action() first.")
        names = [f"{base.__module__}.{base.__qualname__}" for base in type(server).__mro__]
        binding = next((_BINDINGS[name] for name in names if name in _BINDINGS), None)
        if binding is None:
            raise TypeError(f"add_to() takes an MCPServer or a FastMCP, not {type(server).__name__}.")
        # What each is built on has these types; an older one has none for what a group lists.
        bring("mcp_types", "Group.add_to()", "fastmcp" if binding == ".fastmcp" else "mcp")
        import_module(binding, __package__).bind(self, server)
        self._listed = True
        return self

    @property
    def description(self) -> str:
        """What is listed: the group's own words, and a line for each action."""
        lines = [
            f"- {each.name}: {each.description.partition(chr(10))[0].strip()}".rstrip(": ")
            for each in self.actions.values()
        ]
        return "\n".join([*([self._description, ""] if self._description else []), "Actions:", *lines])

    @property
    def annotations(self) -> ToolAnnotations | None:
        """What holds for all actions together; nothing where they leave it open."""
        from mcp_types import ToolAnnotations

        each = [action.annotations or ToolAnnotations() for action in self.actions.values()]
        # An action that only reads destroys nothing, and may be repeated.
        together = ToolAnnotations(
            read_only_hint=_together([one.read_only_hint for one in each], decides=False),
            destructive_hint=_together(
                [False if one.read_only_hint else one.destructive_hint for one in each], decides=True
            ),
            idempotent_hint=_together([one.read_only_hint or one.idempotent_hint for one in each], decides=False),
            open_world_hint=_together([one.open_world_hint for one in each], decides=True),
        )
        return together if together != ToolAnnotations() else None

    def facts(self, arguments: Mapping[str, Any] | None = None) -> ToolInfo:
        """What the server says about the action that a call is about; about the group if nobody can tell which."""
        name = arguments.get(self.discriminator) if isinstance(arguments, Mapping) else None
        chosen = name if isinstance(name, str) and name in self.actions else None
        return self._facts.get(chosen) or self._fact(chosen, None)

    def _fact(self, name: str | None, schema: Schema | None) -> ToolInfo:
        action = None if name is None else self.actions[name]
        annotations, function = (self.annotations, None) if action is None else (action.annotations, action.fn)
        return ToolInfo.of(self.name, schema, None, annotations, name, function)

    def bind(self, schemas: Mapping[str, Schema]) -> dict[str, Any]:
        """The schema to be listed, by those that a framework made of the actions' signatures."""
        field = self.discriminator
        called = {
            name: action_schema(field, name, schemas[name], each.description) for name, each in self.actions.items()
        }
        listed = SHAPES[self._shape](field, called)
        self._facts = {None: self._fact(None, listed)} | {name: self._fact(name, each) for name, each in called.items()}
        return listed

    def split(self, arguments: Mapping[str, Any], tools: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The action, and the arguments that are its own: with the discriminator only if it has one of that name."""
        name = self.choose_action(arguments)
        keeps = self.discriminator in properties_of(tools[name].parameters)
        return name, {key: value for key, value in arguments.items() if keeps or key != self.discriminator}

    def refusal(
        self, action: str, arguments: Mapping[str, Any], schema: Schema, rejected: Exception | None
    ) -> ToolError:
        """What is wrong with the arguments of an action: what a validator says, and the names that it does not have."""
        found = [] if rejected is None else [pydantic_problems(rejected, call_of(schema, arguments))]
        error = invalid(*found, check_names(arguments, schema), tool=self.name, action=action)
        error.__cause__ = rejected
        return error.replace(sent=shown_arguments({self.discriminator: action, **arguments}, schema))

    def choose_action(self, arguments: Mapping[str, Any]) -> str:
        """The action that a call is about; contract 002's routing error, raised, if there is none."""
        field, sent = self.discriminator, arguments.get(self.discriminator, "")
        if isinstance(sent, str) and sent in self.actions:
            return sent
        code, shown_as, hint, patch = "UNKNOWN_ACTION", "", None, None
        if sent == "":
            code = "MISSING_DISCRIMINATOR"
            if len(self.actions) == 1:
                patch = Patch("set", (field,), next(iter(self.actions)))
            known = {name for fact in self._facts.values() for name in properties_of(fact.schema)}
            # It may be there under a name that is nearly its own.
            for name, value in arguments.items() if field not in arguments else ():
                if name not in known and isinstance(value, str) and value in self.actions and is_certain(name, field):
                    hint = f"Did you mean {shown(field)} instead of {shown(name)}?"
                    patch = Patch("rename", (name,), to=field)
                    break
        elif not isinstance(sent, str):
            code = "INVALID_DISCRIMINATOR"
            shown_as = next((name for kind, name in _JSON_TYPES if isinstance(sent, kind)), "object")
        else:
            shown_as = cut(sent, LONGEST_NAME)
            if (meant := nearest(sent, self.actions)) is not None:
                hint = f"Did you mean {shown(meant)} instead of {shown(sent)}?"
            if (certain := as_option(sent, list(self.actions))) is not UNSET:
                patch = Patch("set", (field,), certain)
        message, recovery, rule, words = (text.format(field=field, sent=shown_as) for text in _ROUTING[code])
        raise ToolError(
            message,
            code=code,
            tool=self.name,
            suggestion=f"{hint} {recovery}" if hint else recovery,
            actions=[Action(self.name, arguments={field: name}) for name in self.actions],
            fields=[FieldError((field,), words, options=[*self.actions][:_MOST_OPTIONS], rule=rule)],
            patch=[patch] if patch else [],
            sent=shown_arguments(arguments, self.facts().schema),
        )


def entry(group: Group) -> Callable[..., Any]:
    """The function of a framework's tool: not to be called, but by it an adapter finds the group."""

    def run_group() -> None:
        raise TypeError(f"The actions of {group.name!r} are called by name, through the server.")

    run_group.__name__ = run_group.__qualname__ = group.name
    setattr(run_group, GROUP, group)
    return run_group


def name_taken(group: Group) -> ValueError:
    return ValueError(f"The server has a tool {group.name!r} already; give the group another name.")


def _awaitable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A plain wrapper of an async function looks like a function that returns at once; this makes it async again."""
    if inspect.iscoroutinefunction(fn) or not inspect.iscoroutinefunction(inspect.unwrap(fn)):
        return fn

    @functools.wraps(fn)
    async def wait_for(*args: Any, **kwargs: Any) -> Any:
        result = fn(*args, **kwargs)
        return await result if inspect.isawaitable(result) else result

    return wait_for


def _together(hints: list[bool | None], *, decides: bool) -> bool | None:
    """What holds for all actions: one of them decides it by this value, else it is open if one leaves it open."""
    return decides if decides in hints else None if None in hints else not decides
