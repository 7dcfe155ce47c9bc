"""The manifest: made from a server, read from a file, held against both."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from fastmcp import FastMCP
from mcp.client import Client
from mcp.server import MCPServer, Server
from mcp_types import ListToolsResult, Tool, ToolAnnotations

import commands
import failwell as fw
import failwell.manifest
import failwell.server
from failwell.cli import main
from failwell.manifest.entries import load, problems
from failwell.manifest.source import codes_in
from failwell.server import Envelope, Group, limit, rate
from failwell.server.declared_failures import RAISES_KEY

DATA = Path(__file__).parent.parent / "data"
SIXTY_FIVE = DATA / "manifest-65-tools.json"


class Billing(fw.Catalog):
    PAID = fw.Code("conflict", "The invoice is paid.")
    BANK_DOWN = fw.Code("transient", "The bank does not answer.")


class Lapsed(fw.Denied, code="SUBSCRIPTION_LAPSED"):
    pass


class Store:
    cache: Cache

    def __init__(self) -> None:
        self.cache = Cache()

    def get(self, key: str) -> str:
        if not key:
            raise fw.NotFound("no key")
        return self.cache.find(key)

    @staticmethod
    def check() -> None:
        raise Lapsed("pay first")


class Cache:
    def find(self, key: str) -> str:
        raise Billing.BANK_DOWN(key)


STORE = Store()


def raises_directly(key: str) -> str:
    raise fw.ToolError("x", code="MINE")


def raises_through_others(key: str) -> str:
    return helper(key)


def helper(key: str) -> str:
    return STORE.get(key)


def raises_by_hint(store: Store) -> None:
    store.check()


def raises_by_local() -> str:
    mine = Store()
    return mine.get("k")


def raises_builtin() -> None:
    raise TimeoutError


def raises_simple() -> Any:
    return fw.required("id") if STORE else fw.error("no", code="ODD")


def raises_from_table(code: str = "X") -> None:
    raise Billing.PAID("no")


def asks() -> None:
    raise fw.NeedsInput("which?")


def loops(n: int) -> None:
    loops(n - 1)
    raise Billing.PAID("x")


CASES: list[tuple[Callable[..., Any], set[str]]] = [
    (raises_directly, {"MINE"}),
    (raises_through_others, {"NOT_FOUND", "BANK_DOWN"}),
    (raises_by_hint, {"SUBSCRIPTION_LAPSED"}),
    (raises_by_local, {"NOT_FOUND", "BANK_DOWN"}),
    (raises_builtin, {"TIMEOUT"}),
    (raises_simple, {"MISSING_REQUIRED_FIELD", "ODD"}),
    (raises_from_table, {"PAID"}),
    (asks, set()),
    (loops, {"PAID"}),
    (limit(concurrency=1)(raises_directly), {"MINE"}),
    (len, set()),
    (eval("lambda: 1"), set()),
]


@pytest.mark.checklist(210)
@pytest.mark.parametrize(("function", "codes"), CASES, ids=lambda each: getattr(each, "__name__", None))
def test_codes_are_read_from_the_source(function: Callable[..., Any], codes: set[str]) -> None:
    assert codes_in(function) == codes


def test_closures_are_read_too() -> None:
    store = Store()

    def tool(key: str) -> str:
        return store.get(key)

    assert codes_in(tool) == {"NOT_FOUND", "BANK_DOWN"}


def shop(framework: Any) -> Any:
    @framework.tool(annotations=ToolAnnotations(read_only_hint=True))
    @limit(concurrency=2)
    @fw.raises("NOT_FOUND", "GONE", category="lookup", requires=["db"], profiles=["api", "workflow"])
    def get(key: str) -> str:
        """Get."""
        return STORE.get(key)

    @framework.tool()
    @rate(5)
    def pay(invoice: str) -> str:
        """Pay."""
        raise Billing.PAID("no")

    group = Group("users")

    @group.action()
    @fw.raises("CONFLICT", mutation=True)
    def create(name: str) -> str:
        """Create."""
        raise fw.Conflict("held")

    @group.action()
    @fw.raises("NOT_FOUND", mutation=False)
    def show(name: str) -> str:
        """Show."""
        raise fw.NotFound("none")

    group.add_to(framework)
    return failwell.server.install(framework, hooks=[UNDECLARED.append])


UNDECLARED: list[Any] = []
FRAMEWORKS = {"mcpserver": lambda: MCPServer("shop", log_level="ERROR"), "fastmcp": lambda: FastMCP("shop")}


@pytest.fixture(params=sorted(FRAMEWORKS))
def server(request: pytest.FixtureRequest) -> Any:
    return shop(FRAMEWORKS[request.param]())


def made(server: Any, seen: dict[str, list[str]] | None = None) -> failwell.manifest.Manifest:
    return failwell.manifest.build(anyio.run(failwell.manifest.of_server, server), seen)


@pytest.mark.checklist(203, 204, 205, 206, 207, 208, 209)
def test_a_manifest_is_made_of_what_the_tools_say(server: Any) -> None:
    tools = {tool["name"]: tool for tool in made(server).to_dict()["tools"]}
    assert list(tools) == ["get", "pay", "users"]
    assert {key: value for key, value in tools["get"].items() if key != "input_schema"} == {
        "name": "get",
        "category": "lookup",
        "mutation": False,
        "requires_db": True,
        "profiles": ["api", "workflow"],
        "possible_error_codes": ["GONE", "NOT_FOUND", "SERVER_BUSY"],
        "annotations": {"readOnlyHint": True},
        "formats": ["text"],
    }
    assert tools["pay"]["possible_error_codes"] == ["PAID", "RATE_LIMITED"]
    assert tools["pay"]["requires_db"] is False
    assert tools["users"]["mutation"] is True
    assert tools["users"]["possible_error_codes"] == [
        *("CONFLICT", "INVALID_DISCRIMINATOR", "MISSING_DISCRIMINATOR", "NOT_FOUND", "UNKNOWN_ACTION")
    ]
    schema = json.loads((Path(failwell.manifest.__file__).parent / "manifest.schema.json").read_text())
    jsonschema.validate(made(server).to_dict(), schema)


def test_where_the_sources_disagree_it_says_so(server: Any) -> None:
    found = made(server, {"get": ["TEAPOT", "INTERNAL_ERROR"], "pay": ["X"], "gone": ["Y"], "(unknown)": ["Z"]})
    assert found.undeclared == (
        "get: BANK_DOWN is in the source, but not declared",
        "get: TEAPOT is seen, but not declared",
    )
    assert found.notes == ("get: GONE is declared, but neither in the source nor seen", "gone: seen, but not listed")
    # Reading alone does not find everything: that a declared code never comes, only a record of calls can say.
    assert made(server).undeclared == ("get: BANK_DOWN is in the source, but not declared",)
    assert made(server).notes == ()


@pytest.mark.checklist(207)
def test_contract_003s_three_flags_stand_in_every_entry() -> None:
    server = MCPServer[Any]("social", log_level="ERROR")

    @server.tool()
    @fw.raises("not_found", "db_error", requires=["db"], profiles=["api"])
    def remove() -> None:
        """Remove."""

    @server.tool()
    @fw.raises("not_found", mutation=False, profiles=["api"])
    def show() -> None:
        """Show."""

    flags = [
        {key: value for key, value in tool.items() if key.startswith("requires_")}
        for tool in made(server).to_dict()["tools"]
    ]
    unneeded = {"requires_llm": False, "requires_x_client": False}
    assert flags == [{"requires_db": True, **unneeded}, {"requires_db": False, **unneeded}]


@pytest.mark.checklist(349)
def test_the_codes_say_what_a_tool_needs() -> None:
    server = MCPServer[Any]("social", log_level="ERROR")

    @server.tool()
    @fw.raises("not_found")
    def declared() -> None:
        raise fw.NotFound("x", code="not_found")

    @server.tool()
    def read() -> None:
        raise fw.ToolError("x", code="llm_error")

    tools = made(server, {"declared": ["db_error", "x_api_error"]}).to_dict()["tools"]
    flags = [[key for key, value in tool.items() if key.startswith("requires_") and value] for tool in tools]
    assert flags == [["requires_db", "requires_x_client"], ["requires_llm"]]


@pytest.mark.checklist(350)
def test_a_tool_is_in_the_profile_of_its_servers_envelope() -> None:
    def get(key: str) -> str:
        """Get."""
        raise fw.NotFound("none", code="not_found")

    @fw.raises("not_found", profiles=["api"])
    def own(key: str) -> str:
        """Get."""
        raise fw.NotFound("none", code="not_found")

    def server(profile: Any, **mode: Any) -> Any:
        made = MCPServer[Any]("social", log_level="ERROR")
        made.add_tool(get)
        made.add_tool(own)
        return failwell.server.install(made, format=Envelope(profile=profile, **mode))

    workflow = server("workflow", mode="composer", approval_mode=True)
    assert [tool.profiles for tool in made(workflow).tools] == [("workflow",), ("api",)]
    sources = [anyio.run(failwell.manifest.of_server, each) for each in (workflow, server("api"))]
    both = failwell.manifest.build(sources)
    assert [tool.profiles for tool in both.tools] == [("api", "workflow"), ("api",)]
    assert both.notes == ()


def test_servers_of_several_profiles_have_one_manifest() -> None:
    one, other = MCPServer[Any]("one", log_level="ERROR"), MCPServer[Any]("other", log_level="ERROR")

    def get(key: str) -> str:
        """Get."""
        raise fw.NotFound("none")

    for server in (one, other):
        server.add_tool(fw.raises("NOT_FOUND", requires=["db"])(get))
    one.add_tool(raises_builtin, name="first")
    other.add_tool(raises_directly, name="second")
    sources = [anyio.run(failwell.manifest.of_server, failwell.server.install(each)) for each in (one, other)]
    whole = failwell.manifest.build(sources, {"second": ["MINE"]})
    assert [tool.name for tool in whole.tools] == ["first", "get", "second"]
    assert whole.notes == ()
    other.remove_tool("get")
    other.add_tool(raises_directly, name="get")
    sources[1] = anyio.run(failwell.manifest.of_server, other)
    assert failwell.manifest.build(sources).notes == ("get: is not the same in each profile",)


@pytest.mark.parametrize(
    ("options", "common"),
    [
        ({}, ["INTERNAL_ERROR", "UNKNOWN_TOOL", "VALIDATION_ERROR"]),
        ({"format": "typed"}, ["INTERNAL", "NOT_FOUND", "VALIDATION"]),
        ({"format": "v1", "wire": {"gate": "json"}}, ["CLIENT_ERROR", "NOT_FOUND", "UNKNOWN_ERROR"]),
        ({"format": Envelope()}, ["internal_error", "unknown_tool", "validation_error"]),
        ({"format": Envelope(strict=True)}, ["not_found", "serialization_error", "validation_error"]),
        ({"format": "jsonrpc"}, ["INTERNAL_ERROR", "UNKNOWN_TOOL", "VALIDATION_ERROR"]),
    ],
    ids=str,
)
def test_common_codes_are_those_that_the_server_sends(options: Any, common: list[str]) -> None:
    server = MCPServer[Any]("shop", log_level="ERROR")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def crash(number: int = 0) -> str:
        """Crash."""
        raise RuntimeError

    failwell.server.install(server, **options)
    assert list(made(server).common_error_codes) == common

    async def sent() -> set[str]:
        async with Client(server) as client:
            calls = [("crash", {}), ("nowhere", {}), ("crash", {"number": "many"})]
            answers = [await client.call_tool(name, arguments) for name, arguments in calls]
        # Without our own part of the answer, in which the codes have their own names, where the format has words of its own.
        plain = options == {}
        return {
            fw.read({**answer.model_dump(by_alias=True), **({} if plain else {"_meta": None})}).code
            for answer in answers
        }

    assert sorted(anyio.run(sent)) == common


@pytest.mark.checklist(214)
def test_equal_servers_have_equal_bytes() -> None:
    first, second = (made(shop(FRAMEWORKS["mcpserver"]())).to_json() for _ in range(2))
    assert first == second
    assert load(first).to_json() == first


@pytest.mark.checklist(216)
def test_a_profile_has_its_tools_alone(server: Any) -> None:
    wire = made(server).profile("api").to_dict()
    assert (wire["version"], wire["profile"], wire["tool_count"]) == ("1.0", "api", 1)
    assert [tool["name"] for tool in wire["tools"]] == ["get"]


def test_what_is_declared_is_listed_and_read_by_others(server: Any) -> None:
    async def listed() -> Any:
        async with Client(getattr(server, "_mcp_server", server)) as client:
            return {tool.name: (tool.meta or {}).get(RAISES_KEY) for tool in (await client.list_tools()).tools}

    said = anyio.run(listed)
    assert said["get"] == {
        "codes": ["NOT_FOUND", "GONE"],
        "category": "lookup",
        "requires": ["db"],
        "profiles": ["api", "workflow"],
    }
    assert said["pay"] is None
    assert said["users"] == {"codes": ["CONFLICT", "NOT_FOUND"], "mutation": True}


@pytest.mark.checklist(215)
def test_a_code_that_was_not_declared_is_noticed(server: Any) -> None:
    async def called(name: str, arguments: dict[str, Any]) -> Any:
        UNDECLARED.clear()
        async with Client(getattr(server, "_mcp_server", server)) as client:
            await client.call_tool(name, arguments)
        [event] = UNDECLARED
        return event.error.code if event.declared is False else None

    assert anyio.run(called, "get", {"key": "k"}) == "BANK_DOWN"
    for name, arguments in (
        ("get", {"key": ""}),
        ("get", {}),
        ("pay", {"invoice": "i"}),
        ("users", {"action": "show", "name": "n"}),
        ("users", {}),
    ):
        assert anyio.run(called, name, arguments) is None


def test_a_low_level_server_says_it_in_its_listing() -> None:
    async def list_tools(ctx: Any, params: Any) -> ListToolsResult:
        meta = {RAISES_KEY: {"codes": ["NOT_FOUND"], "mutation": False, "category": 7, "requires": ["db"]}}
        return ListToolsResult(tools=[Tool(name="get", input_schema={"type": "object"}, _meta=meta)])

    async def call_tool(ctx: Any, params: Any) -> Any:
        raise fw.Conflict("held")

    events: list[Any] = []
    server = failwell.server.install(
        Server("low", on_list_tools=list_tools, on_call_tool=call_tool), hooks=[events.append]
    )
    [entry] = made(server).tools
    assert (entry.category, entry.mutation, entry.requires) == ("read", False, frozenset({"db"}))
    assert entry.possible_error_codes == ("NOT_FOUND",)

    async def called() -> None:
        async with Client(server) as client:
            await client.call_tool("get", {})

    anyio.run(called)
    assert [(event.error.code, event.declared) for event in events] == [("CONFLICT", False)]


def test_a_recorder_writes_down_what_was_seen(tmp_path: Path) -> None:
    path = tmp_path / "seen.jsonl"
    server = FRAMEWORKS["mcpserver"]()

    @server.tool()
    def get(key: str) -> str:
        """Get."""
        return STORE.get(key)

    failwell.server.install(server, hooks=[failwell.manifest.Recorder(path)])

    async def calls() -> None:
        async with Client(server) as client:
            for key in ("", "k", "k"):
                await client.call_tool("get", {"key": key})
            await client.call_tool("got", {})

    anyio.run(calls)
    path.write_text(path.read_text() + "not json\n[]\n{}\n")
    assert failwell.manifest.read_seen(path) == {"(unknown)": ["UNKNOWN_TOOL"], "get": ["BANK_DOWN", "NOT_FOUND"]}


@pytest.mark.checklist(217)
def test_the_65_tools_load_and_pass() -> None:
    text = SIXTY_FIVE.read_text(encoding="utf-8")
    manifest = load(text)
    assert len(manifest.tools) == 65
    assert manifest.flags == ("x_client", "llm", "db")
    schema = json.loads((Path(failwell.manifest.__file__).parent / "manifest.schema.json").read_text())
    jsonschema.validate(json.loads(text), schema)
    ordered = sorted(json.loads(text)["tools"], key=lambda tool: tool["name"])
    assert manifest.to_dict()["tools"] == ordered


def social(**changes: Any) -> failwell.manifest.Manifest:
    tool: dict[str, Any] = {
        "name": "post",
        "category": "write",
        "mutation": True,
        "requires_x_client": True,
        "requires_db": False,
        "requires_llm": False,
        "profiles": ["workflow"],
        "possible_error_codes": ["x_not_configured", "x_rate_limited"],
        **changes,
    }
    return load(json.dumps({"version": "1.0", "tools": [tool]}))


@pytest.mark.checklist(213, 214)
@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, None),
        ({"requires_db": True}, "requires_db without the code db_error"),
        ({"requires_llm": True}, "requires_llm without the code llm_error"),
        ({"possible_error_codes": ["x_rate_limited"]}, "requires_x_client without the code x_not_configured"),
        ({"profiles": []}, "is in no profile"),
        (
            {"profiles": ["api"], "possible_error_codes": ["x_not_configured", "policy_error"]},
            "policy_error can be sent only in the workflow profile",
        ),
        ({"possible_error_codes": ["x_not_configured", "x_gone"]}, "x_gone in no catalogue"),
        ({"requires_x_client": False}, "is a mutation, but needs nothing that could be changed"),
        ({"annotations": {"readOnlyHint": True}}, "is a mutation, but has readOnlyHint"),
        (
            {"mutation": False, "annotations": {"destructiveHint": True}},
            "is no mutation, but has destructiveHint",
        ),
    ],
    ids=str,
)
def test_flags_profiles_and_codes_hold_together(changes: dict[str, Any], problem: str | None) -> None:
    found = problems(social(**changes))
    assert [each for each in found if problem and problem in each] if problem else not found


@pytest.mark.checklist(213)
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"),
        ("[]", "not an object"),
        ('{"version": "1.0"}', "^tools: Required"),
        ('{"version": "2.0", "tools": []}', "^version: "),
        ('{"tools": []}', "^version: Required"),
        ('{"version": "1.0", "tools": [3]}', r"^tools\.0: "),
        ('{"version": "1.0", "tools": [{"name": "a"}]}', r"^tools\.0\.category: Required"),
    ],
    ids=str,
)
def test_what_is_no_manifest_is_refused(text: str, why: str) -> None:
    with pytest.raises(failwell.manifest.NoManifest, match=why):
        load(text)


@pytest.mark.checklist(213)
def test_a_name_used_twice_is_refused() -> None:
    tool = social().to_dict()["tools"][0]
    text = json.dumps({"version": "1.0", "tools": [tool, tool]})
    with pytest.raises(failwell.manifest.NoManifest, match="lists post twice"):
        load(text)


MODULE = """
from mcp.server import MCPServer
import failwell as fw, failwell.server
server = MCPServer("shop", log_level="ERROR")

