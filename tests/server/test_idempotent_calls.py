"""A call made again with its key is answered again, and not done again: logic in process, behaviour on real wires."""

from __future__ import annotations

import asyncio
import itertools
import json
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import keyed_app
import pytest
import wire
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.server import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import ErrorData
from wire import ERAS, LEGACY, SERVERS, TRANSPORTS, Client, Http, NoAnswer, Nursery, Stdio, Wanted, client_of, started

import failwell as fw
import failwell.server
from failwell.formats import FORMATS, META_KEY, keys
from failwell.idempotency import KeysInMemory, KeysOnDisk, StoredCall
from failwell.model import Traits
from failwell.recovery import IDEMPOTENCY_KEY as KEY
from failwell.server import Options
from failwell.server.boundary import Boundary, FrameworkCall
from failwell.server.idempotent_calls import REPLAYED
from failwell.server.served_call import FailedCall, ServedCall, ToolInfo


def run(work: Any) -> Any:
    return asyncio.run(work)


def test_the_option_takes_a_store_or_a_yes() -> None:
    with pytest.raises(ValueError, match="idempotency is True, or a store of keys"):
        failwell.server.install(MCPServer("shop"), idempotency="keys.db")


class Shop:
    """A boundary, and calls of one tool on it that can be held up, made to fail, and cancelled."""

    def __init__(self, store: Any = True, **options: Any) -> None:
        self.boundary = Boundary(Options(idempotency=store, **options))
        self.effects: Counter[str] = Counter()
        self.runs = 0
        self.facts: ToolInfo | None = None
        self.knows: tuple[str, ...] | None = None
        self.returns: tuple[Any, ...] = ()

    async def call(
        self,
        key: Any,
        how: str = "ok",
        *,
        gates: tuple[asyncio.Event, ...] = (),
        amount: int = 1,
        tool: str = "pay",
        **meta: Any,
    ) -> dict[str, Any]:
        session = SimpleNamespace(client_params=None, client_capabilities=None, can_send_request=False)
        params = {"_meta": {KEY: key, **meta}} if key is not None else {}
        request = SimpleNamespace(
            params=params, session=session, protocol_version=LEGACY, request_id=1, request=None, method="tools/call"
        )
        call = ServedCall(tool, {"amount": amount}, request)
        facts = self.facts or ToolInfo(tool)

        shop = self

        class Payment(FrameworkCall):
            async def run(self, arguments: dict[str, Any]) -> Any:
                shop.runs += 1
                for gate in gates[:1]:
                    await gate.wait()
                if how != "none" and how != "question":
                    shop.effects[str(key)] += 1
                for gate in gates[1:]:
                    await gate.wait()
                if how == "question":
                    raise fw.NeedsInput("Which?", fields=["id"])
                if how != "ok":
                    raise keyed_app.FAILURES[how]()
                if shop.returns:
                    return shop.returns[0]
                return keyed_app.CallToolResult(content=[{"type": "text", "text": f"Paid, {shop.runs}."}])

            async def read(self, raised: BaseException) -> FailedCall:
                if shop.knows is not None:
                    return shop.boundary.no_such_tool(call, shop.knows, raised)
                return shop.boundary.read(raised, facts, call.arguments, era=LEGACY)

            async def facts(self) -> ToolInfo:
                return facts

        result = await self.boundary.handle(call, Payment())
        if not isinstance(result, keyed_app.CallToolResult):
            return result  # type: ignore[no-any-return]
        found: dict[str, Any] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        return found


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def text(result: dict[str, Any]) -> str:
    return str(result["content"][0]["text"])


def code(result: dict[str, Any]) -> str | None:
    found: str | None = result.get("_meta", {}).get(META_KEY, {}).get("code")
    return found


