"""What is the same for the SDK's own servers with functions for tools, of either generation."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import ValidationError

from failwell.model import ToolError, unwrapped
from failwell.readers import call_of, check_names
from failwell.schema import Problems, invalid, pydantic_problems
from failwell.server.facts import BrokenResult
from failwell.server.served_call import current


def look_at_results(tool: Any, kind: Any) -> None:
    """Have what a tool returns looked at before it is made into a result, where its metadata are of just this kind."""
    if type(tool.fn_metadata) is kind:
        object.__setattr__(tool.fn_metadata, "__class__", _returned_failures(kind))  # type: ignore[arg-type]


@cache
def _returned_failures(kind: Any) -> Any:
    class ReturnedFailures(kind):  # type: ignore[misc]
        def convert_result(self, result: Any) -> Any:
            if current.get() is None:
                return super().convert_result(result)
            result = unwrapped(result)
            try:
                return super().convert_result(result)
            except Exception as exc:
                # The tool has done its work by now.
                raise BrokenResult(result) from exc

    return ReturnedFailures


def all_problems(tool: Any, arguments: dict[str, Any]) -> ToolError:
    """What is wrong with arguments that the tool does not have, and with the others: one answer for both."""
    problems: list[Problems] = []
    try:
        tool.fn_metadata.arg_model.model_validate(tool.fn_metadata.pre_parse_json(arguments))
    except ValidationError as exc:
        problems.append(pydantic_problems(exc, call_of(tool.parameters, arguments)))
    except Exception:
        # A validator that breaks is found when the names are right.
        pass
    return invalid(*problems, check_names(arguments, tool.parameters), tool=tool.name)
