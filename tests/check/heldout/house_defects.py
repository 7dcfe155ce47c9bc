"""Defects of servers on MCPServer and on FastMCP: `python house_defects.py NAME --bad|--good`."""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Annotated, Any

import mcp_types as types
from fastmcp import FastMCP
from fastmcp.exceptions import ToolError as FastError
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

NAME, BAD = sys.argv[1], sys.argv[2] == "--bad"
READS = types.ToolAnnotations(read_only_hint=True)
SENSORS = {"soil-1": 21.5, "air-2": 19.0}
STAFF = {104: "Ada Byron", 233: "Alan Turing"}
PAGE = "<html>\n<head><title>502 Bad Gateway</title></head>\n<body><center><h1>502 Bad Gateway</h1></center><hr><center>nginx</center></body>\n</html>"

Sensor = Annotated[str, Field(description="The name of a sensor, such as soil-1.", examples=["soil-1"])]


class Reading(BaseModel):
    """What a sensor says."""

    degrees: float


def greenhouse() -> MCPServer:
    """Sensors, on the SDK's own server."""
    server = MCPServer("greenhouse", log_level="CRITICAL")

    def gone(sensor: str) -> str:
        where = "show_all_sensors" if NAME == "ghost-run" and BAD else "list_sensors"
        return f"There's no sensor called {sensor[:30]!r}. Run {where} and take a name from there."

    def failed(sensor: str, structured: dict[str, Any] | None = None) -> types.CallToolResult:
        text = types.TextContent(type="text", text=gone(sensor))
        return types.CallToolResult(content=[text], is_error=True, structured_content=structured)

    @server.tool(annotations=READS)
    def list_sensors() -> str:
        return ", ".join(SENSORS)

    def reading(sensor: str) -> Any:
        if sensor in SENSORS:
            return types.CallToolResult(
                content=[types.TextContent(type="text", text=f"{SENSORS[sensor]} degrees")],
                structured_content={"degrees": SENSORS[sensor]},
            )
        match NAME, BAD:
            case "key-error", True:
                raise KeyError(sensor)
            case "none-type", True:
                raise ToolError(f"'NoneType' object is not subscriptable. {gone(sensor)}")
            case "says-ok", True:
                return failed(sensor, {"ok": True, "degrees": None})
            case "wrong-kind-of", _:
                return failed(
                    sensor, {"error": {"code": "RATE_LIMITED" if BAD else "SENSOR_NOT_FOUND", "message": gone(sensor)}}
                )
            case "wait-for-it", _:
                more = {"retry_after_ms": 2000} if BAD else {}
                return failed(sensor, {"error": {"code": "SENSOR_NOT_FOUND", "message": gone(sensor), **more}})
            case "breaks-schema", True:
                return failed(sensor, {"error": gone(sensor)})
            case "class-name", True:
                raise ToolError("SensorLookupException")
        raise ToolError(gone(sensor))

    if NAME == "breaks-schema":

        @server.tool(annotations=READS)
        def read_sensor(sensor: Sensor) -> Annotated[types.CallToolResult, Reading]:
            return reading(sensor)
    else:

        @server.tool(annotations=READS, structured_output=False)
        def read_sensor(sensor: Sensor) -> Any:
            return reading(sensor)

    return server


def payroll() -> FastMCP:
    """Payslips, on FastMCP."""
    server = FastMCP("payroll")

    def nobody(employee: int) -> str:
        where = "staff.directory" if NAME == "ghost-see" and BAD else "list_employees"
        return f"Employee {employee} isn't on the payroll; see {where} for valid numbers."

    @server.tool(annotations=READS)
    def list_employees() -> str:
        return "\n".join(f"{number} {name}" for number, name in STAFF.items())

    @server.tool(annotations=READS, output_schema=None)
    def payslip(employee: Annotated[int, Field(ge=100, le=9999, examples=[104])]) -> Any:
        if employee in STAFF:
            return "3,200.00"
        if NAME == "rights-again":
            then = "Send the same request again" if BAD else "Ask an administrator for the role, or take another number"
            raise FastError(f"You are not allowed to see the payslip of {employee} (FORBIDDEN). {then}.")
        if BAD:
            match NAME:
                case "csv-path":
                    Path(f"/srv/payroll/exports/{employee}.csv").read_text()
                case "dsn":
                    raise FastError(
                        f"mysql://payroll:Wint3r-Falcon@10.2.3.4/pay has no row {employee}. {nobody(employee)}"
                    )
                case "api-key":
                    raise FastError(
                        f"GET /staff/{employee} (X-Api-Key: 4f9c0e7712d94b1a8be0c53d6a7f20e1) said 404. {nobody(employee)}"
                    )
                case "nginx":
                    raise FastError(PAGE)
                case "error-dict":
                    return {"status": "error", "message": nobody(employee)}
                case "none":
                    return None
        raise FastError(nobody(employee))

    @server.tool(annotations=READS)
    def find_employee(name: Annotated[str, Field(examples=["Ada Byron"])]) -> str:
        found = [number for number, known in STAFF.items() if name and name.lower() in known.lower()]
        if found:
            return str(found)
        shown = name if NAME == "raw-name" and BAD else json.dumps(name[:30])
        raise FastError(f"Nobody here is called {shown}. Ask the user how the name is spelt.")

    return server