def test_the_second_waits_for_the_first() -> None:
    async def main() -> None:
        shop, gate = Shop(), asyncio.Event()
        first = asyncio.create_task(shop.call("k", gates=(gate,)))
        await settled()
        others = [asyncio.create_task(shop.call("k")) for _ in range(3)]
        await settled()
        assert not any(task.done() for task in (first, *others))
        others[0].cancel()
        await settled()
        gate.set()
        answer = await first
        assert [await other for other in others[1:]] == [{**answer, "_meta": {REPLAYED: True}}] * 2
        assert others[0].cancelled()
        assert shop.runs == 1

    run(main())


def test_another_call_with_the_key_does_not_wait() -> None:
    async def main() -> None:
        shop, gate = Shop(), asyncio.Event()
        first = asyncio.create_task(shop.call("k", gates=(gate,)))
        await settled()
        assert code(await shop.call("k", amount=2)) == "IDEMPOTENCY_CONFLICT"
        assert code(await shop.call("k", tool="refund")) == "IDEMPOTENCY_CONFLICT"
        gate.set()
        assert (await first)["isError"] is False
        assert shop.runs == 1

    run(main())


def test_a_cancelled_call_leaves_its_outcome_unknown_to_those_who_wait() -> None:
    async def main() -> None:
        shop = Shop()
        first = asyncio.create_task(shop.call("k", gates=(asyncio.Event(),)))
        await settled()
        second = asyncio.create_task(shop.call("k"))
        await settled()
        first.cancel()
        told = await second
        assert first.cancelled()
        assert code(told) == code(await shop.call("k")) == "IDEMPOTENCY_UNFINISHED"
        assert told["_meta"][META_KEY]["effect"] == "unknown"
        assert shop.runs == 1

    run(main())


def test_a_waiting_call_goes_on_itself_when_the_first_did_nothing() -> None:
    async def main() -> None:
        shop, gate = Shop(), asyncio.Event()
        first = asyncio.create_task(shop.call("k", "none", gates=(gate,)))
        await settled()
        second = asyncio.create_task(shop.call("k"))
        await settled()
        gate.set()
        assert code(await first) == "NOT_FOUND"
        assert (await second)["content"][0]["text"] == "Paid, 2."
        assert REPLAYED in (await shop.call("k"))["_meta"]

    run(main())


class Slow:
    """A store that takes its time to write."""

    ttl = 100.0

    def __init__(self) -> None:
        self.kept, self.gate = KeysInMemory(), threading.Event()
        self.instance = self.kept.instance
        self.finish, self.lose, self.release, self.close = (
            self.kept.finish, self.kept.lose, self.kept.release, self.kept.close
        )  # fmt: skip

    def claim(self, key: str, call: str) -> StoredCall | None:
        found = self.kept.claim(key, call)
        self.gate.wait()
        return found


def test_a_call_cancelled_while_its_key_is_claimed_gives_the_key_back() -> None:
    async def main() -> None:
        store = Slow()
        shop = Shop(store)
        first = asyncio.create_task(shop.call("k"))
        await settled()
        first.cancel()
        await settled()
        assert first.cancelled()
        store.gate.set()
        until = time.monotonic() + 30
        while store.kept._running and time.monotonic() < until:
            await asyncio.sleep(0.01)
        assert (await shop.call("k"))["content"][0]["text"] == "Paid, 1."

    run(main())


class Broken(KeysInMemory):
    def __init__(self, *methods: str) -> None:
        super().__init__()
        self.methods = methods

    def claim(self, key: str, call: str) -> StoredCall | None:
        if "claim" in self.methods:
            raise OSError("The disk is gone.")
        return super().claim(key, call)

    def finish(self, key: str, answer: bytes | None) -> None:
        if "finish" in self.methods:
            raise OSError("The disk is full.")
        super().finish(key, answer)


