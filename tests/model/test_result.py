"""`Ok` and `Err`: a chain of steps that stops at the first failure."""

from __future__ import annotations

import pickle

import pytest

import failwell as fw

USERS = {"u_1": "Ada"}


def find(key: str) -> fw.Result[str]:
    return fw.Ok(USERS[key]) if key in USERS else fw.Err(fw.NotFound(f"User {key} does not exist."))


def first_letter(name: str) -> fw.Result[str]:
    return fw.Ok(name[0]) if name else fw.Err(fw.Invalid("The name is empty."))


@pytest.mark.checklist(164)
def test_a_step_that_worked_holds_its_value() -> None:
    assert (fw.Ok(3).ok, fw.Ok(3).value, fw.Ok(3).unwrap()) == (True, 3, 3)
    assert (fw.Ok(None).ok, fw.Ok(None).unwrap()) == (True, None)


@pytest.mark.checklist(164)
def test_a_step_that_failed_holds_its_error() -> None:
    error = fw.NotFound("m")
    failed = fw.Err(error)
    assert failed.ok is False
    assert failed.error is error
    with pytest.raises(fw.NotFound) as raised:
        failed.unwrap()
    assert raised.value is error


@pytest.mark.checklist(164)
def test_a_chain_goes_on_while_steps_work() -> None:
    assert find("u_1").then(first_letter) == fw.Ok("A")


@pytest.mark.checklist(164)
def test_a_chain_stops_at_the_first_failure() -> None:
    ran: list[str] = []

    def record(value: str) -> fw.Result[str]:
        ran.append(value)
        return fw.Ok(value)

    failed = find("u_2")
    assert failed.then(record).then(first_letter) is failed
    assert ran == []
    late = find("u_1").then(record).then(lambda _: fw.Ok("")).then(first_letter).then(record)
    assert late == fw.Err(fw.Invalid("The name is empty."))
    assert ran == ["Ada"]


def test_an_exception_in_a_step_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        fw.Ok(0).then(lambda value: fw.Ok(1 / value))


def test_results_are_values() -> None:
    assert fw.Ok([1]) == fw.Ok([1]) != fw.Ok([2])
    assert fw.Err(fw.NotFound("m")) == fw.Err(fw.ToolError("m", code="NOT_FOUND"))
    assert fw.Ok(fw.NotFound("m")) != fw.Err(fw.NotFound("m"))
    for result in (fw.Ok({"a": 1}), fw.Err(fw.NotFound("m"))):
        assert pickle.loads(pickle.dumps(result)) == result
    with pytest.raises(AttributeError):
        fw.Ok(1).value = 2  # type: ignore[misc]


def test_a_failed_result_parses_to_its_error() -> None:
    error = fw.NotFound("m")
    assert fw.parse(fw.Err(error)) is error


def test_a_match_statement_tells_them_apart() -> None:
    def told(result: fw.Result[str]) -> str:
        match result:
            case fw.Ok(value):
                return value
            case fw.Err(error):
                return error.message

    assert [told(find(key)) for key in ("u_1", "u_2")] == ["Ada", "User u_2 does not exist."]
