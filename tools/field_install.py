"""`install` from outside on published servers of the older SDKs: each starts, fails structured, and works as before.

    python tools/field_install.py [NAME ...] [--write]

Each server is installed into .field with Failwell's extra beside it, and must keep its version of the SDK. It is run
twice, as it is and with one line added, and asked the same: a misspelt tool, each tool without what it needs and with a
wrong type, and calls that work and that fail while the tool runs. An answer that is no error must be the same to the
byte; an error must carry what Failwell says of it. `--write` puts the table into docs/reach.md.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/server")]

from wire import LEGACY, Answer, NoAnswer, Process, Stdio  # noqa: E402

from failwell.formats import META_KEY  # noqa: E402
from field_servers import FOLDER, NotInstalled, Server, _git_repository, _install, _run  # noqa: E402

LAUNCH: Final = Path(__file__).with_name("field_launch.py")
PAGE: Final = ROOT / "docs/reach.md"
MARK: Final = "<!-- made by tools/field_install.py -->"
# Nothing is reached from here, and that is to be known at once.
_CLOSED: Final = "http://127.0.0.1:9"
_OFFLINE: Final = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), _CLOSED)
_LOW: Final = "new mcp.server.lowlevel.server:Server"
_FAST: Final = "new fastmcp:FastMCP"
_MOST_TOOLS: Final = 8


@dataclass(frozen=True)
class Trial:
    """A server, the place for the line, and calls that its tools take."""

    server: Server
    where: str
    entry: str
    framework: str
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    env: dict[str, str] = field(default_factory=dict)

    @property
    def extra(self) -> str:
        return "fastmcp" if any(need.startswith("fastmcp") for need in self.server.needs) else "mcp"


_V1: Final = ("mcp==1.30.0", "pydantic==2.14.3")
_F2: Final = ("fastmcp==2.14.7", *_V1)
_F3: Final = ("fastmcp==3.4.10", *_V1)


def _server(name: str, package: str, pins: tuple[str, ...], *arguments: str, **more: Any) -> Server:
    return Server(f"install-{name}", (package, *pins), name, arguments=arguments, **more)


def _paper(here: Path) -> None:
    (here / "tea.md").write_text("# Tea\n\nGreen.\n", encoding="utf-8")


TRIALS: Final = (
    Trial(
        _server("sqlite", "mcp-server-sqlite==2025.4.25", _V1, "--db-path", "{here}/t.db"),
        _LOW,
        "mcp_server_sqlite:main",
        "mcp 1.30 Server",
        (
            ("create_table", {"query": "CREATE TABLE tea (kind TEXT)"}),
            ("list_tables", {}),
            ("read_query", {"query": "SELECT 1 AS one"}),
            ("read_query", {"query": "SELEC 1"}),
        ),
    ),
    Trial(
        _server("shell", "mcp-shell-server==1.1.14", _V1),
        "mcp_shell_server.server:app",
        "mcp_shell_server:main",
        "mcp 1.30 Server",
        (
            ("shell_execute", {"command": ["rm", "x"], "directory": "{here}"}),
            ("shell_execute", {"command": ["ls"], "directory": "{here}/nowhere"}),
        ),
        {"ALLOW_COMMANDS": "ls,cat"},
    ),
    Trial(
        _server("calculator", "mcp-server-calculator==0.2.1", _V1),
        "mcp_server_calculator.calculator:mcp",
        "mcp_server_calculator:main",
        "mcp 1.30 FastMCP",
        (("calculate", {"expression": "6*7"}), ("calculate", {"expression": "1/0"})),
    ),
    Trial(
        _server("redis", "redis-mcp-server==0.5.1", _V1, "--url", "redis://127.0.0.1:9/0"),
        "src.common.server:mcp",
        "src.main:cli",
        "mcp 1.30 FastMCP",
        (("get", {"key": "tea"}),),
    ),
    Trial(
        _server("arxiv", "arxiv-mcp-server==0.8.2", _V1, "--storage-path", "{here}"),
        "arxiv_mcp_server.server:server",
        "arxiv_mcp_server:main",
        "mcp 1.30 Server",
        (("list_papers", {}), ("read_paper", {"paper_id": "2401.00001"})),
    ),
    Trial(
        _server("time", "mcp-server-time==2026.10.10", _V1, "--local-timezone", "UTC"),
        _LOW,
        "mcp_server_time:main",
        "mcp 1.30 Server",
        (
            ("convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Europe/Oslo"}),
            ("convert_time", {"source_timezone": "Mars/Base", "time": "12:00", "target_timezone": "UTC"}),
            ("convert_time", {"source_timezone": "UTC", "time": "25:99", "target_timezone": "UTC"}),
        ),
    ),
    Trial(
        _server("git", "mcp-server-git==2026.10.10", _V1, "--repository", "{here}", prepare=_git_repository),
        _LOW,
        "mcp_server_git:main",
        "mcp 1.30 Server",
        (
            ("git_status", {"repo_path": "{here}"}),
            ("git_status", {"repo_path": "/nowhere"}),
            ("git_checkout", {"repo_path": "{here}", "branch_name": "nobody"}),
        ),
    ),
    Trial(
        _server("fetch", "mcp-server-fetch==2026.10.10", _V1, "--ignore-robots-txt"),
        _LOW,
        "mcp_server_fetch:main",
        "mcp 1.30 Server",
        (("fetch", {"url": "http://example.invalid/"}),),
    ),
    Trial(
        _server("duckduckgo", "duckduckgo-mcp-server==0.6.1", _V1),
        "duckduckgo_mcp_server.server:mcp",
        "duckduckgo_mcp_server.server:main",
        "mcp 1.30 FastMCP",
    ),
    Trial(
        _server("weather", "mcp_weather_server==0.6.1", _V1),
        "mcp_weather_server.server:app",
        "mcp_weather_server:main",
        "mcp 1.30 Server",
        (("get_timezone_info", {"timezone_name": "Mars/Base"}),),
    ),
    Trial(
        _server("aws-docs", "awslabs.aws-documentation-mcp-server==1.1.30", _V1),
        "awslabs.aws_documentation_mcp_server.server_aws:mcp",
        "awslabs.aws_documentation_mcp_server.server:main",
        "mcp 1.30 FastMCP",
        (("read_documentation", {"url": "https://example.com/no-docs"}),),
    ),
    Trial(
        _server("text-editor", "mcp-text-editor==1.0.2", _V1, prepare=_paper),
        "mcp_text_editor.server:app",
        "mcp_text_editor:run",
        "mcp 1.30 Server",
        (
            ("get_text_file_contents", {"files": [{"file_path": "{here}/tea.md", "ranges": [{"start": 1}]}]}),
            ("get_text_file_contents", {"files": [{"file_path": "{here}/none.md", "ranges": [{"start": 1}]}]}),
        ),
    ),
    Trial(
        _server("pandoc", "mcp-pandoc==0.8.2", _V1),
        "mcp_pandoc.server:server",
        "mcp_pandoc:main",
        "mcp 1.30 Server",
        (("convert-contents", {"input_file": "{here}/none.md", "output_format": "html"}),),
    ),
    Trial(
        _server("powerpoint", "office-powerpoint-mcp-server==2.0.7", _V1),
        "ppt_mcp_server:app",
        "ppt_mcp_server:main",
        "mcp 1.30 FastMCP",
        (("open_presentation", {"file_path": "{here}/none.pptx"}),),
    ),
    Trial(
        _server("excel", "excel-mcp-server==0.1.8", _F2, "stdio"),
        "excel_mcp.server:mcp",
        "excel_mcp.__main__:app",
        "FastMCP 2.14",
        (
            ("create_workbook", {"filepath": "{here}/a.xlsx"}),
            ("get_workbook_metadata", {"filepath": "{here}/none.xlsx"}),
        ),
    ),
    Trial(
        _server("word", "office-word-mcp-server==1.1.11", _F2),
        "word_document_server.main:mcp",
        "word_document_server.main:run_server",
        "FastMCP 2.14",
        (("get_document_text", {"filename": "{here}/none.docx"}),),
    ),
    Trial(
        _server("atlassian", "mcp-atlassian==0.23.1", _F3),
        "mcp_atlassian.servers.main:main_mcp",
        "mcp_atlassian:main",
        "FastMCP 3.4",
        (("jira_get_issue", {"issue_key": "TEA-1"}),),
        {
            "JIRA_URL": _CLOSED,
            "JIRA_PERSONAL_TOKEN": "x",
            "CONFLUENCE_URL": _CLOSED,
            "CONFLUENCE_PERSONAL_TOKEN": "x",
        },
    ),
    Trial(
        _server("motherduck", "mcp-server-motherduck==1.0.8", _F3, "--db-path", ":memory:", "--read-write"),
        _FAST,
        "mcp_server_motherduck:main",
        "FastMCP 3.4",
        (("execute_query", {"sql": "SELECT 42"}), ("execute_query", {"sql": "SELEC 42"})),
    ),
    Trial(
        _server("wikipedia", "wikipedia-mcp==2.0.1", _F3),
        _FAST,
        "wikipedia_mcp.__main__:main",
        "FastMCP 3.4",
    ),
    Trial(
        _server("timeserver", "mcp-simple-timeserver==3.3.2", _F3),
        "mcp_simple_timeserver.server:app",
        "mcp_simple_timeserver:main",
        "FastMCP 3.4",
        (("calculate_time_distance", {"from_date": "nonsense", "to_date": "2026-01-01"}),),
    ),
)


class Started(Process):
    """A published server, with the line or without."""

    def __init__(self, trial: Trial, where: str, here: Path, errors: Path) -> None:
        self.errors = errors
        python = str(FOLDER / trial.server.name / "bin/python")
        arguments = [argument.format(here=here) for argument in trial.server.arguments]
        # Some list what they keep in sets, which would come in another order each time.
        env = {**trial.server.environment(here), **_OFFLINE, "PYTHONHASHSEED": "0", **trial.env}
        with errors.open("wb") as file:
            self._child = subprocess.Popen(
                [python, str(LAUNCH), where, trial.entry, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                cwd=here,
                env=env,
            )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self.reader, self.writer = self._child.stdout, self._child.stdin

    def end(self) -> None:
        if not self.writer.closed:
            self.writer.close()
        try:
            self._child.wait(2)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


class Told(Stdio):
    """Asks as ever, and passes over what a server prints that is no message."""

    def _read(self) -> None:
        for line in self.process.reader:
            if line.lstrip().startswith(b"{"):
                self._lines.put(line)
        self._lines.put(None)


@dataclass
class Outcome:
    """What became of one trial."""

    trial: Trial
    same: int = 0
    structured: int = 0
    own: int = 0
    """Errors that the tool wrote itself, as a result, which pass as they are, but for secrets."""
    problems: list[str] = field(default_factory=list)


def prepare(trial: Trial) -> None:
    """Install the server, and Failwell's extra beside it, which must not move what the server was made for."""
    home = FOLDER / trial.server.name
    fresh = not (home / ".ready").exists()
    _install(trial.server, home)
    if fresh or not (home / ".failwell").exists():
        uv = shutil.which("uv") or str(ROOT / ".uv/bin/uv")
        python = str(home / "bin/python")
        _run(uv, "pip", "install", "--quiet", "--python", python, "--editable", f"{ROOT}[{trial.extra}]")
        for need in trial.server.needs[1:]:
            name, _, version = need.partition("==")
            code = f"import importlib.metadata as m; print(m.version({name!r}))"
            found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
            if found != version:
                raise NotInstalled(f"failwell[{trial.extra}] moved {name} from {version} to {found}")
        (home / ".failwell").touch()