def test_a_store_that_does_not_work_refuses_calls_with_keys_only(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        shop = Shop(Broken("claim"))
        # Another process may have made the call; only an agent that says that it has not knows better.
        told = await shop.call("k")
        assert (code(told), told["_meta"][META_KEY]["effect"], shop.runs) == ("UNAVAILABLE", "unknown", 0)
        assert text(told) == (
            "pay failed part-way (whether an earlier call with this idempotency key was made cannot be looked up at "
            "present), so it may have been done already. Next: ask the user."
        )
        told = await shop.call("k", **{keys.IDEMPOTENCY_FIRST: True})
        assert (code(told), told["_meta"][META_KEY]["effect"], shop.runs) == ("UNAVAILABLE", "none", 0)
        assert text(told) == (
            "The call was not made, because the store of its idempotency key cannot be reached. "
            "Make the same call again with the same key."
        )
        assert fw.decide(fw.parse(told)).next == "retry"  # type: ignore[arg-type]
        assert (await shop.call(None))["isError"] is False

    run(main())
    assert "The disk" not in caplog.text


def test_an_answer_that_could_not_be_kept_is_given_but_not_twice() -> None:
    async def main() -> None:
        shop = Shop(Broken("finish"))
        assert (await shop.call("k"))["isError"] is False
        assert code(await shop.call("k")) == "IDEMPOTENCY_UNFINISHED"
        assert shop.runs == 1

    run(main())


@pytest.mark.parametrize("store_at", [lambda path: True, KeysOnDisk], ids=["memory", "disk"])
def test_nothing_of_the_arguments_or_the_key_is_kept(store_at: Any, tmp_path: Path) -> None:
    shop = Shop(store_at(tmp_path / "keys.db"))
    run(shop.call("my-own-key", amount=987_654_321))
    store = shop.boundary.idempotency.store  # type: ignore[union-attr]
    if isinstance(store, KeysOnDisk):
        store.close()
        kept = (tmp_path / "keys.db").read_bytes().decode("latin-1")
    else:
        kept = str(vars(store))
    assert "Paid, 1." in kept
    assert "987654321" not in kept
    assert "my-own-key" not in kept


def test_an_unknown_tool_gives_the_key_back_as_a_protocol_error_too() -> None:
    shop = Shop(wire={"protocol": ["UNKNOWN_TOOL"]})
    shop.knows = ("refund",)
    for _ in range(2):
        with pytest.raises(MCPError, match="There is no tool 'pay'"):
            run(shop.call("k", "none"))
    assert shop.runs == 2


@pytest.mark.parametrize(
    ("result", "again"),
    [
        ({"content": [], "isError": False}, {"content": [], "isError": False, "_meta": {REPLAYED: True}}),
        ({"resultType": "input_required", "inputRequests": {}}, "made"),
        (None, "IDEMPOTENCY_UNFINISHED"),
        (ErrorData(code=-32602, message="No."), "IDEMPOTENCY_UNFINISHED"),
        ("text", "IDEMPOTENCY_UNFINISHED"),
    ],
    ids=str,
)
def test_a_handler_that_returns_something_else(result: Any, again: Any) -> None:
    shop = Shop()
    shop.returns = (result,)
    assert run(shop.call("k")) == result
    told = run(shop.call("k"))
    if again == "made":
        assert (told, shop.runs) == (result, 2)
        return
    told.pop("resultType", None)
    assert (code(told) if isinstance(again, str) else told) == again
    assert shop.runs == 1


@pytest.mark.parametrize("key", ["", "x" * 256, 7, ["k"], {"a": 1}, True], ids=repr)
def test_a_key_that_is_none(key: Any) -> None:
    shop = Shop()
    told = run(shop.call(key))
    assert (code(told), shop.runs) == ("INVALID_PARAMS", 0)
    assert KEY in told["content"][0]["text"]


@pytest.mark.parametrize("key", ["x" * 255, "\ud800", "é" * 255, " "], ids=ascii)
def test_any_other_text_is_a_key(key: str) -> None:
    shop = Shop()
    assert run(shop.call(key))["isError"] is False
    assert run(shop.call(key))["_meta"] == {REPLAYED: True}


def test_watchers_are_told_of_replays_as_of_calls() -> None:
    events: list[Any] = []
    shop = Shop(hooks=[events.append])
    for key, how in (("a", "ok"), ("a", "ok"), ("b", "unknown"), ("b", "unknown")):
        run(shop.call(key, how))
    assert [(event.ok, event.error and event.error.code) for event in events] == [
        *[(True, None)] * 2,
        *[(False, "TIMEOUT")] * 2,
    ]
    counted = shop.boundary.observer.stats.read()["pay"]
    assert (counted.calls, counted.failures) == (4, 2)
    assert events[2].correlation_id == events[3].correlation_id


@pytest.mark.parametrize("name", ["IDEMPOTENCY_UNFINISHED", "IDEMPOTENCY_CONFLICT"])
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("keyed", [False, True])
def test_no_agent_repeats_a_call_that_was_never_finished(name: str, format: str, keyed: bool) -> None:
    """Whatever the format loses of it: for a call that is known to have done nothing it is merely no use."""
    error = fw.ToolError("m", code=name)
    sent = json.loads(json.dumps(fw.to_result(error, format, meta=False)))
    read = fw.parse(sent)
    assert isinstance(read, fw.ToolError)
    if name == "IDEMPOTENCY_UNFINISHED":
        for tool in (None, Traits(idempotent=True), Traits(read_only=True)):
            assert not fw.decide(read, tool=tool, keyed=keyed).repeats
    assert not fw.decide(error, keyed=keyed).repeats


def test_what_a_key_is_refused_with_needs_no_declaration() -> None:
    events: list[Any] = []
    shop = Shop(hooks=[events.append])
    shop.facts = ToolInfo("pay", function=fw.raises("NOT_FOUND")(lambda: None))
    for key, amount in (("k", 1), ("k", 2), ("", 1)):
        run(shop.call(key, amount=amount))
    assert all(event.declared is not False for event in events if event.error is not None)


# Each step: start a call with a key and an outcome, let one go on, or cancel one.
HOWS: Final = ("ok", "none", "question", "unknown", "unsaid", "partial", "done", "crash")
STEPS: Final = st.lists(
    st.one_of(
        st.tuples(st.just("call"), st.sampled_from("abc"), st.sampled_from(HOWS), st.integers(1, 2)),
        st.tuples(st.just("go"), st.integers(0, 9)),
        st.tuples(st.just("cancel"), st.integers(0, 9)),
    ),
    max_size=25,
)


async def interleaved(shop: Shop, steps: list[Any], settle: Callable[[], Any]) -> None:
    tasks: list[tuple[str, str, int, asyncio.Task[Any], list[asyncio.Event]]] = []
    for step in steps:
        if step[0] == "call":
            _, key, how, amount = step
            gates = [asyncio.Event(), asyncio.Event()]
            task = asyncio.create_task(shop.call(key, how, gates=tuple(gates), amount=amount))
            tasks.append((key, how, amount, task, gates))
        elif tasks and step[0] == "go":
            gates = tasks[step[1] % len(tasks)][4]
            next((gate for gate in gates if not gate.is_set()), gates[0]).set()
        elif tasks:
            tasks[step[1] % len(tasks)][3].cancel()
        await settle()
    for *_, gates in tasks:
        for gate in gates:
            gate.set()
    told = await asyncio.gather(*(task for *_, task, _ in tasks), return_exceptions=True)
    for key in "abc":
        assert shop.effects[key] <= 1, steps
        first: dict[int, Any] = {}
        for (name, _, amount, *_), answer in zip(tasks, told, strict=True):
            if name != key or isinstance(answer, BaseException) or code(answer) == "IDEMPOTENCY_CONFLICT":
                continue
            # All who were told that something was done were told the same.
            if code(answer) not in ("NOT_FOUND", None) or answer["content"][0]["text"].startswith("Paid"):
                answer = {**answer, "_meta": {**answer.get("_meta", {})}}
                answer["_meta"].pop(REPLAYED, None)
                if code(answer) == "IDEMPOTENCY_UNFINISHED":
                    continue
                assert first.setdefault(amount, answer) == answer, steps
        assert len(first) <= 1


@given(STEPS)
def test_an_effect_happens_at_most_once(steps: list[Any]) -> None:
    run(interleaved(Shop(), steps, settled))


@settings(max_examples=40)
@given(STEPS)
def test_an_effect_happens_at_most_once_with_a_file(steps: list[Any]) -> None:
    async def settle() -> None:
        await asyncio.sleep(0.002)

    with tempfile.TemporaryDirectory() as folder:
        store = KeysOnDisk(Path(folder) / "keys.db")
        run(interleaved(Shop(store), steps, settle))
        store.close()


PLACES: Final = list(itertools.product(SERVERS, TRANSPORTS, ERAS))
Start = Callable[..., Client]


@pytest.fixture(scope="module")
def keyed() -> Iterator[Nursery]:
    """Starts servers of keyed_app.py."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "APP", Path(keyed_app.__file__))
        made = Nursery(Path(folder))
        made.start("mcpserver", "stdio", "--options", "{}").close()
        yield made
        made.close()


class Place:
    """A server somewhere, a client of it, and the book its tools write into."""

    def __init__(self, client: Client, folder: Path, server: str = "") -> None:
        self.client = client
        self.server = server
        self._folder = folder
        self._books = itertools.count()

    def book(self) -> Path:
        return self._folder / f"{next(self._books)}.txt"

    def call(self, tool: str, key: Any, **arguments: Any) -> dict[str, Any]:
        meta = {} if key is None else {KEY: key}
        return self.client.call(tool, {name: _plain(value) for name, value in arguments.items()}, meta=meta).value


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def lines(book: Path) -> int:
    return len(book.read_text().splitlines()) if book.exists() else 0


@contextmanager
def place(nursery: Nursery, folder: Path, where: tuple[str, str, str], **options: Any) -> Iterator[Place]:
    wanted = Wanted(*where, options={"idempotency": True, **options}, capabilities={"elicitation": {"form": {}}})
    process = started(nursery, wanted)
    try:
        client = client_of(process, wanted)
        client.settled = str
        try:
            yield Place(client, folder, where[0])
        finally:
            client.close()
    finally:
        process.close()


@pytest.fixture(scope="module", params=PLACES, ids="-".join)
def here(request: pytest.FixtureRequest, keyed: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with place(keyed, tmp_path_factory.mktemp("books"), request.param, wire={"protocol": ["VAULT"]}) as found:
        yield found


def ordered(value: dict[str, Any]) -> str:
    """An answer as it was sent; only where `_meta` stands is the SDK's affair."""
    value = json.loads(json.dumps(value))
    meta = value.get("result", {}).pop("_meta", None)
    if meta:
        value["result"]["_meta"] = meta
    return json.dumps(value)


def as_first(value: dict[str, Any]) -> str:
    """A replayed answer as it must have been the first time."""
    value = json.loads(json.dumps(value))
    marked = value["error"]["data"] if "error" in value else value["result"]["_meta"]
    assert marked.pop(REPLAYED) is True
    return ordered(value)


KEPT: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "text": ("pay", {}),
    "structured": ("pay_typed", {}),
    "group": ("ledger", {"action": "add", "amount": 3}),
    **{how: ("fail", {"how": how}) for how in ("unknown", "unsaid", "partial", "done", "crash", "own", "protocol")},
}