@server.tool()
@fw.raises("NOT_FOUND"{more})
def get(key: str) -> str:
    "Get."
    raise fw.NotFound("no")

{rest}
failwell.server.install(server)
def make():
    return server
if __name__ == "__main__":
    server.run()
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    monkeypatch.chdir(tmp_path)

    def write(name: str, more: str = "", rest: str = "") -> str:
        (tmp_path / f"{name}.py").write_text(MODULE.format(more=more, rest=rest))
        return name

    return write


@pytest.mark.checklist(211, 212)
def test_check_fails_when_the_tools_change(
    module: Callable[..., str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = str(tmp_path / "tools.json")
    first = module("shop_first")
    assert main(["manifest", f"{first}:server", "--check", file]) == 1
    assert not Path(file).exists()
    assert f"there is no {file}" in capsys.readouterr().err
    assert main(["manifest", f"{first}:server", "--write", file]) == 0
    assert main(["manifest", f"{first}:make", "--check", file]) == 0
    capsys.readouterr()
    second = module("shop_second", ', "GONE"', "@server.tool()\ndef add(n: int) -> int:\n    'Add.'\n    return n\n")
    assert main(["manifest", f"{second}:server", "--check", file]) == 1
    assert capsys.readouterr().out == "+ add: a new tool\n~ get: possible_error_codes +GONE\n"
    Path(file).write_text("{}")
    assert main(["manifest", f"{first}:server", "--check", file]) == 2


@pytest.mark.checklist(351)
def test_check_fails_on_a_code_that_is_not_declared(
    module: Callable[..., str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = str(tmp_path / "tools.json")
    raises = "    raise fw.ToolError('x', code='LOCKED')\n"
    more = f"@server.tool()\n@fw.raises('GONE')\ndef drop() -> None:\n    'Drop.'\n{raises}"
    name = module("shop_undeclared", rest=more)
    assert main(["manifest", f"{name}:server", "--write", file]) == 0
    said = "failwell: drop: LOCKED is in the source, but not declared\n"
    assert capsys.readouterr().err == f"{said}2 tools written to {file}\n"
    assert main(["manifest", f"{name}:server", "--check", file]) == 1
    assert capsys.readouterr() == ("", said)


def test_a_command_and_an_example_are_targets(module: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    name = module("shop_command")
    assert main(["manifest", "--markdown", "--", sys.executable, f"{name}.py"]) == 0
    assert "| `get` | write | yes | nothing | all | `NOT_FOUND` |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name a target"),
        (["a:b", "--", "cmd"], "name a target"),
        (["nothing"], "is no target"),
        (["no_such_module:server"], "there is no module 'no_such_module'"),
        (["failwell:nothing"], "cannot load failwell:nothing: module 'failwell' has no attribute 'nothing'"),
        (["sys:path"], "sys:path is a list; name one MCPServer, low-level mcp Server or FastMCP"),
        (["--timeout", "0", "failwell:nothing"], "argument --timeout: '0' is not a number of seconds above zero"),
        (["--", sys.executable, "-c", "1"], "does not answer as an MCP server"),
        (["http://127.0.0.1:9/mcp"], "does not answer as an MCP server"),
        (["--seen", "/nowhere/seen.jsonl", "failwell:nothing"], "cannot read"),
    ],
    ids=str,
)
def test_bad_targets_are_one_clear_line(arguments: list[str], said: str) -> None:
    done = commands.run("manifest", *arguments)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert len(done.stderr.decode().strip().splitlines()) == 1


def test_a_server_that_never_answers_is_left_in_time_and_ended(tmp_path: Path) -> None:
    mark = str(tmp_path)
    done = commands.run("manifest", "--timeout", "1", "--", sys.executable, "-Sc", "import time; time.sleep(1e6)", mark)
    assert (done.returncode, done.stdout) == (2, b"")
    (line,) = done.stderr.decode().splitlines()
    assert line.endswith(f"{mark} did not answer within 1 seconds; is it an MCP server? --timeout gives it longer")
    assert [each for each in Path("/proc").glob("[0-9]*/cmdline") if mark in _read(each)] == []


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace")
    except OSError:
        # It has ended since it was listed.
        return ""


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "manifest"]) == 0
    jsonschema.Draft202012Validator.check_schema(json.loads(capsys.readouterr().out))
