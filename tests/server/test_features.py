"""What a server does beyond failures: formats by negotiation, clients by name, replies, envelopes, rules.

Each case is asked of every server, over both transports and in both eras, and its whole answer is compared.
`FAILWELL_SNAPSHOTS=write` writes the snapshots anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Final

import pytest
from test_matrix import compare
from wire import (
    ERAS,
    LEGACY,
    MODERN,
    SERVERS,
    TRANSPORTS,
    Client,
    NoAnswer,
    Nursery,
    Wanted,
    client_of,
    connected,
    pooled,
    started,
)

from failwell.formats import FORMATS, META_KEY, find_client
from failwell.server.adapters.wrong_messages import SERVER_INFO
from failwell.server.served_call import EXTENSION, FORMAT_KEY
from recorded import one

Ask = Callable[[Client], Any]
COMBINATIONS: Final = list(product(SERVERS, ERAS))


def unstamped(value: dict[str, Any], era: str) -> dict[str, Any]:
    """An answer without what the newer era stamps on every result, which must be there and nowhere else."""
    result = value.get("result")
    if result is None:
        return value
    meta = result.get("_meta", {})
    stamps = (result.pop("resultType", None), meta.pop(SERVER_INFO, None))
    assert stamps == (("complete", {"name": "shop", "version": "1.0"}) if era == MODERN else (None, None)), value
    if not meta:
        result.pop("_meta", None)
    return value


@contextmanager
def everywhere(nursery: Nursery, *, pool: bool = False, **wanted: Any) -> Iterator[dict[tuple[str, str, str], Client]]:
    """A client for each server, transport and era: of the pool, where nothing that is asked is remembered."""
    how = pooled if pool else connected
    places = list(product(SERVERS, TRANSPORTS, ERAS))
    with how(nursery, *(Wanted(*place, **wanted) for place in places)) as clients:
        yield dict(zip(places, clients, strict=True))


def answers(clients: dict[tuple[str, str, str], Client], cases: dict[str, Ask]) -> tuple[dict[str, Any], list[str]]:
    """Each case's answer: one where all agree, else one for each group of servers and eras. And what is wrong."""
    found: dict[str, Any] = {}
    problems = []
    for case, ask in cases.items():
        told: dict[tuple[str, str, str], dict[str, Any]] = {}
        for place, client in clients.items():
            try:
                told[place] = unstamped(ask(client).value, client.era)
            except (NoAnswer, AssertionError) as exc:
                told[place] = {"no answer": str(exc)[:1_000]}
        for server, era in COMBINATIONS:
            if told[server, "stdio", era] != told[server, "http", era]:
                problems.append(f"{case}: HTTP differs: {told[server, 'stdio', era]}\n {told[server, 'http', era]}")
        groups: list[tuple[list[str], dict[str, Any]]] = []
        for server, era in COMBINATIONS:
            value = told[server, "stdio", era]
            names = next((names for names, known in groups if known == value), None)
            if names is None:
                groups.append((names := [], value))
            names.append(f"{server} {era}")
        if len(groups) == 1:
            found[case] = groups[0][1]
        else:
            found |= {f"{case} [{', '.join(names)}]": value for names, value in groups}
    return found, problems


def folded(found: dict[str, Any]) -> dict[str, Any]:
    """The cases by their answers: those with the same are one."""
    names: dict[str, list[str]] = {}
    for case, value in found.items():
        names.setdefault(json.dumps(value), []).append(case)
    return {" | ".join(cases): json.loads(value) for value, cases in names.items()}


def calling(name: str, arguments: dict[str, Any] | None = None, **meta: Any) -> Ask:
    return lambda client: client.call(name, arguments, meta=meta["meta"] if meta else None)


@dataclass(frozen=True)
class Asked:
    """What a client says about formats when it connects and with the call, and the one it gets. None: the author's."""

    format: str | None
    connecting: Any = None
    calling: Any = None
    tool: str = "find_book"
    arguments: dict[str, Any] = field(default_factory=dict)

    def __call__(self, client: Client) -> Any:
        extensions = {} if self.connecting is None else {"extensions": {EXTENSION: self.connecting}}
        client.reopen(capabilities=extensions)
        return client.call(self.tool, self.arguments, meta=None if self.calling is None else {FORMAT_KEY: self.calling})


def reading(*formats: Any) -> dict[str, Any]:
    return {"formats": list(formats)}