@pytest.mark.parametrize("case", KEPT)
def test_the_first_answer_again(here: Place, case: str) -> None:
    tool, arguments = KEPT[case]
    if tool == "ledger" and here.server == "lowlevel":
        pytest.skip("Groups are for frameworks.")
    book = here.book()
    first = here.call(tool, "k-" + case + str(book), book=book, **arguments)
    again = here.call(tool, "k-" + case + str(book), book=book, **arguments)
    assert REPLAYED not in json.dumps(first)
    assert as_first(again) == ordered(first)
    assert lines(book) == 1
    failed = "error" in first or first["result"].get("isError", False)
    assert failed is (tool == "fail")


@pytest.mark.parametrize("how", ["none", "own_none", "page"])
def test_a_failure_that_did_nothing_gives_the_key_back(here: Place, how: str) -> None:
    book = here.book()
    told = [here.call("fail", f"f-{book}", book=book, how=how) for _ in range(2)]
    assert REPLAYED not in json.dumps(told)
    assert lines(book) == 2
    # The key is as good as new, whatever for.
    assert here.call("pay", f"f-{book}", book=book)["result"]["isError"] is False
    assert REPLAYED in here.call("pay", f"f-{book}", book=book)["result"]["_meta"]


def test_rejected_arguments_and_unknown_tools_give_the_key_back(here: Place) -> None:
    book = here.book()
    key = f"r-{book}"
    assert here.call("pay", key, book=book, amount="many")["result"]["isError"]
    assert here.call("pey", key, book=book)["result"]["isError"]
    assert REPLAYED not in here.call("pay", key, book=book)["result"].get("_meta", {})
    assert lines(book) == 1


