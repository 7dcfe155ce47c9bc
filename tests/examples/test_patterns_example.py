"""The example `patterns` keeps contract 001: every code in every format, and every question, over both transports and
in both eras. The service behind it is real, and really fails.

The snapshots hold whole answers, without their ids. `FAILWELL_SNAPSHOTS=write` writes them anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from running import ERAS, LEGACY, MODERN, SNAPSHOTS, Answer, Client, Example, compare, opened

import failwell as fw
from failwell.examples.patterns.service import Refusal, Service
from failwell.examples.patterns.store import Store
from failwell.formats import META_KEY

VERBATIM = Path(__file__).parents[1] / "data/contracts-verbatim.json"
KEY = "pk-3f9a61c0d2"
FORMATS = ("markdown", "json", "both")
# Long enough for an answer on a busy machine.
TIMEOUT = "1"

Fault = Refusal | Literal["silence", "hang up", "garbage", "gone", "wrong key", "closed database"] | None


class Case(NamedTuple):
    """A call, what is wrong with the service meanwhile, and the code or the kind of the answer."""

    id: str
    told: str
    tool: str
    arguments: dict[str, Any] = {}  # noqa: RUF012
    fault: Fault = None


def gated(id: str, told: str, tool: str, arguments: dict[str, Any], fault: Fault = None) -> list[Case]:
    return [Case(f"{id}.{format}", told, tool, {**arguments, "format": format}, fault) for format in FORMATS]


SEARCH = ("search_patterns", {"query": "retry"})
MISSING = Refusal(404, "Resource not found: /api/patterns/invalid-resource")

# The six codes, by the names of the contract's own examples, where each failure has just the words it has there.
CONTRACT = [
    *gated("001.network", "NETWORK_ERROR", *SEARCH, "silence"),
    *gated("001.auth", "AUTHENTICATION_ERROR", *SEARCH, "wrong key"),
    *gated("001.server", "SERVER_ERROR", *SEARCH, "closed database"),
    *gated("001.client", "CLIENT_ERROR", "search_patterns", {"query": "retry", "limit": 101}),
    *gated("001.notfound", "NOT_FOUND", *SEARCH, MISSING),
    *gated("001.unknown", "UNKNOWN_ERROR", *SEARCH, "garbage"),
]
CASES = [
    *CONTRACT,
    Case("no format argument: network", "NETWORK_ERROR", "list_analysis_rules", {}, "gone"),
    Case("no format argument: server", "SERVER_ERROR", "list_analysis_rules", {}, "closed database"),
    Case("no format argument: authentication", "AUTHENTICATION_ERROR", "list_analysis_rules", {}, "wrong key"),
    Case("no format argument: not found", "NOT_FOUND", "list_analysis_rules", {"rule_set": "rust"}),
    Case("no format argument: unknown", "UNKNOWN_ERROR", "list_analysis_rules", {}, "garbage"),
    Case("no format argument: client", "VALIDATION_ERROR", "list_analysis_rules", {"rule_set": 5}),
    Case("refused connection", "NETWORK_ERROR", *SEARCH, "gone"),
    Case("broken connection", "NETWORK_ERROR", *SEARCH, "hang up"),
    Case("status 302", "UNKNOWN_ERROR", *SEARCH, Refusal(302, "Moved", {"location": "/v2"})),
    Case("status 403", "AUTHENTICATION_ERROR", *SEARCH, Refusal(403, "Forbidden: The key may not search")),
    Case("status 408", "NETWORK_ERROR", *SEARCH, Refusal(408, "Request timeout")),
    Case("status 410", "CLIENT_ERROR", *SEARCH, Refusal(410, "Gone")),
    Case("status 418", "CLIENT_ERROR", *SEARCH, Refusal(418, "I'm a teapot")),
    *gated("status 429", "RATE_LIMITED", *SEARCH, Refusal(429, "Too many requests", {"retry-after": "7"})),
    Case("status 502, no words", "SERVER_ERROR", *SEARCH, Refusal(502, "")),
    Case("status 503", "SERVER_ERROR", *SEARCH, Refusal(503, "Down for maintenance", {"retry-after": "120"})),
    Case("status 599", "SERVER_ERROR", *SEARCH, Refusal(599, "Nobody knows")),
    Case("wrong category", "CLIENT_ERROR", "search_patterns", {"query": "a", "category": "cooking"}),
    Case("wrong format", "VALIDATION_ERROR", "search_patterns", {"query": "retry", "format": "yaml"}),
    Case("wrong format of a pattern", "VALIDATION_ERROR", "get_pattern", {"id": "saga", "format": "JSON"}),
    *gated("wrong name of an argument", "VALIDATION_ERROR", "search_patterns", {"query": "a", "categry": "errors"}),
    *gated("a pattern while the service is down", "NETWORK_ERROR", "get_pattern", {"id": "saga"}, "gone"),
    *gated("found", "patternSearchResults:v1", *SEARCH),
    Case("found, by default", "patternSearchResults:v1", *SEARCH),
    Case("found nothing", "patternSearchResults:v1", "search_patterns", {"query": "sourdough", "format": "both"}),
    Case(
        "found in a category",
        "patternSearchResults:v1",
        "search_patterns",
        {"query": "a", "category": "errors", "limit": 2, "format": "both"},
    ),
    *gated("read", "patternDetails:v1", "get_pattern", {"id": "saga"}),
    Case("rules", "", "list_analysis_rules", {"rule_set": "async"}),
    *gated("no query", "needsInput:v1", "search_patterns", {}),
    Case("blank query", "needsInput:v1", "search_patterns", {"query": " \n"}),
    *gated("too many hits", "needsInput:v1", "search_patterns", {"query": "the"}),
    Case("too many hits, and a blank category", "needsInput:v1", "search_patterns", {"query": "the", "category": ""}),
    *gated("no such pattern", "needsInput:v1", "get_pattern", {"id": "conract-test"}),
    Case("no such pattern, nor one like it", "needsInput:v1", "get_pattern", {"id": "zzz", "format": "both"}),
    Case("no such pattern, nor suggestions", "needsInput:v1", "get_pattern", {"id": "saga", "format": "both"}, MISSING),
    *gated("no id", "needsInput:v1", "get_pattern", {}),
    Case("blank id", "needsInput:v1", "get_pattern", {"id": "  "}),
]


class Asked(NamedTuple):
    """A call that leads to a question, and what the user says."""

    id: str
    tool: str
    arguments: dict[str, Any]
    said: dict[str, Any] | Literal["decline", "cancel"]


ASKED = [
    Asked("no query", "search_patterns", {}, {"query": "retry"}),
    Asked("blank query, for programs", "search_patterns", {"query": " ", "format": "json"}, {"query": "retry"}),
    Asked("too many hits", "search_patterns", {"query": "the", "limit": 2}, {"category": "testing"}),
    Asked("no such pattern", "get_pattern", {"id": "conract-test", "format": "both"}, {"id": "contract-test"}),
    Asked("no id", "get_pattern", {}, {"id": "saga"}),
    Asked("declined", "get_pattern", {"id": "conract-test", "format": "both"}, "decline"),
    Asked("dismissed", "search_patterns", {}, "cancel"),
]


class World:
    """The service, and the servers in front of it; each is started when it is first needed."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self._stack = stack
        self._processes: dict[str, Example] = {}
        self.service = Service(Store(), KEY)
        stack.callback(lambda: self.service.close())

    def process(self, name: str, **settings: str) -> Example:
        if name not in self._processes:
            wanted = {"PATTERNS_API": self.service.url, "PATTERNS_API_KEY": KEY, "PATTERNS_TIMEOUT": TIMEOUT}
            wanted = {key: value for key, value in {**wanted, **settings}.items() if value}
            process = Example("patterns", self.folder / f"{name}.log", wanted, http="http" in name)
            self._stack.callback(process.close)
            self._processes[name] = process
        return self._processes[name]

    def client(self, process: Example, era: str, **more: Any) -> Client:
        client = opened(process, era, **more)
        self._stack.callback(client.close)
        return client

    @contextmanager
    def broken(self, fault: Fault) -> Iterator[None]:
        """The service with something wrong, which is right again afterwards."""
        service = self.service
        if fault == "gone":
            service.close()
        elif fault == "wrong key":
            service.api_key = "another"
        elif fault == "closed database":
            service.store.close()
        else:
            service.fault = fault
        try:
            yield
        finally:
            service.resume.set()
            if fault == "gone":
                self.service = Service(service.store, KEY, int(service.url.rpartition(":")[2]))
            elif fault == "closed database":
                service.store = Store()
            service.resume.clear()
            service.fault, service.api_key = None, KEY


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(tmp_path_factory.mktemp("patterns"), stack)


