"""Tools that ask, reply in formats, stand under rules and are watched; and the options with them that are no JSON."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal

from mcp_types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ImageContent,
    InputRequiredResult,
    TextContent,
)
from pydantic import BaseModel

import failwell as fw
from failwell.server import Envelope, Rule, deprecated, limit, rate, reply, stats
from failwell.server.served_call import current

SECRET: Final = "hunter2secret"
# Nothing that a mask would know, so that only what never left can be missing.
PRIVATE: Final = "Ann Lee of 12 Elm Street"
Gate = Literal["markdown", "json", "both"]
RUNS: Final[Counter[str]] = Counter()
TOOLS: Final[list[Callable[..., Any]]] = []


class Weather(BaseModel):
    city: str
    degrees: int


class Pattern(BaseModel):
    id: str


def tool(fn: Callable[..., Any]) -> Callable[..., Any]:
    fn.__doc__ = fn.__doc__ or f"The tool {fn.__name__}."
    TOOLS.append(fn)
    return fn


@tool
def echo(text: str):
    return text


@tool
def runs():
    """How often each tool ran, and how often it was called."""
    return json.dumps(RUNS, sort_keys=True)


@tool
def find_book(isbn: str = "1"):
    raise fw.NotFound(
        f"There is no book {isbn}.", suggestion="Call list_books first.", actions=["list_books"], details={"shelf": 3}
    )


@tool
def forecast(city: str = "Oslo") -> Weather:
    if city == "Oslo":
        return Weather(city=city, degrees=7)
    raise fw.NotFound(f"There is no city {city}.", suggestion="Try Oslo.")


@tool
def crash():
    raise RuntimeError(f"{PRIVATE} at postgres://app:{SECRET}@db.internal:5432/prod")


@tool
def reads_device(device: str = "d_1"):
    raise fw.ToolError(
        f"The device {device} said: login admin password={SECRET} refused",
        code="DEVICE_ERROR",
        kind="internal",
        details={"password": SECRET, "line": 7},
        suggestion=f"Check the token={SECRET}.",
    )


@tool
def outdated():
    raise fw.ToolError("The report is from yesterday.", code="STALE", kind="transient", severity="warning")


V1: Final = {
    "network": fw.ToolError("Network error: Request timeout", code="NETWORK_ERROR"),
    "auth": fw.ToolError(
        "Authentication required: Missing or invalid API key", code="AUTHENTICATION_ERROR", http_status=401
    ),
    "server": fw.ToolError("Internal server error: Database connection failed", code="SERVER_ERROR", http_status=500),
    "client": fw.ToolError("Invalid request: limit must be between 1 and 100", code="CLIENT_ERROR", http_status=400),
    "notfound": fw.ToolError("Resource not found: /api/patterns/invalid-resource", code="NOT_FOUND", http_status=404),
    "unknown": fw.ToolError("Unknown error occurred", code="UNKNOWN_ERROR"),
}
FOUND: Final = {"kind": "patternSearchResults:v1", "count": 1, "patterns": [{"id": "retry", "title": "Retry"}]}
WHICH: Final = fw.NeedsInput(
    'Pattern "rety" not found.',
    fields=["id"],
    reason="Pattern not found",
    suggestions={"id": ["retry", "stream"]},
    options=[
        {"label": "Retry with backoff", "value": "retry", "field": "id"},
        {"label": "Streams", "value": "stream", "field": "id"},
    ],
)


def _search(query: str) -> Any:
    if query in V1:
        raise V1[query].replace()
    return reply(FOUND, markdown="# 1 pattern\n\n- **retry**: Retry")


@tool
def search_patterns(query: str, format: Gate = "markdown"):
    return _search(query)


@tool
def review_code(query: str):
    return _search(query)


@tool
def list_rules(format: Gate = "markdown"):
    """Says nothing for people."""
    return reply({"rules": ["no-any", "no-sleep"], "count": 2})


@tool
def get_pattern(id: str, format: Gate = "markdown"):
    RUNS["get_pattern"] += 1
    if id in ("retry", "stream"):
        return reply({"kind": "patternDetails:v1", "id": id}, markdown=f"# {id}")
    raise WHICH


@tool
def get_pattern_plainly(id: str):
    raise WHICH


@tool
def get_pattern_typed(id: str, format: Gate = "markdown") -> Pattern:
    raise WHICH


NOW: Final[dict[str, Any]] = {"mode": "composer", "approval_mode": True}


@tool
def switch(mode: str, approval_mode: bool):
    NOW.update(mode=mode, approval_mode=approval_mode)
    return "switched"


@tool
def unsure():
    """From now on the server cannot say in which mode it is."""
    NOW.clear()
    return "unsure"


@tool
def as_dict():
    return {"result": 5}


@tool
def as_dict_of_more():
    return {"id": "t_1", "likes": 3}


@tool
def as_list():
    return [1, "two", None]


@tool
def as_typed_list() -> list[int]:
    return [1, 2]


@tool
def as_number_text():
    return "1.10"


@tool
def as_nothing():
    return None


@tool
def as_image():
    image = ImageContent(type="image", data="aGk=", mime_type="image/png")
    return CallToolResult(content=[TextContent(type="text", text="A cat."), image])


@tool
def as_page():
    return reply([{"id": 1}, {"id": 2}], meta={"pagination": {"next_cursor": "c_2"}, "retry_count": 1, "mode": "sly"})


@tool
def x_limited():
    reset = datetime(2026, 2, 24, 12, tzinfo=UTC)
    raise fw.ToolError("Rate limit exceeded.", code="x_rate_limited", reset_at=reset, retry_after=1.5)


@tool
def x_blocked():
    raise fw.ToolError(
        "Blocked by policy rule.", code="policy_denied_blocked", kind="permission", policy_decision="denied"
    )


@tool
def x_twice():
    raise fw.ToolError("Duplicate post_tweet call detected (12ms ago).", code="validation_error")


DEVICES: Final = {
    "dev-lab-01": ("lab", ()),
    "dev-lab-02": ("lab", ("allow_advanced_writes",)),
    "dev-prod-01": ("prod", ("allow_advanced_writes",)),
}


class Advanced(Rule):
    """Contract 004's refusals: the device is of another environment, or does not have the flag."""

    codes = ("FORBIDDEN",)

    def admit(self, arguments: Any) -> None:
        name = arguments["device_id"]
        environment, flags = DEVICES[name]
        if environment != "lab":
            raise fw.Denied(
                f"Device environment '{environment}' does not match service environment 'lab'",
                title="Forbidden: environment mismatch",
                details={"device_id": name, "device_environment": environment, "service_environment": "lab"},
            )
        if "allow_advanced_writes" not in flags:
            raise fw.Denied(
                f"Device '{name}' does not allow advanced tier operations",
                suggestion="Enable advanced operations by setting device flag 'allow_advanced_writes=true', "
                "or use a different device.",
                next_steps=[
                    "Use registry/update to enable allow_advanced_writes flag",
                    "Contact administrator to enable advanced tier",
                ],
                actions=[
                    {
                        "tool": "registry/list",
                        "description": "List devices with advanced tier enabled",
                        "arguments": {"environment": "lab", "filter": "allow_advanced_writes=true"},
                    }
                ],
                tier="advanced",
                details={"device_id": name, "required_flag": "allow_advanced_writes"},
            )