ROME: Final = {"tool": "forecast", "arguments": {"city": "Rome"}}
NEGOTIATED: Final = {
    "nothing": Asked(None),
    "the first of two": Asked("v1", reading("v1", "text")),
    "the first that exists": Asked("xml", reading("nope", 5, "xml", "v1")),
    "none that exists": Asked(None, reading("nope")),
    "an empty list": Asked(None, reading()),
    "no list": Asked(None, {}),
    "one name": Asked("v1", {"formats": "v1"}),
    "a number": Asked(None, {"formats": 5}),
    "a list of numbers": Asked(None, reading(1, 2)),
    "an object": Asked(None, {"formats": {"v1": 1}}),
    "nothing at all": Asked(None, {"formats": None}),
    "the call wins": Asked("envelope", reading("v1"), "envelope"),
    "the call asks for none that exists": Asked("v1", reading("v1"), "nope"),
    "the call has a number": Asked("v1", reading("v1"), 5),
    "the call has a list of numbers": Asked(None, calling=[1]),
    "the call has an object": Asked(None, calling={"v1": 1}),
    "a success": Asked(None, reading("v1"), "xml", "echo", {"text": "hi"}),
    "a crash": Asked("jsonrpc", None, "jsonrpc", "crash"),
    "a tool that does not exist": Asked("v1", reading("v1"), None, "nowhere"),
    "wrong arguments": Asked("v1", reading("v1"), None, "echo", {"text": 5}),
    "an output schema": Asked(None, **ROME),
    "an output schema, asked for by the call alone": Asked("v1", calling="v1", **ROME),
    "an output schema, negotiated": Asked("v1", reading("v1"), **ROME),
    "an output schema, negotiated, no known format": Asked(None, reading("nope"), **ROME),
    **{f"every format: {name}": Asked(name, calling=name) for name in FORMATS},
}


def test_formats_by_negotiation(nursery: Nursery) -> None:
    with everywhere(nursery, pool=True, setting="none") as clients:
        found, problems = answers(clients, NEGOTIATED)
    for case, value in found.items():
        wanted = NEGOTIATED[case.partition(" [")[0]]
        said = value["result"].get("_meta", {}).get(FORMAT_KEY)
        if said != wanted.format:
            problems.append(f"{case}: the format is {said}, not {wanted.format}")
        if wanted.tool == "forecast" and ("structuredContent" in value["result"]) is not (
            wanted.connecting is not None and wanted.format is not None
        ):
            problems.append(f"{case}: structuredContent is there, or missing: {value}")
    problems += compare("features-formats", folded(found))
    assert not problems, "\n".join(problems)


def test_the_extension_is_advertised_in_both_eras(nursery: Nursery) -> None:
    said = {"version": "1", "formats": list(FORMATS), "default": "v1"}
    with everywhere(nursery, pool=True, setting="none", options={"format": "v1"}) as clients:
        for (_, _, era), client in clients.items():
            capabilities = client.opening.value["result"]["capabilities"]
            places = {place: capabilities.get(place, {}).get(EXTENSION) for place in ("extensions", "experimental")}
            assert places == {"extensions": said, "experimental": said if era == LEGACY else None}


@pytest.mark.parametrize("server", SERVERS)
def test_clients_at_once_never_see_each_others_format(nursery: Nursery, server: str) -> None:
    first = Wanted(server, "http", LEGACY, setting="none", capabilities={"extensions": {EXTENSION: reading("v1")}})
    wanted = [
        first,
        first._replace(capabilities={"extensions": {EXTENSION: reading("xml")}}),
        first._replace(era=MODERN, capabilities={"extensions": {EXTENSION: reading("typed")}}),
        first._replace(era=MODERN, capabilities=None),
    ]
    expected = ["v1", "xml", "typed", None]
    process = started(nursery, first)
    clients = [client_of(process, each) for each in wanted]

    def got(client: Client) -> str | None:
        name: str | None = client.call("find_book").value["result"]["_meta"].get(FORMAT_KEY)
        return name

    try:
        assert [[got(client) for client in clients] for _ in range(10)] == [expected] * 10
        with ThreadPoolExecutor(len(clients)) as threads:
            seen = list(threads.map(lambda client: {got(client) for _ in range(50)}, clients))
    finally:
        for client in clients:
            client.close()
    assert seen == [{name} for name in expected]


