"""Tools with effects that can be counted, served by each framework over each transport: `app.py` with other tools.

python keyed_app.py {mcpserver|lowlevel|fastmcp} {stdio|http PORT} --options JSON
python keyed_app.py nursery PATH

Of the options, `idempotency` may be the path of a file, `envelope` asks for one, and `auth` for bearer tokens, of which
every text is one that names its user. Each tool writes a line into the file `book`, which outlives the server.
"""

import asyncio
import json
import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

import app
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel

import failwell as fw
import failwell.server
from failwell.idempotency import KeysOnDisk
from failwell.server import Envelope, Group, rate

AUTH = AuthSettings(
    issuer_url="https://auth.example.com", resource_server_url="http://127.0.0.1/mcp", validate_token_resource=False
)


class Receipt(BaseModel):
    number: str
    note: str | None = None


def write(book: str) -> str:
    """One effect, and a name that no second one would have."""
    number = os.urandom(8).hex()
    with open(book, "a", encoding="utf-8") as file:
        print(number, file=file)
    return number


def pay(book: str, amount: int = 1):
    return f"Paid {amount}, {write(book)}."


def pay_typed(book: str) -> Receipt:
    return Receipt(number=write(book))


def look(book: str):
    return write(book)


@rate(1, seconds=30, clock=lambda: 1000.0)
def rare(book: str):
    return write(book)


async def slow(book: str):
    number = write(book)
    while not Path(f"{book}.go").exists():
        await asyncio.sleep(0.005)
    return number


def die(book: str):
    write(book)
    os.kill(os.getpid(), signal.SIGKILL)


def ask(book: str, city: str = ""):
    if not city:
        raise fw.NeedsInput("Where to?", fields=["city"])
    return f"{city}, {write(book)}"


FAILURES: dict[str, Any] = {
    "none": lambda: fw.NotFound("There is no such account."),
    "unknown": lambda: fw.Transient("The bank did not answer.", code="TIMEOUT", effect="unknown"),
    "unsaid": lambda: fw.Transient("The bank did not answer.", code="TIMEOUT"),
    "partial": lambda: fw.ToolError("Half of it is paid.", code="PARTIAL_FAILURE"),
    "done": lambda: fw.Internal("Paid, but there is no receipt.", effect="done"),
    "crash": lambda: RuntimeError(app.SECRET),
    "protocol": lambda: fw.Internal("The vault is open.", code="VAULT", details={"door": 1}),
    "page": lambda: MCPError(-32021, "Sign in first", {"requiredCapabilities": {}}),
}


def fail(book: str, how: str):
    number = write(book)
    if how == "own":
        return CallToolResult(content=[TextContent(type="text", text=number)], is_error=True)
    if how == "own_none":
        return CallToolResult.model_validate(fw.to_result(fw.Denied("You may not.")))
    raise FAILURES[how]()


TOOLS = (pay, pay_typed, look, rare, slow, die, ask, fail)


def ledger(framework: str, server: Any) -> Any:
    if framework == "lowlevel":
        return server
    group = Group("ledger", description="Keep a ledger.")
    group.action("add", description="Add a line.")(pay)
    group.action("look", description="Look.", annotations=ToolAnnotations(read_only_hint=True))(look)
    group.add_to(server)
    return server


class Verifier:
    async def verify_token(self, token: str) -> AccessToken:
        return AccessToken(token=token, client_id="agent", scopes=[], subject=token.partition("-")[0])


def authorised(framework: str) -> Any:
    server = MAKERS[framework]()
    if framework == "mcpserver":
        server.settings.auth, server._token_verifier = AUTH, Verifier()
    elif framework == "lowlevel":
        server.streamable_http_app = partial(server.streamable_http_app, auth=AUTH, token_verifier=Verifier())
    else:
        from fastmcp.server.auth import TokenVerifier
        from fastmcp.server.auth.auth import AccessToken as FastMCPToken

        class Tokens(TokenVerifier):
            async def verify_token(self, token: str) -> Any:
                return FastMCPToken(**(await Verifier().verify_token(token)).model_dump(exclude_none=True))

        server.auth = Tokens()
    return server


MAKERS = dict(app.SERVERS)


def serve(arguments: list[str]) -> None:
    app.TOOLS.clear()
    for fn in TOOLS:
        read_only = ToolAnnotations(read_only_hint=True) if fn is look else None
        fn.__doc__ = fn.__doc__ or f"The tool {fn.__name__}."
        app.TOOLS[fn.__name__] = app.Tool(fn, annotations=read_only)
    place = arguments.index("--options") + 1
    options = json.loads(arguments[place])
    make = authorised if options.pop("auth", False) else lambda framework: MAKERS[framework]()
    app.SERVERS.update({name: lambda name=name: ledger(name, make(name)) for name in MAKERS})
    install = failwell.server.install

    def installed(server: Any, **given: Any) -> Any:
        if isinstance(given.get("idempotency"), str):
            given["idempotency"] = KeysOnDisk(given["idempotency"])
        if given.pop("envelope", False):
            given["format"] = Envelope(profile="api")
        return install(server, **given)

    failwell.server.install = installed
    app_serve([*arguments[:place], json.dumps(options), *arguments[place + 1 :]])


app_serve = app.serve


if __name__ == "__main__":
    app.serve = serve
    if sys.argv[1] == "nursery":
        app.nurse(sys.argv[2])
    else:
        serve(sys.argv[1:])