def old() -> Any:
    return deprecated("old_search goes away in 3.0.", actions=["search_patterns"], since="2.1")


def few() -> Any:
    return rate(2, seconds=30, clock=lambda: 1000.0)


def single() -> Any:
    return limit(concurrency=1, queue=1)


_held = threading.Event()


async def _work() -> str:
    while not _held.is_set():
        await asyncio.sleep(0.005)
    return "worked"


@tool
def release():
    _held.set()
    return "released"


@tool
@old()
def decorated_search(query: str):
    return f"found {query}"


@tool
@few()
def decorated_ping():
    return "pong"


@tool
@single()
async def decorated_work():
    return await _work()


@tool
@Advanced()
def decorated_reboot(device_id: str):
    return f"{device_id} reboots"


@tool
def book_table(guests: int, name: str, color: Literal["red", "green"] = "red"):
    RUNS["book_table"] += 1
    return f"A {color} table for {guests}, {name}."


@tool
def paint(color: Literal["red", "green"], coats: int = 1):
    return f"{coats} x {color}"


@tool
def plan_trip(city: str = "", month: str = ""):
    RUNS["plan_trip"] += 1
    if not city:
        raise fw.NeedsInput("Where to?", fields=["city"], suggestions={"city": ["Oslo", "Rome"]})
    if not month:
        raise fw.NeedsInput(f"When to {city}?", fields=["month"])
    return f"To {city} in {month}."


