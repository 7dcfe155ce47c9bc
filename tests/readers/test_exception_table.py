"""Chains, groups, tables, and exceptions that do harm to whoever looks at them."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

import failwell as fw
from failwell.formats import FORMATS
from failwell.model import Effect, Kind
from failwell.readers import DEFAULT, Table, classify, from_error, is_stop_request
from failwell.readers.exceptions.exception_table import operation


def raised(exc: BaseException, *, cause: BaseException | None = None, context: BaseException | None = None) -> Any:
    exc.__cause__, exc.__context__ = cause, context
    exc.__suppress_context__ = cause is not None
    return exc


@pytest.mark.checklist(23)
def test_a_tool_error_among_the_causes_is_the_answer() -> None:
    own = fw.NotFound("No such user.")
    assert from_error(own) is own
    assert from_error(raised(RuntimeError(), cause=own)) is own
    assert from_error(raised(RuntimeError(), context=own)) is own
    assert from_error(raised(RuntimeError(), cause=raised(KeyError(), context=own))) is own
    assert from_error(ExceptionGroup("", [OSError(), own])) is own
    assert from_error(RuntimeError()) is None
    assert from_error(None) is None


@pytest.mark.checklist(23)
def test_what_was_hidden_by_from_none_stays_hidden() -> None:
    exc = raised(RuntimeError(), context=fw.NotFound("No such user."))
    exc.__suppress_context__ = True
    assert from_error(exc) is None


@pytest.mark.checklist(24)
def test_wrapping_a_tool_error_changes_nothing() -> None:
    own = fw.NotFound("No such user.")
    assert fw.wrap(own) is own
    assert fw.wrap(raised(RuntimeError(), cause=own)) is own


def test_a_crash_while_a_tool_error_is_handled_is_a_crash() -> None:
    assert fw.wrap(raised(TypeError(), context=fw.NotFound("No such user."))).code == "INTERNAL_ERROR"


def test_a_question_becomes_an_error() -> None:
    error = fw.wrap(fw.NeedsInput("Which one?", fields=["id"]))
    assert (error.code, error.message) == ("VALIDATION_ERROR", "Which one?")


@pytest.mark.checklist(27)
def test_nothing_gives_nothing_and_orders_are_passed_on() -> None:
    assert fw.wrap(None) is None
    for order in (KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()):
        for exc in (order, BaseExceptionGroup("", [OSError(), BaseExceptionGroup("", [order])])):
            assert is_stop_request(exc)
            with pytest.raises(BaseException) as caught:
                fw.wrap(exc)
            assert caught.value is exc
    assert not is_stop_request(raised(RuntimeError(), cause=asyncio.CancelledError()))


class Panic(BaseException):
    """As native libraries raise them, past `except Exception`."""


class Stopped(asyncio.CancelledError):
    pass


def test_a_class_of_ones_own_is_a_failure_unless_it_is_an_order() -> None:
    for exc in (Panic(), BaseExceptionGroup("", [OSError(), Panic()])):
        assert not is_stop_request(exc)
    assert fw.wrap(Panic("at core.rs:7")).code == "INTERNAL_ERROR"
    assert is_stop_request(Stopped())
    with pytest.raises(pytest.fail.Exception):
        fw.wrap(pytest.fail.Exception("a test that fails inside a tool"))


@pytest.mark.checklist(27)
def test_a_cancelled_tool_stays_cancelled() -> None:
    async def tool() -> None:
        try:
            await asyncio.sleep(60)
        except BaseException as exc:
            raise fw.wrap(exc) from exc

    async def run() -> None:
        task = asyncio.create_task(tool())
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())


def test_what_is_not_known_is_what_it_came_from() -> None:
    class Own(Exception):
        pass

    assert classify(raised(Own(), cause=ConnectionRefusedError())).details == {"errorType": "connection_refused"}
    assert classify(raised(Own(), context=raised(Own(), context=TimeoutError()))).code == "TIMEOUT"
    assert operation(raised(Own(), cause=ConnectionRefusedError())).effect == "none"
    assert classify(raised(Own(), cause=ConnectionRefusedError())).effect is None
    # It may have happened in what was done instead, and nobody knows what that was.
    assert classify(raised(Own(), context=ConnectionRefusedError())).effect == "unknown"
    assert classify(raised(Own(), cause=raised(Own(), context=ConnectionRefusedError()))).effect == "unknown"
    # A mistake is one, whatever it happened during.
    assert classify(raised(TypeError(), context=TimeoutError())).code == "INTERNAL_ERROR"


def test_groups() -> None:
    refused = ConnectionRefusedError()
    assert classify(ExceptionGroup("", [refused])).code == "NETWORK_ERROR"
    assert classify(ExceptionGroup("", [TypeError(), refused])).code == "NETWORK_ERROR"
    assert (
        classify(ExceptionGroup("", [ExceptionGroup("", [TypeError()]), ExceptionGroup("", [refused])])).code
        == "NETWORK_ERROR"
    )
    assert classify(ExceptionGroup("", [TypeError(), RuntimeError()])).details == {"error_type": "TypeError"}
    assert classify(raised(ExceptionGroup("", [RuntimeError()]), cause=refused)).code == "NETWORK_ERROR"


def nested(leaf: BaseException, depth: int) -> BaseException:
    for _ in range(depth):
        leaf = BaseExceptionGroup("", [leaf])
    return leaf


@pytest.mark.parametrize(
    ("leaf", "code"),
    [(TimeoutError(), "TIMEOUT"), (RuntimeError("secret"), "INTERNAL_ERROR")],
    ids=["known", "unknown"],
)
def test_groups_deeper_than_python_can_call(leaf: Exception, code: str) -> None:
    assert classify(nested(leaf, 10_000)).code == code


def test_orders_deeper_than_python_can_call() -> None:
    assert is_stop_request(nested(asyncio.CancelledError(), 10_000))


def test_groups_that_hold_each_other_twice() -> None:
    group: Exception = ExceptionGroup("", [RuntimeError()])
    for _ in range(64):
        group = ExceptionGroup("", [group, group])
    assert classify(group).code == "INTERNAL_ERROR"


def test_chains_without_end() -> None:
    first, second = RuntimeError("a"), RuntimeError("b")
    raised(first, cause=second)
    raised(second, cause=first)
    assert classify(first).code == "INTERNAL_ERROR"
    assert from_error(first) is None
    raised(first, context=second)
    raised(second, context=first)
    assert classify(first).code == "INTERNAL_ERROR"
    long: Exception = TimeoutError()
    for _ in range(20_000):
        long = raised(RuntimeError(), cause=long)
    assert classify(long).code == "INTERNAL_ERROR"


class Boom(Exception):
    """Raised by what should not raise."""


def boom(*args: Any) -> Any:
    raise Boom


class EachAttribute(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise Boom


class EachUnknownAttribute(Exception):
    __getattr__ = boom


class Properties(Exception):
    status_code = http_status = status = response = errno = request = property(boom)
    __cause__ = __context__ = __suppress_context__ = property(boom)  # type: ignore[assignment]
    args = property(boom)


class ItsClass(Exception):
    __class__ = property(boom)  # type: ignore[assignment]


class ItsText(Exception):
    __str__ = __repr__ = boom


class ItsTextLies(Exception):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]


class Text(str):
    __getitem__ = __len__ = __str__ = __format__ = encode = isascii = boom  # type: ignore[assignment]


class ItsTextIsOdd(Exception):
    def __str__(self) -> str:
        return Text("secret")


class ItsComparison(Exception):
    __eq__ = __hash__ = __bool__ = boom


class Meta(type):
    __name__ = __mro__ = property(boom)  # type: ignore[assignment]

    def __getattribute__(cls, name: str) -> Any:
        raise Boom

    def __instancecheck__(cls, instance: object) -> bool:
        raise Boom

    def __subclasscheck__(cls, subclass: type) -> bool:
        raise Boom


class MetaWithoutHash(type):
    __hash__ = None  # type: ignore[assignment]


class OddClass(Exception, metaclass=Meta):
    pass


class ClassWithoutHash(Exception, metaclass=MetaWithoutHash):
    pass


class OddModule(Exception):
    __module__ = 5  # type: ignore[assignment]


class Group(ExceptionGroup[Exception]):
    exceptions = property(boom)  # type: ignore[assignment]


class OddError(OSError):
    errno = property(boom)  # type: ignore[assignment]


class OddQuestion(fw.NeedsInput):
    to_error = boom  # type: ignore[assignment]


HOSTILE: dict[str, Any] = {
    "attributes": EachAttribute,
    "unknown attributes": EachUnknownAttribute,
    "properties": Properties,
    "class": ItsClass,
    "text": ItsText,
    "text of no text": ItsTextLies,
    "odd text": ItsTextIsOdd,
    "comparison": ItsComparison,
    "metaclass": OddClass,
    "class without a hash": ClassWithoutHash,
    "module": OddModule,
    "number": OddError,
    "question": OddQuestion,
    "group": lambda text: Group(text, [RuntimeError(text)]),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_exceptions_that_hurt(name: str) -> None:
    exc = HOSTILE[name]("secret")
    for each in (exc, raised(RuntimeError("secret"), cause=exc), ExceptionGroup("secret", [exc])):
        error = classify(each)
        assert error.kind is Kind.INTERNAL
        for name in FORMATS:
            assert "secret" not in fw.render(error, name)


def test_value_errors_that_hurt() -> None:
    class Odd(ValueError):
        def __str__(self) -> str:
            return Text("The year is wrong.")

    class Broken(ValueError):
        __str__ = boom

    assert classify(Odd()).message == "An argument was rejected: The year is wrong."
    assert classify(Broken()).message == "An argument was rejected."


def test_texts_that_are_long() -> None:
    assert len(classify(ValueError("x" * 10_000_000)).message) == 4_000 + len("An argument was rejected: ")


def garbage(exc: Exception) -> Any:
    return {"code": "NOT_FOUND"}


def nothing(exc: Exception) -> None:
    return None


@pytest.mark.parametrize("row", [boom, garbage, nothing])
def test_rows_that_fail_are_passed_over(row: Any, caplog: pytest.LogCaptureFixture) -> None:
    table = Table(below=DEFAULT)

    class Own(TimeoutError):
        pass

    table.maps(Own)(row)
    with caplog.at_level(logging.WARNING, "failwell.classify"):
        assert classify(Own("secret"), table=table).code == "TIMEOUT"
    assert [record.getMessage() for record in caplog.records] == (
        ["The mapping boom failed with Boom."] if row is boom else []
    )


def test_a_row_may_give_the_same_error_each_time() -> None:
    always = fw.Conflict("It is taken.")
    table = Table()
    table.maps(KeyError)(lambda exc: always)
    first, second = classify(KeyError("a"), table=table), classify(KeyError("b"), table=table)
    assert (first.debug, second.debug) == ("KeyError: 'a'", "KeyError: 'b'")
    assert (always.debug, always.cause) == (None, None)


def test_what_a_row_says_about_itself_stands() -> None:
    told = OSError("told")
    table = Table()
    table.maps(KeyError)(lambda exc: fw.Conflict("It is taken.", debug="for the log", cause=told))
    error = classify(KeyError("a"), table=table)
    assert (error.debug, error.cause) == ("for the log", told)


@pytest.mark.checklist(48)
def test_tables_stand_on_each_other() -> None:
    table = Table(below=DEFAULT)

    @table.maps(FileNotFoundError)
    def page(exc: FileNotFoundError) -> fw.ToolError:
        return fw.NotFound("There is no such page.")

    assert classify(FileNotFoundError(), table=table).message == "There is no such page."
    assert classify(PermissionError(), table=table).code == "FORBIDDEN"
    assert classify(FileNotFoundError()).message == "The file or directory does not exist."


def test_rows_by_name_and_rows_added_later() -> None:
    class Own(Exception):
        pass

    table = Table(below=DEFAULT)
    assert classify(Own(), table=table).code == "INTERNAL_ERROR"
    table.maps(f"{Own.__module__}.{Own.__qualname__}")(lambda exc: fw.Denied("Not for you."))
    assert classify(Own(), table=table).code == "FORBIDDEN"


@pytest.mark.parametrize("wrong", [(), (5,), (int,), (None,)], ids=repr)
def test_maps_says_what_it_takes(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="maps\\(\\)"):
        Table().maps(*wrong)


@pytest.mark.checklist(56)
def test_each_item_keeps_type_recoverable_and_data() -> None:
    error = fw.partial_failure(
        {
            "src/a": fw.Conflict("held", recoverable=True, details={"held_by": "a2"}),
            "src/b": TimeoutError("10.0.0.7"),
            "src/e": ConnectionRefusedError("10.0.0.7"),
            "src/c": fw.ToolError("limit", code="RATE_LIMITED", retry_after=30),
        },
        done=["src/d"],
    )
    failed: Any = error.details["failed"]
    assert failed["src/a"] == {
        "type": "CONFLICT",
        "message": "held",
        "recoverable": True,
        "data": {"held_by": "a2"},
        "code": "CONFLICT",
    }
    # What timed out may have been done; what was refused was not.
    assert (failed["src/b"]["type"], failed["src/b"]["recoverable"]) == ("TRANSIENT", False)
    assert (failed["src/e"]["type"], failed["src/e"]["recoverable"]) == ("TRANSIENT", True)
    assert error.suggestion == "Call it for these items only: src/e, src/c."
    assert failed["src/c"]["data"] == {"retry_after": 30}
    assert error.details["done"] == ["src/d"]
    assert (error.code, error.effect) == ("PARTIAL_FAILURE", Effect.PARTIAL)
    assert error.message == "4 of 5 items failed: src/a, src/b, src/e, src/c."
    assert "10.0.0.7" not in fw.render(error, "canonical")


def test_many_items_are_counted_not_listed() -> None:
    error = fw.partial_failure({str(number): KeyError(number) for number in range(1000)})
    assert error.message == "1000 of 1000 items failed: 0, 1, 2, 3, 4 and 995 more."
    assert len(fw.render(error, "canonical")) < 10_000