def told(value: dict[str, Any]) -> str:
    """The code of a failure, the kind of any other structured answer."""
    result = value["result"]
    if result.get("isError"):
        return str(result["_meta"][META_KEY]["code"])
    return str(result.get("structuredContent", {}).get("kind", ""))


@pytest.mark.checklist(57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 72, 73, 74, 75, 76, 77, 81, 82)
@pytest.mark.checklist(83, 84, 85, 86, 95, 96, 97, 98, 99, 100, 101, 107, 109)
@pytest.mark.parametrize("era", ERAS)
def test_every_code_and_every_answer_in_every_format(world: World, era: str) -> None:
    stdio_process, http_process = world.process(f"stdio-{era}"), world.process("http")
    clients = [world.client(stdio_process, era, http=False), world.client(http_process, era, http=True)]
    problems: list[str] = []
    answers: dict[str, Any] = {}
    with ThreadPoolExecutor() as pool:
        for case in CASES:

            def call(client: Client, case: Case = case) -> Answer:
                return client.call(case.tool, case.arguments)

            with world.broken(case.fault):
                stdio, http = pool.map(call, clients)
            answers[case.id] = stdio.value
            if stdio.value != http.value:
                problems.append(f"{case.id}: HTTP differs from stdio:\n    {stdio.value}\n    {http.value}")
            if told(stdio.value) != case.told:
                problems.append(f"{case.id}: is {told(stdio.value)}, not {case.told}")
            if KEY in stdio.raw or "127.0.0.1" in stdio.raw:
                problems.append(f"{case.id}: tells what is nobody's business")
    problems += compare("patterns", answers, era)
    assert not problems, "\n".join(problems)