CONNECTING: Final = (
    "claude-code/2.1.34",
    "claude-ai/0.1.0",
    "pydantic-ai/1.56.0",
    "openai-agents/0.8.1",
    "mcp/2.3.0",
    "typescript-sdk/1.25.2",
    "typescript-sdk/2.0.0",
    "nobody-knows/1.0",
)
SENT: Final = {
    "v1-both": {"format": "v1", "wire": {"gate": "both"}},
    "canonical": {"format": "canonical"},
    "text": {"format": "text"},
}


def as_client(named: str, tool: str, arguments: dict[str, Any]) -> Ask:
    name, _, version = named.partition("/")

    def ask(client: Client) -> Any:
        client.reopen(info={"name": name, "version": version})
        return client.call(tool, arguments)

    return ask


def carriers(named: str | None, format: str, schema: bool) -> tuple[int, bool, bool]:
    """How many blocks, whether structured content, and whether the text says that it is an error: by the table."""
    row = None if named is None else find_client(named)
    # What was asked for is sent, whoever asks.
    blocks = 2 if format == "v1-both" else 1
    if row is None or row.name == "unknown":
        return blocks, not schema and format != "text", False
    structured = {
        "instead": format == "canonical",
        "checked": not schema and format != "text",
    }.get(row.structured, format != "text")
    # Contract 001's text is the message for everybody.
    return blocks, structured, not row.marks_errors and format != "v1-both"


def carried(result: dict[str, Any]) -> tuple[int, bool, bool]:
    blocks = result["content"]
    return len(blocks), "structuredContent" in result, blocks[0]["text"].startswith("Error: ")


@pytest.mark.parametrize("format", SENT)
def test_what_is_sent_to_whom(nursery: Nursery, format: str) -> None:
    tools: dict[str, tuple[str, dict[str, Any]]] = {"": ("find_book", {}), " (schema)": ("forecast", {"city": "Rome"})}
    cases = {f"{client}{what}": as_client(client, *tool) for client in CONNECTING for what, tool in tools.items()}
    with everywhere(nursery, pool=True, setting="none", options=SENT[format]) as clients:
        found, problems = answers(clients, cases)
    for case, value in found.items():
        named, _, schema = case.partition(" (")
        expected = carriers(named, format, bool(schema))
        if carried(value["result"]) != expected:
            problems.append(f"{case}: {carried(value['result'])}, not {expected}")
    problems += compare(f"features-clients-{format}", folded(found))
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("fixed", [None, "claude-code/2.1"], ids=["nobody", "claude-code"])
def test_a_server_may_be_for_one_client(nursery: Nursery, fixed: str | None) -> None:
    cases = {named: as_client(named, "find_book", {}) for named in ("pydantic-ai/1.56.0", "nobody-knows/1.0")}
    with everywhere(
        nursery,
        pool=True,
        setting="none",
        options={**SENT["v1-both"], "wire": {**SENT["v1-both"]["wire"], "client": fixed}},
    ) as clients:
        found, problems = answers(clients, cases)
    assert not problems
    assert [*found] == [*cases]
    assert {carried(value["result"]) for value in found.values()} == {carriers(fixed, "v1-both", False)}


GATES: Final = ("markdown", "json", "both")
CODES: Final = ("network", "auth", "server", "client", "notfound", "unknown")


def without_types(result: dict[str, Any]) -> dict[str, Any]:
    """The contract's result without the field that MCP's text blocks do not have."""
    blocks = [{name: value for name, value in block.items() if name != "mimeType"} for block in result["content"]]
    return {**result, "content": blocks}


@pytest.mark.checklist(83, 84, 85, 86, 101)
def test_a_format_argument_decides_the_blocks(nursery: Nursery) -> None:
    def gated(tool: str, gate: str | None, **arguments: Any) -> Ask:
        return calling(tool, arguments if gate is None else {**arguments, "format": gate})

    cases: dict[str, Ask] = {}
    for gate in (None, *GATES):
        name = gate or "unsaid"
        cases[f"success, {name}"] = gated("search_patterns", gate, query="retry")
        cases[f"success without words, {name}"] = gated("list_rules", gate)
        cases[f"question, {name}"] = gated("get_pattern", gate, id="rety")
        cases[f"question, output schema, {name}"] = gated("get_pattern_typed", gate, id="rety")
    cases["question, no format argument"] = calling("get_pattern_plainly", {"id": "rety"})
    cases["success, no format argument"] = calling("review_code", {"query": "retry"})
    cases["another format"] = calling("search_patterns", {"query": "retry", "format": "yaml"})
    cases["another format, a failure"] = calling("search_patterns", {"query": "network", "format": "MARKDOWN"})
    cases["wrong arguments, json"] = calling("search_patterns", {"query": 5, "format": "json"})
    with everywhere(nursery, pool=True, setting="none", options={"format": "v1"}) as clients:
        found, problems = answers(clients, cases)
    problems += compare("features-gates", folded(found))
    assert not problems, "\n".join(problems)


