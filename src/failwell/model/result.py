"""`Result`: pipelines whose steps can fail, without try/except; and what a tool may return in place of its data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType
from typing import Any, ClassVar, Generic, Literal, NoReturn, TypeVar, Union, get_args, get_origin

from .needs import NeedsInput
from .no_data import NoData
from .tool_error import ToolError

T = TypeVar("T")
U = TypeVar("U")


class Ok(Generic[T]):
    """A step that worked."""

    # Not a dataclass: of one, pydantic would describe the fields, and not ask it what it stands for.
    __match_args__ = ("value",)
    ok: ClassVar[Literal[True]] = True
    value: T

    def __init__(self, value: T) -> None:
        self.__dict__["value"] = value

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name} of Ok cannot be set")

    def __eq__(self, other: object) -> bool:
        return self.value == other.value if isinstance(other, Ok) else NotImplemented

    def __hash__(self) -> int:
        return hash((Ok, self.value))

    def __repr__(self) -> str:
        return f"Ok(value={self.value!r})"

    def then(self, step: Callable[[T], Ok[U] | Err]) -> Ok[U] | Err:
        """Go on with the value."""
        return step(self.value)

    def unwrap(self) -> T:
        """The value."""
        return self.value

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        # In an output schema it stands for its value: that is what leaves.
        return handler.generate_schema((get_args(source) or (Any,))[0])


@dataclass(frozen=True, slots=True)
class Err(NoData):
    """A step that failed; every later step is passed over.

    >>> def find_user(users: dict[str, str], key: str) -> Result[str]:
    ...     return Ok(users[key]) if key in users else Err(ToolError(f"User {key} does not exist.", kind="not_found"))
    >>> find_user({}, "u_1").then(lambda user: Ok(user.upper())).ok
    False
    """

    error: ToolError
    ok: ClassVar[Literal[False]] = False

    @property
    def response(self) -> ToolError:
        """What a tool returns to end with this failure: contract 002's name for it."""
        return self.error

    def then(self, step: Callable[[Any], Any]) -> Err:
        """Stay failed."""
        return self

    def unwrap(self) -> NoReturn:
        """Raise the error."""
        raise self.error


Result = Ok[T] | Err


def unwrapped(value: Any) -> Any:
    """What a tool returned; a failure that it returned is raised.

    >>> unwrapped(Ok(5)), unwrapped("five")
    (5, 'five')
    """
    if isinstance(value, Ok):
        return value.value
    if isinstance(value, (ToolError, NeedsInput, Err)):
        raise value.error if isinstance(value, Err) else value
    return value


def data_type(hint: Any) -> Any:
    """The type of the data that a tool's return annotation names; the annotation itself if it names no failure.

    >>> data_type(Result[int]), data_type(str | ToolError)
    (<class 'int'>, <class 'str'>)
    """
    if get_origin(hint) is Ok:
        return get_args(hint)[0]
    if get_origin(hint) not in (Union, UnionType):
        return hint
    arms = [data_type(arm) for arm in get_args(hint) if not (isinstance(arm, type) and issubclass(arm, NoData))]
    if arms == list(get_args(hint)):
        return hint
    return Union[tuple(arms)] if arms else None  # noqa: UP007 - there is no other way to write a union of a list