def snapshot(era: str) -> dict[str, Any]:
    return SNAPSHOTS.read("patterns", era)


@pytest.mark.checklist(58, 59, 60, 61, 62, 63, 64, 65, 72, 73, 75, 76, 77, 81, 82)
@pytest.mark.parametrize("era", ERAS)
def test_the_examples_of_the_contract_come_out_word_for_word(era: str) -> None:
    examples = {each["id"]: each["output"] for each in json.loads(VERBATIM.read_text(encoding="utf-8"))}
    for case in CONTRACT:
        wanted = examples[case.id]
        for block in wanted["content"]:
            # SDK servers drop it.
            del block["mimeType"]
        result = snapshot(era)[case.id]["result"]
        assert {name: result[name] for name in wanted} == wanted, case.id
        assert list(result["structuredContent"]) == list(wanted["structuredContent"]), case.id


@pytest.mark.checklist(87, 88, 90, 95)
@pytest.mark.parametrize("era", ERAS)
def test_an_agent_reads_what_is_meant(era: str) -> None:
    for case in CASES:
        result = snapshot(era)[case.id]["result"]
        read = fw.parse({name: value for name, value in result.items() if name != "_meta"})
        if case.told == "needsInput:v1":
            assert isinstance(read, fw.NeedsInput), case.id
            assert "isError" not in result or result["isError"] is False
        elif result.get("isError"):
            assert isinstance(read, fw.ToolError), case.id
            wire = result["structuredContent"]
            assert (read.code, read.message, read.retryable) == (wire["code"], wire["message"], wire["retryable"])
        else:
            assert read is None, case.id


@pytest.mark.checklist(95, 96, 98, 99, 100)
@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_can_ask_is_asked(world: World, era: str) -> None:
    # On stdio with a service of its own.
    own = world.process("stdio-own-" + era, PATTERNS_API="", PATTERNS_DB=str(world.folder / f"{era}.db"))
    problems: list[str] = []
    answers: dict[str, Any] = {}
    saying: list[dict[str, Any] | str] = []

    def user(question: dict[str, Any]) -> dict[str, Any]:
        said = saying[-1]
        return {"action": said} if isinstance(said, str) else {"action": "accept", "content": said}

    more: dict[str, Any] = {"capabilities": {"elicitation": {}}, "user": user}
    stdio = world.client(own, era, http=False, **more)
    http = world.client(world.process("http"), era, http=True, **more)
    for case in ASKED:
        saying.append(case.said)
        seen = []
        for client in (stdio, http):
            client.questions.clear()
            answer = client.call(case.tool, case.arguments).value
            for question in client.questions:
                question.pop("requestState", None)
            seen.append({"questions": list(client.questions), "answer": answer})
        answers[case.id] = seen[0]
        if seen[0] != seen[1]:
            problems.append(f"{case.id}: HTTP differs from stdio:\n    {seen[0]}\n    {seen[1]}")
        if len(seen[0]["questions"]) != 1:
            problems.append(f"{case.id}: asked {len(seen[0]['questions'])} times")
    problems += compare("patterns-asked", answers, era)
    assert not problems, "\n".join(problems)


@pytest.mark.checklist(104)
def test_a_connection_that_is_not_secure_is_not_retried(world: World) -> None:
    process = world.process("stdio-tls", PATTERNS_API=world.service.url.replace("http:", "https:"))
    client = world.client(process, MODERN, http=False)
    answers = {case.id: client.call(case.tool, case.arguments).value for case in gated("tls", "", *SEARCH)}
    for value in answers.values():
        assert value["result"]["structuredContent"] == {
            "kind": "toolError:v1",
            "code": "TLS_ERROR",
            "message": "Network error: Connection not secure",
            "retryable": False,
        }
    assert not compare("patterns-tls", answers)


@pytest.mark.checklist(74, 83)
def test_two_tools_have_a_format_and_markdown_is_its_default(world: World) -> None:
    client = world.client(world.process("http"), LEGACY, http=True)
    tools = client.ask("tools/list", {}, id="list").value["result"]["tools"]
    formats = {tool["name"]: tool["inputSchema"]["properties"].get("format") for tool in tools}
    offered = {"default": "markdown", "enum": list(FORMATS), "title": "Format", "type": "string"}
    assert formats == {
        "search_patterns": offered,
        "get_pattern": offered,
        "list_analysis_rules": None,
    }
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools)
