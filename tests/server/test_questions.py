"""A server asks the user instead of failing: what is asked on the wire, what the answers do, and what is never asked."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import anyio
import pytest
from clients import drivers
from test_features import Ask, answers, everywhere, folded
from test_matrix import compare
from wire import (
    LEGACY,
    MODERN,
    SERVERS,
    TRANSPORTS,
    Client,
    Json,
    Nursery,
    User,
    Wanted,
    connected,
)

from failwell.formats import META_KEY
from failwell.server.questions import KEY, ROUNDS

FORMS: Final = {"elicitation": {"form": {}}}
ASKS: Final = {"setting": "none", "capabilities": FORMS, "options": {"questions": "missing"}}


def accepting(**content: Any) -> User:
    return lambda question: {"action": "accept", "content": content}


def knowing(**values: Any) -> User:
    """Answers what is asked, and nothing else."""

    def user(question: Json) -> Json:
        return {
            "action": "accept",
            "content": {name: values[name] for name in question["requestedSchema"]["properties"]},
        }

    return user


def refusing(action: str) -> User:
    return lambda question: {"action": action}


def asking(user: User, tool: str, arguments: Json) -> Ask:
    def ask(client: Client) -> Any:
        client.user = user
        return client.call(tool, arguments)

    return ask


def never(question: Json) -> Json:
    raise AssertionError(f"This must not be asked: {question}")


def runs(client: Client) -> dict[str, int]:
    counted: dict[str, int] = json.loads(client.call("runs").value["result"]["content"][0]["text"])
    return counted


def text(value: dict[str, Any]) -> str:
    told: str = value["result"]["content"][0]["text"]
    return told


def opened(question: Json) -> Json:
    """A question with its state as it is where nothing seals it."""
    state = question.get("requestState")
    if state is None:
        return question
    return {**question, "requestState": json.loads(state) if state.startswith("{") else "(sealed)"}


def test_questions_on_the_wire(nursery: Nursery) -> None:
    """The whole of each question, from each server, in both eras."""
    cases = {
        "options are choices": asking(accepting(size="l"), "pick_size", {}),
        "options with suggestions leave room": asking(accepting(id="retry"), "get_pattern", {"id": "rety"}),
        "suggestions are examples": asking(knowing(city="Oslo", month="May"), "plan_trip", {}),
        "a missing argument": asking(accepting(guests=4), "book_table", {"name": "Ann"}),
        "two missing arguments": asking(accepting(guests=4, name="Ann"), "book_table", {}),
        "choices stay choices": asking(accepting(color="green"), "paint", {}),
    }
    found: dict[str, Any] = {}
    with everywhere(nursery, **ASKS) as clients:
        told, problems = answers(clients, cases)
        for (server, transport, era), client in clients.items():
            asked = iter([opened(question) for question in client.questions])
            for case in cases:
                names = (f"{case}, first", f"{case}, second") if case == "suggestions are examples" else (case,)
                for name in names:
                    value = next(asked)
                    known = found.setdefault(f"{name} [{server} {era}]", value)
                    problems += [] if known == value else [f"{name}: {transport} differs: {known} {value}"]
            problems += [f"{server} {transport} {era} asks more: {each}" for each in asked]
    assert not problems, "\n".join(problems)
    assert {case: text(value) for case, value in told.items()} == {
        "options are choices": "Size l.",
        "options with suggestions leave room": "# retry",
        "suggestions are examples": "To Oslo in May.",
        "a missing argument": "A red table for 4, Ann.",
        "two missing arguments": "A red table for 4, Ann.",
        "choices stay choices": "1 x green",
    }
    problems += compare("asking-questions", folded(found))
    assert not problems, "\n".join(problems)


NOT_ASKED: Final = {
    "a secret is missing": ("sign_in", {"user": "ann"}),
    "a secret is among what is missing": ("sign_in", {}),
    "a list is missing": ("tag", {"owner": "ann"}),
    "a list is among what is missing": ("tag", {}),
    "wrong and missing": ("book_table", {"guests": "many"}),
    "unknown and missing": ("book_table", {"guests": 2, "nmae": "Ann"}),
}


def test_what_no_form_may_hold_is_not_asked(nursery: Nursery) -> None:
    with everywhere(nursery, **ASKS) as clients:
        found, problems = answers(clients, {case: asking(never, *call) for case, call in NOT_ASKED.items()})
    assert not problems
    assert {case: value["result"]["_meta"][META_KEY]["code"] for case, value in found.items()} == dict.fromkeys(
        NOT_ASKED, "VALIDATION_ERROR"
    )


CANNOT: Final = {
    "no word of it": {},
    "addresses alone": {"elicitation": {"url": {}}},
}


@pytest.mark.parametrize("capabilities", CANNOT.values(), ids=CANNOT)
def test_clients_that_cannot_ask_are_told(nursery: Nursery, capabilities: dict[str, Any]) -> None:
    cases = {
        "question": asking(never, "get_pattern", {"id": "rety"}),
        "missing": asking(never, "book_table", {"name": "Ann"}),
    }
    with everywhere(nursery, **{**ASKS, "capabilities": capabilities}) as clients:
        found, problems = answers(clients, cases)
    assert not problems
    assert [*found] == [*cases]
    question, missing = found["question"]["result"], found["missing"]["result"]
    assert (question["isError"], question["structuredContent"]["kind"]) == (False, "needsInput:v1")
    assert (missing["isError"], missing["_meta"][META_KEY]["code"]) == (True, "VALIDATION_ERROR")


def test_missing_arguments_are_an_error_unless_the_author_wants_to_ask(nursery: Nursery) -> None:
    with everywhere(nursery, setting="none", capabilities=FORMS) as clients:
        found, problems = answers(clients, {"missing": asking(never, "book_table", {"name": "Ann"})})
    assert not problems
    assert found["missing"]["result"]["_meta"][META_KEY]["code"] == "VALIDATION_ERROR"


ANSWERS: Final[dict[str, tuple[User, str, dict[str, Any]]]] = {
    "accepted": (accepting(guests=4), "book_table", {"name": "Ann"}),
    "declined": (refusing("decline"), "book_table", {"name": "Ann"}),
    "cancelled": (refusing("cancel"), "book_table", {"name": "Ann"}),
    "question declined": (refusing("decline"), "get_pattern", {"id": "rety"}),
    "of the wrong type": (accepting(guests="many"), "book_table", {"name": "Ann"}),
    "a list": (accepting(guests=["4"]), "book_table", {"name": "Ann"}),
    "with more than was asked": (accepting(guests=4, color="green", name="Eve"), "book_table", {"name": "Ann"}),
    "with names of ours": (accepting(guests=4, failwell="x", answers="y"), "book_table", {"name": "Ann"}),
    "for ever wrong": (accepting(id="wrong"), "get_pattern", {"id": "rety"}),
    "for ever empty": (accepting(), "book_table", {"name": "Ann"}),
    "for ever another question": (accepting(answer="more"), "insatiable", {}),
}
RAN: Final = {
    "accepted": {"book_table": 1},
    "declined": {},
    "cancelled": {},
    "question declined": {"get_pattern": 1},
    "of the wrong type": {},
    "a list": {},
    "with more than was asked": {"book_table": 1},
    "with names of ours": {"book_table": 1},
    "for ever wrong": {"get_pattern": ROUNDS + 1},
    "for ever empty": {},
    "for ever another question": {"insatiable": ROUNDS + 1},
}
ASKED: Final = {"for ever wrong": ROUNDS, "for ever empty": ROUNDS, "for ever another question": ROUNDS}


def test_what_answers_do(nursery: Nursery) -> None:
    """Each with how often the user was asked, and how often the tool ran: once per answer, and not more."""
    problems = []
    found = {}
    with everywhere(nursery, **ASKS) as clients:
        before = {place: (0, dict[str, int]()) for place in clients}
        for case, (user, tool, arguments) in ANSWERS.items():
            told, more = answers(clients, {case: asking(user, tool, arguments)})
            found |= told
            problems += more
            for place, client in clients.items():
                questions, ran = len(client.questions), runs(client)
                new = {name: count - before[place][1].get(name, 0) for name, count in ran.items()}
                seen = (questions - before[place][0], {name: count for name, count in new.items() if count})
                before[place] = (questions, ran)
                if seen != (ASKED.get(case, 1), RAN[case]):
                    problems.append(f"{case}: {place}: asked and ran {seen}, not {(ASKED.get(case, 1), RAN[case])}")
    problems += compare("asking-answers", folded(found))
    assert not problems, "\n".join(problems)


@contextmanager
def modern(nursery: Nursery, server: str) -> Iterator[Client]:
    with connected(nursery, Wanted(server, "stdio", MODERN, **ASKS)) as (client,):
        yield client


def state(**changes: Any) -> str:
    mine = {KEY: 1, "rounds": 0, "answers": {}, "asked": ["guests"], "message": "How many?"}
    return json.dumps({**mine, **changes})


FOUR: Final = {KEY: {"action": "accept", "content": {"guests": 4}}}
FORGED: Final[dict[str, Any]] = {
    "garbage": "garbage",
    "empty": "",
    "no object": "[1]",
    "endless": "[" * 100_000,
    "half": json.dumps({KEY: 1}),
    "of the wrong types": state(rounds="0"),
    "names that are none": state(asked=[1]),
    "true for a number": state(rounds=True),
}


def test_a_forged_state_starts_the_call_anew(nursery: Nursery) -> None:
    """Where nothing seals the state. Nothing in it can be worse than what the client could send as arguments."""
    with modern(nursery, "lowlevel") as client:
        for name, forged in FORGED.items():
            params = {
                "name": "book_table",
                "arguments": {"name": "Ann"},
                "inputResponses": FOUR,
                "requestState": forged,
            }
            result = client.ask("tools/call", params, id=name).value["result"]
            expected = "complete" if name == "true for a number" else "input_required"
            assert (name, result["resultType"]) == (name, expected)
        for rounds in (ROUNDS, 10**9, -5):
            params = {
                "name": "insatiable",
                "arguments": {},
                "inputResponses": {KEY: {"action": "accept", "content": {"answer": "more"}}},
                "requestState": state(rounds=rounds, asked=["answer"]),
            }
            result = client.ask("tools/call", params, id="rounds").value["result"]
            assert result["resultType"] == ("input_required" if rounds < 0 else "complete")
        params = {"name": "book_table", "arguments": {"name": "Ann"}, "inputResponses": FOUR}
        smuggled = state(asked=["guests", "color"], answers={"color": "blue", "nope": 1})
        value = client.ask("tools/call", {**params, "requestState": smuggled}, id="smuggled").value
        assert value["result"]["_meta"][META_KEY]["code"] == "VALIDATION_ERROR"
        assert runs(client).get("book_table", 0) == 1


@pytest.mark.parametrize("server", ["mcpserver", "fastmcp"])
def test_a_sealed_state_cannot_be_forged(nursery: Nursery, server: str) -> None:
    with modern(nursery, server) as client:
        params = {"name": "book_table", "arguments": {"name": "Ann"}, "inputResponses": FOUR, "requestState": state()}
        assert client.ask("tools/call", params, id="forged").value["error"]["code"] == -32602
        assert runs(client) == {}


BROKEN: Final[dict[str, Any]] = {
    "no object": {KEY: 5},
    "no action": {KEY: {}},
    "another action": {KEY: {"action": "shrug"}},
    "content that is no object": {KEY: {"action": "accept", "content": 5}},
    "an object as value": {KEY: {"action": "accept", "content": {"guests": {"a": 1}}}},
}


@pytest.mark.parametrize("server", SERVERS)
def test_an_answer_of_the_wrong_shape_is_no_answer(nursery: Nursery, server: str) -> None:
    """The framework refuses it, or the question is asked again; the tool does not run."""
    with modern(nursery, server) as client:
        for name, responses in BROKEN.items():
            params: Json = {"name": "book_table", "arguments": {"name": "Ann"}}
            first = client.ask("tools/call", params, id="first").value["result"]
            again = {**params, "inputResponses": responses, "requestState": first["requestState"]}
            value = client.ask("tools/call", again, id=name).value
            refused = value.get("error", {}).get("code") == -32602
            assert refused or value.get("result", {}).get("resultType") == "input_required", (name, value)
        assert runs(client) == {}


@pytest.mark.parametrize("server", SERVERS)
def test_a_tools_own_question_still_works(nursery: Nursery, server: str) -> None:
    with modern(nursery, server) as client:
        client.user = accepting(word="sesame")
        assert text(client.call("own_question").value) == "The word is sesame, the argument ''."
        assert [list(question["inputRequests"]) for question in client.questions] == [["mine"]]


@pytest.mark.parametrize("server", SERVERS)
def test_answers_without_a_state_are_not_ours(nursery: Nursery, server: str) -> None:
    with modern(nursery, server) as client:
        params = {"name": "book_table", "arguments": {"name": "Ann"}, "inputResponses": FOUR}
        assert client.ask("tools/call", params, id="stateless").value["result"]["resultType"] == "input_required"


SAID: Final = [
    ("accept", {"guests": 4}),
    ("decline", None),
    ("cancel", None),
    ("accept", {"city": "Oslo"}),
    ("accept", {"month": "May"}),
]
FINAL: Final = "Go on without it, or tell the user what cannot be done."
# Both connect by the name "mcp", whose clients do not all mark an error.
SHOWN: Final = [
    (False, "A red table for 4, Ann."),
    (True, f"Error: The user declined to answer: book_table needs guests. {FINAL}"),
    (True, f"Error: The user dismissed the question: book_table needs guests. {FINAL}"),
    (False, "To Oslo in May."),
]
TOLD: Final = (
    True,
    'Error: guests is missing. Next: call book_table with {"name": "Ann", "guests": "<integer>"}.',
)
MODES: Final = {LEGACY: "legacy", MODERN: "auto"}
Shown = list[tuple[bool, str]]


async def by_sdk(target: Any, mode: str, said: list[Any], calls: list[tuple[str, Json]]) -> Shown:
    import mcp
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp_types import ElicitResult

    saying = iter(said)

    async def user(context: Any, params: Any) -> ElicitResult:
        action, content = next(saying)
        return ElicitResult(action=action, content=content)

    with open(os.devnull, "w") as nowhere:
        if not isinstance(target, str):
            target = stdio_client(StdioServerParameters(command=target[0], args=target[1:]), errlog=nowhere)
        async with mcp.Client(target, mode=mode, elicitation_callback=user if said else None) as client:
            results = [await client.call_tool(*call) for call in calls]
    return [(result.is_error, result.content[0].text) for result in results]


async def by_fastmcp(target: Any, mode: str, said: list[Any], calls: list[tuple[str, Json]]) -> Shown:
    import fastmcp
    from fastmcp.client.elicitation import ElicitResult

    saying = iter(said)

    async def user(message: str, response_type: Any, params: Any, context: Any) -> Any:
        action, content = next(saying)
        return ElicitResult(action=action, content=content)

    handler: dict[str, Any] = {"elicitation_handler": user} if said else {}
    async with fastmcp.Client(drivers._fastmcp_transport(target), mode=mode, **handler) as client:
        results = [await client.call_tool_mcp(*call) for call in calls]
    return [(result.is_error, result.content[0].text) for result in results]


CLIENTS: Final = {"mcp": by_sdk, "fastmcp": by_fastmcp}


@contextmanager
def target(nursery: Nursery, server: str, transport: str) -> Iterator[Any]:
    """What a client starts, or where it connects to."""
    options = ["--features", "--options", json.dumps(ASKS["options"])]
    if transport == "stdio":
        nursery.start("lowlevel", "stdio").close()
        door = str(nursery._folder / "door")
        yield [sys.executable, "-IS", str(drivers.HERE / "relay.py"), door, server, "stdio", *options]
        return
    process = nursery.start(server, "http", "0", *options)
    try:
        yield f"http://127.0.0.1:{process.port}/mcp"
    finally:
        process.close()


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("client", CLIENTS)
def test_real_clients_put_the_question_to_their_user(
    nursery: Nursery, client: str, server: str, transport: str
) -> None:
    call = ("book_table", {"name": "Ann"})
    for mode in MODES.values():
        with target(nursery, server, transport) as where:
            told = anyio.run(CLIENTS[client], where, mode, SAID, [call, call, call, ("plan_trip", {}), ("runs", {})])
        assert told == [*SHOWN, (False, '{"book_table": 1, "plan_trip": 3}')]
        with target(nursery, server, transport) as where:
            told = anyio.run(CLIENTS[client], where, mode, [], [call, ("runs", {})])
        assert told == [TOLD, (False, "{}")]
