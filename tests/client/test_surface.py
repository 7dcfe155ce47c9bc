"""Whatever the wrapped client can do, a recovering one can, over real wires."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import fastmcp
import pytest
from mcp import Client, MCPError
from mcp.server import MCPServer
from test_recovering_hostile import CUT, HANG, JSON, QUICK, RESULTS, Hostile, hosted, http, run

import failwell as fw
from failwell.client import Recovering
from failwell.testing import FakeClock

FILE = {"uri": "file:///a", "name": "a"}
SAYS: dict[str, Any] = {
    **RESULTS,
    "ping": {},
    "logging/setLevel": {},
    "resources/list": {"resources": [FILE]},
    "resources/templates/list": {"resourceTemplates": []},
    "resources/read": {"contents": [{"uri": "file:///a", "text": "A"}]},
    "resources/subscribe": {},
    "resources/unsubscribe": {},
    "prompts/list": {"prompts": []},
    "prompts/get": {"messages": []},
    "completion/complete": {"completion": {"values": ["x"]}},
}
CLIENTS: dict[str, Callable[..., Any]] = {"mcp": Client, "fastmcp": fastmcp.Client}
REFERENCE = __import__("mcp_types").PromptReference(type="ref/prompt", name="p")
GIVEN: dict[str, tuple[Any, ...]] = {
    "call_tool": ("get_payment",),
    "call_tool_mcp": ("get_payment", {}),
    "read_resource": ("file:///a",),
    "read_resource_mcp": ("file:///a",),
    "subscribe_resource": ("file:///a",),
    "unsubscribe_resource": ("file:///a",),
    "get_prompt": ("p",),
    "get_prompt_mcp": ("p",),
    "complete": (REFERENCE, {"name": "a", "value": "b"}),
    "complete_mcp": (REFERENCE, {"name": "a", "value": "b"}),
    "set_logging_level": ("info",),
    "send_progress_notification": ("t", 1.0),
    "progress": ("t", 1.0),
    "cancel": ("1",),
    "set_roots": ([],),
    "set_sampling_callback": (lambda *_: "said",),
    "set_elicitation_callback": (lambda *_: {},),
}
# Only in the newer protocol, or of an extension that the server does not have: they are asked for, and not called.
NOT_CALLED = {
    "mcp": {"listen"},
    "fastmcp": {"list_skills", "list_skills_mcp", "get_skill", "get_skill_mcp"},
}


def saying(answer: Any = None) -> Hostile:
    def say(method: str, message: dict[str, Any]) -> Any:
        said = answer(method, message) if answer is not None else None
        return SAYS.get(method) if said is None else said

    return Hostile(say)


def names_of(client: Any) -> set[str]:
    """Every public name, of the class, of what it inherits and of the instance: nobody has to add one here."""
    return {name for name in {*dir(client), *vars(client)} if not name.startswith("_")}


def parameters_of(method: Any) -> list[str]:
    return [name for name, each in inspect.signature(method).parameters.items() if each.default is each.empty]


async def used(client: Any, name: str, *, is_method: bool) -> Any:
    """The type of an attribute, or of what it gives when it is called."""
    found = getattr(client, name)
    if not is_method:
        return type(found)
    given = found(*GIVEN.get(name, ()))
    return type(await given if inspect.isawaitable(given) else given)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", CLIENTS)
def test_all_that_a_client_can_do_is_done_as_the_client_does_it(kind: str) -> None:
    async def story() -> None:
        async with (
            hosted(saying()) as server,
            Recovering(CLIENTS[kind](server.address, mode="legacy"), policy=QUICK) as it,
            CLIENTS[kind](server.address, mode="legacy") as plain,
        ):
            await it.list_tools()
            # `close` ends the connection, and so comes last.
            for name in sorted(names_of(plain), key=lambda name: (name == "close", name)):
                is_method = inspect.isfunction(inspect.getattr_static(type(plain), name, None))
                if name in NOT_CALLED[kind]:
                    assert callable(getattr(it, name)), name
                    continue
                expected = await used(plain, name, is_method=is_method)
                assert (name, await used(it, name, is_method=is_method)) == (name, expected)
            assert await it.list_tools()

    run(story)


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_method_that_an_sdk_adds_is_seen_here_and_has_to_be_answered_for(kind: str) -> None:
    """What can be called without arguments is called above. For the rest somebody has to say here with what."""
    client: Any = CLIENTS[kind]
    methods = {name for name in names_of(client) if inspect.isfunction(inspect.getattr_static(client, name, None))}
    asking = {name for name in methods if parameters_of(getattr(client, name)) != ["self"]}
    assert asking - NOT_CALLED[kind] <= GIVEN.keys()
    assert NOT_CALLED[kind] <= methods, "what is gone needs no exception"


class Newer(Client):
    """An SDK of tomorrow."""

    async def list_dreams(self) -> list[str]:
        await self.session.send_ping()
        return ["sheep"]

    async def wish(self, what: str) -> str:
        return f"a {what}"

    @property
    def mood(self) -> str:
        return "calm"


def test_what_a_newer_sdk_can_do_is_passed_on_unseen() -> None:
    async def story() -> None:
        async with hosted(saying()) as server, Recovering(Newer(server.address, mode="legacy"), policy=QUICK) as it:
            assert {"list_dreams", "wish", "mood"} <= names_of(Newer("http://x"))
            assert (await it.list_dreams(), await it.wish("boat"), it.mood) == (["sheep"], "a boat", "calm")

    run(story)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", CLIENTS)
def test_what_only_reads_is_tried_again_and_the_rest_is_sent_once(kind: str) -> None:
    async def story() -> None:
        faults = [http(503), CUT]

        def answer(method: str, message: dict[str, Any]) -> Any:
            return faults.pop(0) if method.startswith(("resources/read", "logging")) and faults else None

        async with (
            hosted(saying(answer)) as server,
            Recovering(CLIENTS[kind](server.address, mode="legacy"), policy=QUICK) as it,
        ):
            read = await it.read_resource("file:///a")
            assert (read if kind == "fastmcp" else read.contents)[0].text == "A"
            assert server.count("resources/read") == 3
            faults.append(CUT)
            with pytest.raises(fw.ToolError):
                await it.set_logging_level("info")
            assert server.count("logging/setLevel") == 1

    run(story)


@pytest.mark.parametrize("kind", CLIENTS)
def test_what_the_server_says_against_it_is_raised_as_the_client_raises_it(kind: str) -> None:
    async def story() -> None:
        async with (
            hosted(Hostile()) as server,
            Recovering(CLIENTS[kind](server.address, mode="legacy"), policy=QUICK) as it,
        ):
            with pytest.raises(MCPError, match="Method not found"):
                await it.read_resource("file:///a")
            with pytest.raises(TypeError):
                await it.read_resource()

    run(story)


def refusing(number: int, message: str, status: int = 200) -> Callable[[str, dict[str, Any]], Any]:
    """What a server answers that says no to whatever is asked about prompts, resources and itself."""

    def answer(method: str, message_in: dict[str, Any]) -> Any:
        if not method.startswith(("prompts", "resources", "ping", "logging")):
            return None
        error = {"code": number, "message": message}
        return http(status, json.dumps({"jsonrpc": "2.0", "id": message_in["id"], "error": error}).encode(), JSON)

    return answer


@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize(
    ("number", "message"),
    [
        (-32603, "Internal server error"),
        (-32603, "Internal error"),
        (-32603, "Error rendering prompt 'p': boom"),
        (-32602, "Unknown prompt: 'p'"),
        (-32002, "Resource not found: 'file:///a'"),
        (0, "Unknown prompt: p"),
    ],
)
def test_what_the_server_has_not_got_and_where_it_crashed_is_asked_for_once(
    kind: str, number: int, message: str
) -> None:
    async def story() -> None:
        clock = FakeClock()
        async with (
            hosted(saying(refusing(number, message))) as server,
            Recovering(CLIENTS[kind](server.address, mode="legacy"), clock=clock) as it,
        ):
            began = clock.monotonic()
            with pytest.raises(MCPError) as caught:
                await it.get_prompt("p")
            assert (caught.value.error.code, caught.value.error.message) == (number, message)
            assert (server.count("prompts/get"), clock.monotonic() - began) == (1, 0)

    run(story)


@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize(
    ("status", "number", "message"),
    [
        (400, -32602, "Unknown prompt: 'p'"),
        (404, -32601, "Method not found"),
        (403, -32000, "Not for you"),
        (500, -32603, "Internal error"),
    ],
)
def test_what_the_server_says_with_a_status_is_raised_as_the_client_raises_it(
    kind: str, status: int, number: int, message: str
) -> None:
    async def story() -> None:
        async with hosted(saying(refusing(number, message, status))) as server:
            raised = []
            for plain in (True, False):
                client = CLIENTS[kind](server.address, mode="legacy")
                async with client if plain else Recovering(client, policy=QUICK) as it:
                    for name in ("get_prompt", "read_resource", "ping" if kind == "fastmcp" else "send_ping"):
                        with pytest.raises(Exception) as caught:
                            await getattr(it, name)(*GIVEN.get(name, ()))
                        raised.append((type(caught.value), str(caught.value), getattr(caught.value, "error", None)))
            assert raised[3:] == raised[:3]
            assert raised[0][0] is MCPError

    run(story)


@pytest.mark.parametrize(
    "body", [b"", b"<html>no</html>", b'{"error": {"code": 7, "message": "Behind me it is dark."}}']
)
def test_what_http_alone_says_is_raised_as_what_it_means(body: bytes) -> None:
    async def story() -> None:
        async with (
            hosted(saying(lambda method, _: http(503, body, JSON) if method == "prompts/get" else None)) as server,
            Recovering(Client(server.address, mode="legacy"), policy=QUICK) as it,
        ):
            with pytest.raises(fw.ToolError, match="503"):
                await it.get_prompt("p")

    run(story)


@pytest.mark.parametrize(
    ("limits", "says", "waits"),
    [
        ({}, http(503), [1, 2]),
        ({"max_attempts": 4}, http(503), [1, 2, 4]),
        ({"base_delay": 0.25}, http(503), [0.25, 0.5]),
        ({"base_delay": 10, "deadline": 15}, http(503), [10]),
        ({"deadline": 5}, http(503, b"", "Retry-After: 6"), []),
        ({"max_delay": 5}, http(503, b"", "Retry-After: 6"), []),
        ({"max_delay": 3, "max_attempts": 5}, http(503), [1, 2, 3, 3]),
        # Words in a form are none of the contract's, which would have it wait for a minute.
        ({}, (-32603, "Request failed with status code 503"), [1, 2]),
    ],
)
def test_a_policy_holds_for_every_request(limits: dict[str, Any], says: Any, waits: list[float]) -> None:
    async def story() -> None:
        clock, slept = FakeClock(), list[float]()

        def answer(method: str, message: dict[str, Any]) -> Any:
            if method != "resources/read":
                return None
            slept.append(clock.monotonic())
            return says if isinstance(says, bytes) else refusing(*says)(method, message)

        async with (
            hosted(saying(answer)) as server,
            Recovering(
                Client(server.address, mode="legacy"), policy=fw.Policy(**limits), clock=clock, jitter=lambda: 1.0
            ) as it,
        ):
            with pytest.raises((fw.ToolError, MCPError)):
                await it.read_resource("file:///a")
            assert [later - sooner for sooner, later in pairwise(slept)] == pytest.approx(waits)

    run(story)


def test_pages_are_asked_for_one_by_one() -> None:
    async def story() -> None:
        def answer(method: str, message: dict[str, Any]) -> Any:
            if method != "tools/list":
                return None
            tools = RESULTS["tools/list"]["tools"]
            later = (message.get("params") or {}).get("cursor") == "2"
            return {"tools": tools[1:]} if later else {"tools": tools[:1], "nextCursor": "2"}

        async with (
            hosted(saying(answer)) as server,
            Recovering(Client(server.address, mode="legacy"), policy=QUICK) as it,
        ):
            first = await it.list_tools()
            second = await it.list_tools(cursor=first.next_cursor)
            assert [[tool.name for tool in page.tools] for page in (first, second)] == [["pay"], ["get_payment"]]
            assert second.next_cursor is None

    run(story)


def test_a_server_that_does_not_answer_a_read_is_left_for_a_new_connection() -> None:
    async def story() -> None:
        silent = [HANG]
        async with hosted(
            saying(lambda method, _: silent.pop() if method == "prompts/list" and silent else None)
        ) as it:
            client = Client(it.address, mode="legacy", read_timeout_seconds=30)
            async with Recovering(client, policy=fw.Policy(base_delay=0.001)) as agent:
                await agent.list_tools()
                agent._driver.timeout = 0.2
                assert (await agent.list_prompts()).prompts == []
                assert agent._connection is not None
                assert agent._connection.opened == 2

    run(story)


def test_what_the_server_says_of_itself_is_known_after_the_first_request() -> None:
    async def story() -> None:
        async with (
            hosted(saying()) as server,
            Recovering(Client(server.address, mode="legacy"), policy=QUICK) as it,
        ):
            assert it.mode == "legacy"
            with pytest.raises(RuntimeError):
                _ = it.server_info
            await it.list_tools()
            assert it.server_info.name == "hostile"
            assert not hasattr(it, "no_such_thing")

    run(story)


def test_what_is_opened_is_opened_on_the_client_that_is_connected() -> None:
    async def story() -> None:
        class Entered:
            async def __aenter__(self) -> str:
                return "entered"

            async def __aexit__(self, *exc: object) -> None: ...

        class Listening(Client):
            def listen(self, **options: Any) -> Any:
                assert options == {"tools_list_changed": True}
                return Entered()

        async with Recovering(Listening(MCPServer("shop"))) as it, it.listen(tools_list_changed=True) as entered:
            assert entered == "entered"

    run(story)