@pytest.mark.parametrize(("tool", "amount"), [("pay", 2), ("slow", None)])
def test_a_key_of_another_call(here: Place, tool: str, amount: int | None) -> None:
    book = here.book()
    here.call("pay", f"c-{book}", book=book)
    told = here.call(tool, f"c-{book}", book=book, **({} if amount is None else {"amount": amount}))["result"]
    error = told["_meta"][META_KEY]
    error.pop("correlation_id")
    assert error == {
        "failwell": 1,
        "code": "IDEMPOTENCY_CONFLICT",
        "kind": "conflict",
        "message": "The idempotency key was used for another call: another tool, or other arguments.",
        "title": "Idempotency Conflict",
        "severity": "error",
        "retryable": False,
        "recoverable": False,
        "strategy": "fix_and_retry",
        "suggestion": "Give this call a key of its own; or repeat the first call exactly to get its answer. "
        "This call was not made.",
        "tool": tool,
        "effect": "none",
    }
    assert told["isError"] is True
    assert told["content"][0]["text"] == f"{error['message']} {error['suggestion']}"
    assert lines(book) == 1


@pytest.mark.parametrize("key", ["", "x" * 256, 7])
def test_a_key_that_is_none_on_the_wire(here: Place, key: Any) -> None:
    book = here.book()
    told = here.call("pay", key, book=book)["result"]
    assert (told["isError"], told["_meta"][META_KEY]["code"]) == (True, "INVALID_PARAMS")
    assert KEY in told["content"][0]["text"]
    assert lines(book) == 0