@pytest.mark.checklist(83, 84)
@pytest.mark.parametrize("default", ["v1", "text"])
def test_failures_are_the_contracts_own(nursery: Nursery, default: str) -> None:
    """To the letter, but for `mimeType`; and whatever the server's own format is, if the tool has the argument."""
    cases = {
        f"{code} {gate}": calling("search_patterns", {"query": code, "format": gate})
        for code, gate in product(CODES, GATES)
    }
    if default == "v1":
        cases |= {f"{code} plainly": calling("review_code", {"query": code}) for code in CODES}
    with everywhere(nursery, pool=True, setting="none", options={"format": default}) as clients:
        found, problems = answers(clients, cases)
    for case in cases:
        code, _, gate = case.partition(" ")
        result = found[case]["result"]
        about = result.pop("_meta")[META_KEY]
        vector = one("contracts-verbatim", f"001.{code}.{'markdown' if gate == 'plainly' else gate}")["output"]
        if result != without_types(vector) or about["message"] != vector["structuredContent"]["message"]:
            problems.append(f"{case}:\n    {result}\n    {without_types(vector)}")
    assert not problems, "\n".join(problems)


SHAPES: Final = {
    "text": calling("echo", {"text": "hi"}),
    "text that is a number to some": calling("as_number_text"),
    "dict": calling("as_dict_of_more"),
    "dict of one result": calling("as_dict"),
    "list": calling("as_list"),
    "list, output schema": calling("as_typed_list"),
    "model, output schema": calling("forecast"),
    "image": calling("as_image"),
    "nothing": calling("as_nothing"),
    "page": calling("as_page"),
}
FAILURES: Final = {
    "rate limit": calling("x_limited"),
    "policy": calling("x_blocked"),
    "duplicate": calling("x_twice"),
    "warning": calling("outdated"),
    "crash": calling("crash"),
    "output schema": calling("forecast", {"city": "Rome"}),
    "wrong arguments": calling("echo", {"text": 5}),
    "unknown tool": calling("nowhere"),
    "question": calling("get_pattern_plainly", {"id": "rety"}),
    "rule": calling("decorated_reboot", {"device_id": "dev-lab-01"}),
}


def envelopes(result: dict[str, Any]) -> list[dict[str, Any]]:
    """What the result holds in the contract's form: its first block, and the structured content if it has the form."""
    held = result.get("structuredContent")
    return [json.loads(result["content"][0]["text"]), *([held] if held and "success" in held else [])]


@pytest.mark.checklist(193, 194, 198, 200)
@pytest.mark.parametrize("setting", ["api", "workflow"])
def test_everything_is_in_the_envelope(nursery: Nursery, setting: str) -> None:
    with everywhere(nursery, setting=setting) as clients:
        found, problems = answers(clients, SHAPES | FAILURES)
    workflow = {} if setting == "api" else {"mode": "composer", "approval_mode": True}
    for case, value in found.items():
        worked = case.partition(" [")[0] in SHAPES
        for envelope in envelopes(value["result"]):
            meta = envelope["meta"]
            wrong = [
                envelope["success"] is not worked,
                value["result"].get("isError", False) is worked,
                {name: meta[name] for name in ("mode", "approval_mode") if name in meta} != workflow,
                (meta["tool_version"], meta["elapsed_ms"]) != ("1.0", 0),
                ("error" in envelope) is worked,
            ]
            if any(wrong):
                problems.append(f"{case}: {wrong} {value}")
    problems += compare(f"features-envelope-{setting}", folded(found))
    assert not problems, "\n".join(problems)


