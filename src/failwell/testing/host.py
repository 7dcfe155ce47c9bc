"""`scripted`: a scripted server for as long as a `with` lasts."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self, get_args

from failwell.packages import bring

from .ledger import Call, Ledger, RecordedEffect
from .script import Script

if TYPE_CHECKING:
    import fastmcp
    import mcp

Transport = Literal["stdio", "http"]
_SHIM: Final = str(Path(__file__).with_name("stdio_shim.py"))
_COMMAND: Final = [sys.executable, "-P", "-m", "failwell.testing.scripted"]
_ERRORS: Final = "stderr.txt"


class ScriptedServer:
    """A real server, in a process of its own, that fails as the script says: `async with scripted(script) as server`.

    `directory` is where the script and what happened are kept; without it they are gone afterwards. A server that finds
    one of an earlier run goes on from there. Over HTTP a server that dies is back at once, or `restart_after` seconds
    later.
    """

    def __init__(
        self,
        script: Script,
        transport: Transport = "stdio",
        *,
        directory: str | Path | None = None,
        restart_after: float = 0.0,
    ) -> None:
        if transport not in get_args(Transport):
            raise ValueError(f"The transport is 'stdio' or 'http', not {transport!r}.")
        self.script = script
        self.transport = transport
        self._given = directory
        self._restart_after = restart_after
        self._held = contextlib.ExitStack()
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    @property
    def calls(self) -> list[Call]:
        """Every call that arrived, in order, each with the fault it met."""
        self._ledger.catch_up()
        return list(self._ledger.calls.values())

    @property
    def effects(self) -> list[RecordedEffect]:
        """Everything that was done, in order."""
        self._ledger.catch_up()
        return list(self._ledger.effects)

    @property
    def target(self) -> Any:
        """What `mcp.Client` takes: the URL, or the command to start."""
        if self.transport == "http":
            return self.url
        from mcp.client.stdio import StdioServerParameters

        command, *arguments = self.command
        return StdioServerParameters(command=command, args=arguments)

    @property
    def url(self) -> str:
        """Where it is, over HTTP."""
        if self.transport != "http":
            raise RuntimeError("A server on stdio has no URL; it has a command.")
        return f"http://127.0.0.1:{self._port}/mcp"

    @property
    def command(self) -> list[str]:
        """What a client of any kind starts, over stdio."""
        if self.transport != "stdio":
            raise RuntimeError("A server on HTTP is not started by its client; it has a URL.")
        # Alone, without the site's packages: this is most of what a fresh server costs.
        return [sys.executable, "-I", "-S", _SHIM, self._socket]

    def mcp(self, **options: Any) -> mcp.Client:
        """A client of the MCP SDK, not yet connected."""
        import mcp

        return mcp.Client(self.target, **options)

    def fastmcp(self, **options: Any) -> fastmcp.Client[Any]:
        """A client of FastMCP, not yet connected."""
        import fastmcp
        from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

        if self.transport == "http":
            return fastmcp.Client(StreamableHttpTransport(self.url), **options)
        command, *arguments = self.command
        # A process that is kept would outlive the client, and meet the next one in the middle of a script.
        return fastmcp.Client(StdioTransport(command, arguments, keep_alive=False), **options)

    def start(self) -> None:
        """Start it, on the port it had. It goes on where it was."""
        if self._process is not None:
            raise RuntimeError("The server is running.")
        if not hasattr(os, "fork"):
            raise RuntimeError("A scripted server needs a system that can fork: Linux, macOS or WSL.")
        bring("mcp_types", "a scripted server", "testing")
        if self.transport == "stdio":
            Path(self._socket).unlink(missing_ok=True)
            where = ["--socket", self._socket]
        else:
            where = ["--http", str(self._port), "--restart-after", str(self._restart_after)]
        with (self.directory / _ERRORS).open("ab") as errors:
            process = subprocess.Popen(
                [*_COMMAND, str(self.directory), "--attached", *where],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        self._process = process
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            self.kill()
            raise RuntimeError(f"The scripted server did not start: {self.errors()[-2_000:].strip()}")
        if self.transport == "http":
            self._port = int(json.loads(line)["url"].rpartition(":")[2].partition("/")[0])

    def kill(self) -> None:
        """End it at once, with every process that serves, and leave it ended."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with process:
            # It ends when the last process that holds it has ended, and with it the port and the ledger are free.
            assert process.stdout is not None
            process.stdout.read()

    def restart(self) -> None:
        """End it at once and start it again."""
        self.kill()
        self.start()

    def errors(self) -> str:
        """What it complained about."""
        return (self.directory / _ERRORS).read_text(encoding="utf-8", errors="replace")

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as held:
            temporary = tempfile.TemporaryDirectory
            self.directory = Path(self._given or held.enter_context(temporary(prefix="failwell-")))
            self.directory.mkdir(parents=True, exist_ok=True)
            # In a folder of its own: the path of a socket must be short.
            self._socket = str(Path(held.enter_context(temporary(prefix="failwell-"))) / "socket")
            self.script.save(self.directory)
            self._ledger = held.enter_context(Ledger(self.directory, self.script))
            held.callback(self.kill)
            self.start()
            self._held = held.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        # What happened can still be read afterwards.
        self._ledger.catch_up()
        self._held.close()

    async def __aenter__(self) -> Self:
        from anyio import to_thread

        return await to_thread.run_sync(self.__enter__)

    async def __aexit__(self, *_: object) -> None:
        self.__exit__()


scripted = ScriptedServer