@pytest.mark.parametrize("tool", ["look", "ledger"])
def test_tools_that_only_read_know_no_keys(here: Place, tool: str) -> None:
    book = here.book()
    if tool == "ledger" and here.server == "lowlevel":
        pytest.skip("Groups are for frameworks.")
    action = {"action": "look"} if tool == "ledger" else {}
    told = [here.call(tool, f"l-{book}", book=book, **action) for _ in range(2)]
    assert REPLAYED not in json.dumps(told)
    assert lines(book) == 2


def test_a_question_gives_the_key_back_and_its_answer_may_use_it(here: Place) -> None:
    book = here.book()
    here.client.user = lambda question: {"action": "accept", "content": {"city": "Oslo"}}
    first = here.call("ask", f"q-{book}", book=book)
    assert len(here.client.questions) == 1
    assert first["result"]["content"][0]["text"].startswith("Oslo, ")
    again = here.call("ask", f"q-{book}", book=book)
    assert as_first(again) == ordered(first)
    assert lines(book) == 1
    here.client.questions.clear()


def test_a_replay_uses_up_no_rate(here: Place) -> None:
    book = here.book()
    first = here.call("rare", f"n-{book}", book=book)
    again = [here.call("rare", f"n-{book}", book=book) for _ in range(3)]
    assert {as_first(each) for each in again} == {ordered(first)}
    refused = here.call("rare", f"n2-{book}", book=book)["result"]
    assert refused["_meta"][META_KEY]["code"] == "RATE_LIMITED"