@pytest.mark.checklist(194)
def test_the_mode_is_that_of_the_moment(nursery: Nursery) -> None:
    def modes(client: Client) -> list[Any]:
        def meta(tool: str, **arguments: Any) -> tuple[Any, Any]:
            [envelope, *_] = envelopes(client.call(tool, arguments).value["result"])
            return envelope["meta"]["mode"], envelope["meta"]["approval_mode"]

        seen = [meta("echo", text="hi"), meta("x_blocked"), meta("switch", mode="autopilot", approval_mode=False)]
        seen += [meta("echo", text="hi"), meta("x_blocked"), meta("echo"), meta("nowhere")]
        return [*seen, meta("switch", mode="reckless", approval_mode=False), meta("unsure"), meta("x_blocked")]

    careful, bold = ("composer", True), ("autopilot", False)
    expected = [careful, careful, bold, bold, bold, bold, bold, ("composer", False), careful, careful]
    with everywhere(nursery, setting="changing") as clients:
        assert {place: modes(client) for place, client in clients.items()} == dict.fromkeys(clients, expected)


@pytest.mark.checklist(193)
def test_strict_envelopes_know_the_contracts_codes_alone(nursery: Nursery) -> None:
    cases = {
        name: FAILURES[name]
        for name in ("rate limit", "crash", "output schema", "wrong arguments", "unknown tool", "rule")
    }
    with everywhere(nursery, setting="strict") as clients:
        found, problems = answers(clients, cases)
    codes: dict[str, set[str]] = {}
    for case, value in found.items():
        codes.setdefault(case.partition(" [")[0], set()).update(
            each["error"]["code"] for each in envelopes(value["result"])
        )
    assert not problems
    assert codes == {
        "rate limit": {"x_rate_limited"},
        "crash": {"serialization_error"},
        "output schema": {"not_found"},
        "wrong arguments": {"validation_error"},
        "unknown tool": {"not_found"},
        "rule": {"x_forbidden"},
    }


def test_another_format_may_be_asked_for_instead_of_the_envelope(nursery: Nursery) -> None:
    cases = {
        "success": calling("echo", {"text": "hi"}, meta={FORMAT_KEY: "text"}),
        "failure": calling("find_book", meta={FORMAT_KEY: "text"}),
        "success, asked for": calling("echo", {"text": "hi"}, meta={FORMAT_KEY: "envelope"}),
    }
    with everywhere(nursery, pool=True, setting="api") as clients:
        found, problems = answers(clients, cases)
    assert not problems
    assert found["success"]["result"] == {"content": [{"type": "text", "text": "hi"}], "isError": False}
    assert found["failure"]["result"]["content"] == [
        {"type": "text", "text": "There is no book 1. Call list_books first."}
    ]
    assert envelopes(found["success, asked for"]["result"])[0]["data"] == "hi"


@pytest.mark.checklist(167)
def test_rules_on_the_wire(nursery: Nursery) -> None:
    """A rule answers the same as a decorator and by the tool's name."""

    def cases(how: str) -> dict[str, Ask]:
        return {
            "deprecated": calling(f"{how}_search", {"query": "tea"}),
            "deprecated, wrong arguments": calling(f"{how}_search", {}),
            "rate, first": calling(f"{how}_ping"),
            "rate, second": calling(f"{how}_ping"),
            "rate, third": calling(f"{how}_ping"),
            "safety, allowed": calling(f"{how}_reboot", {"device_id": "dev-lab-02"}),
            "safety, no flag": calling(f"{how}_reboot", {"device_id": "dev-lab-01"}),
            "safety, elsewhere": calling(f"{how}_reboot", {"device_id": "dev-prod-01"}),
            "safety, wrong arguments": calling(f"{how}_reboot", {}),
        }

    with everywhere(nursery, setting="none") as clients:
        decorated, problems = answers(clients, cases("decorated"))
    problems += compare("features-rules", folded(decorated))
    assert not problems, "\n".join(problems)


@pytest.mark.checklist(166)
@pytest.mark.parametrize("how", ["decorated"])
@pytest.mark.parametrize("server", SERVERS)
def test_a_full_queue_is_busy(nursery: Nursery, server: str, how: str) -> None:
    first = Wanted(server, "http", LEGACY, setting="none")
    process = started(nursery, first)
    clients = [client_of(process, first._replace(era=ERAS[number % 2])) for number in range(6)]
    *workers, other = clients
    try:
        with ThreadPoolExecutor(len(workers)) as threads:
            going = [threads.submit(client.call, f"{how}_work") for client in workers]
            told = []
            for ended in as_completed(going):
                told.append(ended.result().value["result"])
                if len(told) == len(workers) - 2:
                    # One runs, one waits, all others have been sent away.
                    other.call("release")
    finally:
        for client in clients:
            client.close()
    *busy, ran, waited = told
    assert [each["content"][0]["text"] for each in (ran, waited)] == ["worked", "worked"]
    for each in busy:
        about = each["_meta"][META_KEY]
        assert each["isError"] is True
        wait = about["retry_after"]
        assert each["content"][0]["text"].startswith(f"All places are taken: running 1, waiting 1. Wait {wait} second")
        assert isinstance(wait, int)
        assert wait >= 1
        assert (about["code"], about["retryable"]) == ("SERVER_BUSY", True)
        assert about["details"] == {"concurrency": 1, "queue": 1}


