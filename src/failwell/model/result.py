"""`Result`: pipelines whose steps can fail, without try/except."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, Literal, NoReturn, TypeVar

from .needs import NeedsInput
from .tool_error import ToolError

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class Ok(Generic[T]):
    """A step that worked."""

    value: T
    ok: ClassVar[Literal[True]] = True

    def then(self, step: Callable[[T], Ok[U] | Err]) -> Ok[U] | Err:
        """Go on with the value."""
        return step(self.value)

    def map(self, change: Callable[[T], U]) -> Ok[U]:
        """The same with another value."""
        return Ok(change(self.value))

    def unwrap(self) -> T:
        """The value."""
        return self.value


@dataclass(frozen=True, slots=True)
class Err:
    """A step that failed; every later step is passed over.

    >>> def find_user(users: dict[str, str], key: str) -> Result[str]:
    ...     return Ok(users[key]) if key in users else Err(ToolError(f"User {key} does not exist.", kind="not_found"))
    >>> find_user({}, "u_1").then(lambda user: Ok(user.upper())).ok
    False
    """

    error: ToolError
    ok: ClassVar[Literal[False]] = False

    def then(self, step: Callable[[Any], Any]) -> Err:
        """Stay failed."""
        return self

    def map(self, change: Callable[[Any], Any]) -> Err:
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
    # Asked once of all of them: hardly any tool returns one.
    if not isinstance(value, _ENDINGS):
        return value
    if isinstance(value, Ok):
        return value.value
    raise value.error if isinstance(value, Err) else value


_ENDINGS: Final = (ToolError, NeedsInput, Err, Ok)