def test_calls_without_a_key_are_what_they_were(here: Place) -> None:
    book = here.book()
    told = [here.call("pay", None, book=book) for _ in range(2)]
    assert REPLAYED not in json.dumps(told)
    assert lines(book) == 2


def advertised(client: Client) -> Any:
    capabilities = client.opening.value["result"]["capabilities"]
    places = ("extensions", "experimental") if client.era == LEGACY else ("extensions",)
    said = [capabilities[each][META_KEY]["idempotency"] for each in places]
    assert all(each == said[0] for each in said)
    return said[0]


def test_the_server_says_that_it_honours_keys(here: Place) -> None:
    said = advertised(here.client)
    assert said == {"instance": said["instance"], "ttl": 86_400}
    assert len(said["instance"]) == 32


@pytest.mark.parametrize("options", [{"envelope": True}, {"format": "xml"}, {"format": "v1", "wire": {"meta": False}}])
@pytest.mark.parametrize("server", SERVERS)
def test_formats_and_envelopes_are_kept_as_they_left(
    keyed: Nursery, tmp_path: Path, server: str, options: dict[str, Any]
) -> None:
    with place(keyed, tmp_path, (server, "http", ERAS[1]), **options) as there:
        for tool, arguments, effects in (
            ("pay", {}, 1),
            ("fail", {"how": "done"}, 1),
            ("fail", {"how": "none"}, 2),
        ):
            book = there.book()
            first, again = (there.call(tool, str(book), book=book, **arguments) for _ in range(2))
            assert lines(book) == effects
            if effects == 1:
                assert as_first(again) == ordered(first)


@pytest.mark.parametrize("where", [place for place in PLACES if place[1] == "http"], ids="-".join)
def test_two_at_the_same_time(keyed: Nursery, tmp_path: Path, where: tuple[str, str, str]) -> None:
    with place(keyed, tmp_path, where) as there, ThreadPoolExecutor(5) as threads:
        book = there.book()

        def ask() -> dict[str, Any]:
            wanted = Wanted(*where)
            client = client_of(there.client.process, wanted)
            client.settled = str
            try:
                return Place(client, tmp_path).call("slow", "k", book=book)
            finally:
                client._connection.close()  # type: ignore[attr-defined]

        asked = [threads.submit(ask) for _ in range(5)]
        while lines(book) == 0:
            assert not any(each.done() for each in asked)
        Path(f"{book}.go").touch()
        told = [each.result() for each in asked]
        first = [each for each in told if REPLAYED not in json.dumps(each)]
        assert len(first) == 1
        assert {as_first(each) for each in told if each is not first[0]} == {ordered(first[0])}
        assert lines(book) == 1


UNFINISHED: Final = {
    "failwell": 1,
    "code": "IDEMPOTENCY_UNFINISHED",
    "kind": "internal",
    "message": "The first call with this idempotency key has begun, and was never answered.",
    "title": "Idempotency Unfinished",
    "severity": "error",
    "retryable": False,
    "recoverable": False,
    "strategy": "report_and_abort",
    "effect": "unknown",
}