JUNK_META: Final = {"a number": 5, "a text": "v1", "a list": [1], "nothing": None}
JUNK_EXTENSIONS: Final = {
    "a number": 5,
    "a list": [1],
    "nothing": None,
    "a number for ours": {EXTENSION: 5},
    "a list for ours": {EXTENSION: ["v1"]},
    "nothing for ours": {EXTENSION: None},
    "depth": {EXTENSION: {"formats": [[[[[[["v1"]]]]]]]}},
    "a long name": {EXTENSION: reading("v" * 1_000_000)},
    "many names": {EXTENSION: reading(*(f"f{number}" for number in range(50_000)))},
}


def test_a_long_format_name_is_no_format(nursery: Nursery) -> None:
    cases = {"1 MB": calling("find_book", meta={FORMAT_KEY: "v" * 1_000_000}), "none": calling("find_book")}
    with everywhere(nursery, pool=True, setting="none") as clients:
        found, problems = answers(clients, cases)
    assert not problems
    assert found["1 MB"] == found["none"]


def junk_meta(meta: Any) -> Ask:
    def ask(client: Client) -> Any:
        frame = client.request("tools/call", {"name": "echo", "arguments": {"text": "hi"}}, "junk")
        frame["params"]["_meta"] = meta
        return client.exchange(json.dumps(frame), "junk")

    return ask


def junk_extensions(extensions: Any) -> Ask:
    def ask(client: Client) -> Any:
        client.reopen(capabilities={"extensions": extensions})
        if "error" in client.opening.value:
            return client.opening
        return client.call("echo", {"text": "hi"})

    return ask


def test_junk_is_answered_as_without_failwell(nursery: Nursery) -> None:
    cases = {f"_meta: {name}": junk_meta(meta) for name, meta in JUNK_META.items()}
    cases |= {f"extensions: {name}": junk_extensions(junk) for name, junk in JUNK_EXTENSIONS.items()}
    cases["after all that"] = junk_extensions({})
    with (
        everywhere(nursery, pool=True, setting="none") as clients,
        everywhere(nursery, pool=True, setting="none", bare=True) as bare,
    ):
        ours, problems = answers(clients, cases)
        theirs, more = answers(bare, cases)
    assert not problems + more
    refused = {case: value["error"] for case, value in ours.items() if "error" in value}
    # Of what is refused the number is the same, and beside it stands what is wrong; all else is as it was.
    assert {error["code"] for error in refused.values()} == {-32602}
    assert {error["data"]["mcp_error_code"] for error in refused.values()} == {"INVALID_PARAMS"}
    assert {case.partition(" [")[0] for case in refused} == {
        case.partition(" [")[0] for case, value in theirs.items() if value.get("error", {}).get("code") == -32602
    }
    for mine, bare_one in ((ours, theirs), (theirs, ours)):
        for case, value in mine.items():
            assert "error" in value or bare_one[case] == value, case
    assert ours["after all that"]["result"]["content"] == [{"type": "text", "text": "hi"}]


def test_junk_about_our_extension_is_no_wish(nursery: Nursery) -> None:
    """Where the framework lets it pass, the answer is the author's own."""

    def asked(extensions: Any) -> Ask:
        def ask(client: Client) -> Any:
            client.reopen(capabilities={"extensions": extensions})
            return client.call("find_book")

        return ask

    names = ("nothing", "depth", "a long name", "many names")
    with everywhere(nursery, pool=True, setting="none") as clients:
        found, problems = answers(clients, {name: asked(JUNK_EXTENSIONS[name]) for name in names})
    assert not problems
    assert [*found] == [*names]
    assert all(value == found["nothing"] for value in found.values())
    assert found["nothing"]["result"]["isError"] is True
