"""What is the same for the SDK's own servers with functions for tools, of either generation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from pydantic import AliasChoices, AliasPath, ValidationError

from failwell.model import ToolError, data_type
from failwell.readers import call_of, check_names
from failwell.schema import Problems, invalid, properties_of, pydantic_problems
from failwell.server.replies import converted
from failwell.server.served_call import current


def look_at_results(tool: Any, kind: Any) -> None:
    """Have what a tool returns looked at before it is made into a result, where its metadata are of just this kind."""
    if type(tool.fn_metadata) is kind:
        object.__setattr__(tool.fn_metadata, "__class__", _returned_failures(kind))  # type: ignore[arg-type]


def list_only_data(manager: Any, func_metadata: Callable[..., Any]) -> None:
    """Give each tool whose function may return a failure the output schema of its data alone. To the SDK, every union
    is something to be wrapped."""
    add = manager.add_tool

    def settle(tool: Any) -> Any:
        meta = tool.fn_metadata
        try:
            hint = inspect.signature(tool.fn, eval_str=True).return_annotation
        except (NameError, ValueError, TypeError):
            return tool
        data = data_type(hint)
        if data is hint or getattr(meta, "output_schema", None) is None:
            return tool

        def returns() -> None: ...

        returns.__name__ = tool.fn.__name__
        returns.__signature__ = inspect.Signature(return_annotation=data)  # type: ignore[attr-defined]
        plain = func_metadata(returns)
        for name in ("output_schema", "output_model", "wrap_output"):
            setattr(meta, name, getattr(plain, name))
        return tool

    manager.add_tool = lambda *args, **given: settle(add(*args, **given))
    for tool in manager.list_tools():
        settle(tool)


@cache
def _returned_failures(kind: Any) -> Any:
    class ReturnedFailures(kind):  # type: ignore[misc]
        def convert_result(self, result: Any) -> Any:
            if current.get() is None:
                return super().convert_result(result)
            return converted(super().convert_result, result)

    return ReturnedFailures


def taken_by(tool: Any) -> Mapping[str, Any]:
    """The schema of a tool with all the names by which its function takes arguments: an argument of pydantic's may have
    several, of which a schema lists the first."""
    schema: Mapping[str, Any] = tool.parameters
    listed = properties_of(schema)
    others = [name for name in _names_taken(tool.fn_metadata.arg_model) if name not in listed]
    return {**schema, "properties": {**listed, **{name: {} for name in others}}} if others else schema


@lru_cache(maxsize=1000)
def _names_taken(model: Any) -> tuple[str, ...]:
    return tuple(name for field in model.model_fields.values() for name in _names_in(field.validation_alias))


def _names_in(alias: object) -> Iterator[str]:
    if isinstance(alias, str):
        yield alias
    elif isinstance(alias, AliasPath):
        yield str(alias.path[0])
    elif isinstance(alias, AliasChoices):
        for each in alias.choices:
            yield from _names_in(each)


def all_problems(tool: Any, arguments: dict[str, Any]) -> ToolError:
    """What is wrong with arguments that the tool does not have, and with the others: one answer for both."""
    problems: list[Problems] = []
    schema = taken_by(tool)
    try:
        tool.fn_metadata.arg_model.model_validate(tool.fn_metadata.pre_parse_json(arguments))
    except ValidationError as exc:
        problems.append(pydantic_problems(exc, call_of(schema, arguments)))
    except Exception:
        # A validator that breaks is found when the names are right.
        pass
    return invalid(*problems, check_names(arguments, schema), tool=tool.name)