def unfinished(value: dict[str, Any], tool: str) -> bool:
    error = value["result"]["_meta"][META_KEY]
    error.pop("correlation_id")
    assert error == {**UNFINISHED, "tool": tool}
    assert value["result"]["isError"] is True
    return True


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("server", SERVERS)
def test_a_cancelled_call_is_not_made_again(keyed: Nursery, tmp_path: Path, server: str, era: str) -> None:
    with place(keyed, tmp_path, (server, "stdio", era)) as there:
        client, book = there.client, there.book()
        assert isinstance(client, Stdio)
        params = {"name": "slow", "arguments": {"book": str(book)}, "_meta": {KEY: "k"}}
        client.send(json.dumps(client.request("tools/call", params, "first")))
        while lines(book) == 0:
            pass
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "first"}}
        client.send(json.dumps(cancel))
        assert unfinished(there.call("slow", "k", book=book), "slow")
        assert lines(book) == 1


@pytest.mark.parametrize("where", PLACES, ids="-".join)
def test_killed_after_the_effect_and_before_the_answer(
    keyed: Nursery, tmp_path: Path, where: tuple[str, str, str]
) -> None:
    file = str(tmp_path / "keys.db")
    with place(keyed, tmp_path, where, idempotency=file) as there:
        book = there.book()
        kept = there.call("pay", "kept", book=tmp_path / "kept.txt")
        said = advertised(there.client)
        with pytest.raises(NoAnswer):
            there.call("die", "k", book=book)
    assert lines(book) == 1
    with place(keyed, tmp_path, where, idempotency=file) as there:
        assert advertised(there.client) == said
        for _ in range(2):
            assert unfinished(there.call("die", "k", book=book), "die")
        assert lines(book) == 1
        assert as_first(there.call("pay", "kept", book=tmp_path / "kept.txt")) == ordered(kept)
        assert lines(tmp_path / "kept.txt") == 1


def test_a_restarted_process_without_a_file_has_another_name(keyed: Nursery, tmp_path: Path) -> None:
    said = []
    for _ in range(2):
        with place(keyed, tmp_path, PLACES[0]) as there:
            said.append(advertised(there.client)["instance"])
    assert said[0] != said[1]


@pytest.mark.parametrize("server", SERVERS)
def test_two_processes_race_for_the_same_keys(keyed: Nursery, tmp_path: Path, server: str) -> None:
    file = str(tmp_path / "keys.db")
    count = 200
    with ExitStack() as stack, ThreadPoolExecutor(2) as threads:
        there = [
            stack.enter_context(place(keyed, tmp_path / str(number), (server, "stdio", era), idempotency=file))
            for number, era in enumerate(ERAS)
        ]

        def ask(one: Place) -> list[dict[str, Any]]:
            return [one.call("pay", f"k{number}", book=tmp_path / f"{number}.txt") for number in range(count)]

        first, second = threads.map(ask, there)
    assert [lines(tmp_path / f"{number}.txt") for number in range(count)] == [1] * count
    for pair in zip(first, second, strict=True):
        contents = [each["result"]["content"] for each in pair]
        assert contents[0] == contents[1]
        assert sum(REPLAYED in each["result"].get("_meta", {}) for each in pair) == 1


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("server", SERVERS)
def test_keys_belong_to_who_calls(keyed: Nursery, tmp_path: Path, server: str, era: str) -> None:
    wanted = Wanted(server, "http", era, options={"idempotency": True, "auth": True})
    process = started(keyed, wanted)
    book = tmp_path / "book.txt"

    class Authorised(Http):
        token = ""

        def _headers(self, frame: dict[str, Any]) -> dict[str, str]:
            return {**super()._headers(frame), "authorization": f"Bearer {self.token}"}

    try:
        told = []
        for token in ("ann-1", "bob-1", "ann-2", "bob-2"):
            client = Authorised(process, era)
            client.settled, client.token = str, token
            client.open()
            told.append(Place(client, tmp_path).call("pay", "k", book=book))
            client._connection.close()
        assert [REPLAYED in json.dumps(each) for each in told] == [False, False, True, True]
        assert [as_first(each) for each in told[2:]] == [ordered(each) for each in told[:2]]
        assert lines(book) == 2
    finally:
        process.close()