def meters() -> FastMCP:
    """Meters, which are read at a service."""
    server = FastMCP("meters")

    class Down(Exception):
        status = 0
        wait: str | None = None
        body = ""

    def ask(path: str, body: bytes | None = None) -> Any:
        try:
            with urllib.request.urlopen(f"{os.environ['METERS_URL']}{path}", body, timeout=4) as answer:
                text, kind = answer.read().decode(errors="replace"), answer.headers.get("Content-Type", "")
        except urllib.error.HTTPError as no:
            down = Down()
            down.status, down.wait, down.body = no.code, no.headers.get("Retry-After"), no.read().decode()
            raise down from None
        except OSError:
            raise Down from None
        if NAME == "login-page" and BAD:
            return text
        try:
            return json.loads(text) if "html" not in kind else bool({}["page"])
        except (ValueError, KeyError):
            raise Down from None

    @server.tool(annotations=READS)
    def read_meter(meter: Annotated[str, Field(examples=["m1"])]) -> str:
        try:
            return str(ask(f"/meters/{urllib.request.quote(meter[:20])}"))
        except Down as down:
            if down.status in (429, 503):
                if NAME == "hopeless-503" and BAD:
                    raise FastError(
                        "The meters cannot be read and will not come back. Tell the user to read the dial."
                    ) from None
                wait = "" if NAME == "no-seconds" and BAD else f" {down.wait or 30} seconds"
                raise FastError(
                    f"The meter service is overloaded. Wait{wait or ' a little'}, then read it again."
                ) from None
            if down.status == 404:
                if NAME == "busy-404" and BAD:
                    raise FastError("The meter service is busy at the moment, retry shortly.") from None
                raise FastError("No such meter. Ask the user for the number on the dial.") from None
            if down.status in (401, 403):
                raise FastError("The service does not let us read this meter. Ask the user to grant access.") from None
            if down.status in (409, 422):
                raise FastError("The service refused that meter number. Ask the user for another.") from None
            if NAME == "body-as-reading" and BAD and down.body:
                return down.body
            raise FastError("The meter service has a problem at the moment. Read it again in a minute.") from None

    @server.tool
    def top_up(meter: Annotated[str, Field(examples=["m1"])], euros: Annotated[int, Field(ge=1, le=500)]) -> str:
        try:
            return f"Topped up: {ask(f'/topups/{urllib.request.quote(meter[:20])}', str(euros).encode())}"
        except Down as down:
            if down.status in (401, 403, 404, 409, 422, 429):
                raise FastError(
                    f"The top-up was turned down ({down.status}), no money was taken. Ask the user what to do."
                ) from None
            if NAME == "pay-again" and BAD:
                raise FastError("The payment service hiccuped. Please resubmit the top-up.") from None
            if NAME == "no-word-of-effect" and BAD:
                raise FastError("The payment service reported an error. Let the user know.") from None
            raise FastError(
                "We lost the payment service and cannot tell if the money was taken. Use read_meter to see the credit first."
            ) from None

    return server


HOUSES = {
    greenhouse: (
        "key-error",
        "none-type",
        "says-ok",
        "wrong-kind-of",
        "breaks-schema",
        "class-name",
        "ghost-run",
        "wait-for-it",
    ),
    payroll: ("csv-path", "dsn", "api-key", "nginx", "error-dict", "none", "raw-name", "ghost-see", "rights-again"),
    meters: (
        "no-seconds",
        "login-page",
        "hopeless-503",
        "no-word-of-effect",
        "pay-again",
        "busy-404",
        "body-as-reading",
    ),
}

if __name__ == "__main__":
    house = next(made for made, names in HOUSES.items() if NAME in names)
    if house is greenhouse:
        greenhouse().run()
    else:
        house().run(show_banner=False, log_level="CRITICAL")