def probes(tools: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Calls that no tool takes: a misspelt one, and each without what it needs and with what it cannot be."""
    first = tools[0]["name"]
    found: list[tuple[str, dict[str, Any]]] = [(f"{first[:-1]}", {})] if len(first) > 3 else []
    for tool in tools[:_MOST_TOOLS]:
        schema = tool["inputSchema"]
        needed = schema.get("required") or []
        if not needed:
            continue
        found.append((tool["name"], {}))
        found.append((tool["name"], {name: {"not": ["this"]} for name in needed}))
    return found


def answers(trial: Trial, where: str, folder: Path) -> list[tuple[str, Answer]]:
    here = folder / "work"
    here.mkdir(parents=True)
    (folder / "home").mkdir()
    trial.server.prepare(here)
    process = Started(trial, where, here, folder / "errors.log")
    client = Told(process, LEGACY)
    try:
        client.open()
        listed = client.ask("tools/list", {}, id="tools")
        tools = listed.value["result"]["tools"]
        told = [("tools/list", listed)]
        calls = [*probes(tools), *((name, _placed(given, here)) for name, given in trial.calls)]
        for number, (name, given) in enumerate(calls):
            params = {"name": name, "arguments": given}
            shown = f"{name} {json.dumps(given)}".replace(str(folder), "")
            told.append((shown, client.ask("tools/call", params, id=f"call {number}", patience=60)))
        return told
    finally:
        client.close()


def _placed(given: Any, here: Path) -> Any:
    return json.loads(json.dumps(given).replace("{here}", str(here)))


def is_error(answer: Answer) -> bool:
    return "error" in answer.value or answer.value.get("result", {}).get("isError") is True


def is_structured(answer: Answer) -> bool:
    data = answer.value.get("error", {}).get("data") or {}
    about = (answer.value.get("result", {}).get("_meta") or {}).get(META_KEY) or data.get(META_KEY)
    return (isinstance(about, dict) and "message" in about) or "mcp_error_code" in data


def run(trial: Trial) -> Outcome:
    outcome = Outcome(trial)
    try:
        prepare(trial)
        with tempfile.TemporaryDirectory(prefix="field-", ignore_cleanup_errors=True) as name:
            # The same path both times, since servers quote it.
            folder = Path(name).resolve() / "trial"
            bare = answers(trial, "-", folder)
            shutil.rmtree(folder)
            ours = answers(trial, trial.where, folder)
    except (NotInstalled, NoAnswer, KeyError) as exc:
        outcome.problems.append(f"{type(exc).__name__}: {str(exc)[-1_500:]}")
        return outcome
    for (call, before), (_, after) in zip(bare, ours, strict=True):
        if not is_error(before):
            if before.raw == after.raw:
                outcome.same += 1
            else:
                outcome.problems.append(f"{call}: a success differs\n    {before.raw[:600]}\n    {after.raw[:600]}")
        elif is_structured(after):
            outcome.structured += 1
        elif before.raw == after.raw and "result" in after.value:
            outcome.own += 1
        else:
            outcome.problems.append(f"{call}: not structured\n    {before.raw[:600]}\n    {after.raw[:600]}")
    return outcome


def table(outcomes: list[Outcome]) -> str:
    heads = ("server", "on", "failures that leave structured", "successes, the same to the byte")
    lines = [
        f"| {' | '.join(heads)} | errors of the tool's own, as they are but for secrets |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {each.trial.server.package} | {each.trial.framework} | {each.structured} | {each.same} | {each.own} |"
        for each in outcomes
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true", help="put the table into docs/reach.md")
    chosen = parser.parse_args()
    trials = [each for each in TRIALS if not chosen.names or each.server.command in chosen.names]
    outcomes = []
    with ThreadPoolExecutor(2) as workers:
        for outcome in workers.map(run, trials):
            outcomes.append(outcome)
            told = f"{outcome.structured} structured, {outcome.same} the same, {outcome.own} of the tool's own"
            print(f"{outcome.trial.server.package} ({outcome.trial.framework}): {told}", flush=True)
            for problem in outcome.problems:
                print(f"  {problem}", flush=True)
    if chosen.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(f"{MARK}\n")
        after = rest.partition(f"{MARK}\n")[2]
        PAGE.write_text(f"{before}{MARK}\n\n{table(outcomes)}\n\n{MARK}\n{after}", encoding="utf-8")
    return min(1, sum(len(each.problems) for each in outcomes))


if __name__ == "__main__":
    sys.exit(main())