@tool
def pick_size(size: str = ""):
    """Leaves no room for other answers."""
    if size in ("s", "l"):
        return f"Size {size}."
    options = [{"label": "Small", "value": "s"}, {"label": "Large", "value": "l", "description": "Two metres."}]
    raise fw.NeedsInput("Which size?", fields=["size"], options=options)


@tool
def insatiable(answer: str = ""):
    RUNS["insatiable"] += 1
    raise fw.NeedsInput("What else?", fields=["answer"])


@tool
def sign_in(user: str, password: str):
    return "welcome"


@tool
def tag(tags: list[str], owner: str):
    return f"{len(tags)}"


@tool
def own_question(word: str = ""):
    """Asks by itself, as the newer era has it."""
    call = current.get()
    given = (call.params if call else {}).get("inputResponses") or {}
    if "mine" in given:
        return f"The word is {given['mine']['content']['word']}, the argument {word!r}."
    form = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
    asked = ElicitRequest(params=ElicitRequestFormParams(message="Which word?", requested_schema=form))
    return InputRequiredResult(input_requests={"mine": asked}, request_state="my own state")


_server: list[Any] = []


def started(server: Any) -> None:
    _server.append(server)


@tool
def metrics_port():
    """Starts a scrape target for Prometheus, and says where."""
    from prometheus_client import CollectorRegistry, start_http_server

    from failwell.observe.prometheus import Collector

    registry = CollectorRegistry()
    registry.register(Collector(lambda: stats(_server[0])))
    return str(start_http_server(0, "127.0.0.1", registry)[0].server_address[1])


class Notes:
    """A file of JSON lines."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115
        self._lock = threading.Lock()

    def write(self, line: Mapping[str, Any]) -> None:
        with self._lock:
            print(json.dumps(line, default=str), file=self._file, flush=True)


class JsonHandler(logging.Handler):
    def __init__(self, notes: Notes) -> None:
        super().__init__()
        self._notes = notes

    def emit(self, record: logging.LogRecord) -> None:
        fields = ("request_id", "tool_name", "error_code", "mcp_error_code", "details", "context", "correlation_id")
        self._notes.write(
            {
                "record": record.funcName,
                "level": record.levelname,
                "line": record.getMessage(),
                **{name: getattr(record, name) for name in fields},
                "way": record.exc_text,
            }
        )


class RaisingHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        raise OSError("The disk is full.")


def raising_hook(event: fw.observe.CallEvent) -> None:
    raise OSError("The disk is full.")


def watched(path: str) -> dict[str, Any]:
    notes = Notes(path)
    logger = logging.getLogger("failwell.server")
    logger.setLevel(logging.INFO)
    logger.addHandler(JsonHandler(notes))
    # Last, since nobody comes after it.
    logger.addHandler(RaisingHandler())

    def noting(event: Any) -> None:
        error = event.error
        notes.write(
            {
                "tool": event.tool,
                "ok": event.ok,
                "asked": event.asked,
                "code": None if error is None else error.code,
                "message": None if error is None else error.message,
                "request_id": event.request_id,
                "correlation_id": event.correlation_id,
                "client": event.client,
                "era": event.era,
                "format": event.format,
            }
        )

    return {"hooks": [raising_hook, noting]}


SETTINGS: Final[dict[str, Callable[[str], dict[str, Any]]]] = {
    "none": lambda _: {},
    "api": lambda _: {"format": Envelope(profile="api")},
    "workflow": lambda _: {"format": Envelope(profile="workflow", mode="composer", approval_mode=True)},
    "strict": lambda _: {"format": Envelope(profile="api", strict=True)},
    "changing": lambda _: {
        "format": Envelope(profile="workflow", mode=lambda: NOW["mode"], approval_mode=lambda: NOW["approval_mode"])
    },
    "watched": watched,
}
