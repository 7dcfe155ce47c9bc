"""One `tool_error` record for each failure: everything an operator needs, no secret, and no harm to the call."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from rich.console import Console
from rich.logging import RichHandler

import failwell as fw
from failwell.observe import logged
from failwell.observe.log import log_failure, way
from failwell.redact import DEFAULT

NAMES = sorted({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName", "exc_info", "stack_info"})
FIELDS = [
    "request_id",
    "tool_name",
    "action",
    "error_code",
    "mcp_error_code",
    "kind",
    "strategy",
    "correlation_id",
    "details",
    "context",
    "error",
]
SECRET = "hunter2-Zq81LmX0vv"
URL = f"postgres://app:{SECRET}@db.internal/prod"


class Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)
        self.lines.append(self.format(record))


@pytest.fixture
def logger() -> logging.Logger:
    made = logging.Logger("shop", logging.INFO)
    made.addHandler(Kept())
    return made


@pytest.fixture
def structured() -> Iterator[list[dict[str, Any]]]:
    kept = structlog.testing.LogCapture()
    structlog.configure(processors=[kept])
    yield kept.entries  # type: ignore[misc]
    structlog.reset_defaults()


def kept(logger: logging.Logger) -> Kept:
    handler = logger.handlers[0]
    assert isinstance(handler, Kept)
    return handler


def only(logger: logging.Logger) -> logging.LogRecord:
    (record,) = kept(logger).records
    return record


def fields(record: logging.LogRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in FIELDS}


def crash() -> Exception:
    try:
        raise KeyError("stock")
    except KeyError as exc:
        return exc


EVERYTHING: dict[str, Any] = {
    "tool": "orders",
    "action": "get",
    "request_id": 7,
    "correlation_id": "1f0c2d3e4a5b",
    "context": {"device_id": "sw-3"},
}
SAID = {
    "request_id": 7,
    "tool_name": "orders",
    "action": "get",
    "error_code": -32002,
    "mcp_error_code": "NOT_FOUND",
    "kind": "not_found",
    "strategy": "fix_and_retry",
    "correlation_id": "1f0c2d3e4a5b",
    "details": "Order o_1 does not exist.",
    "context": {"order": "o_1", "device_id": "sw-3"},
    "error": fw.NotFound("Order o_1 does not exist.", details={"order": "o_1"}).to_dict(),
}


def missing() -> fw.ToolError:
    return fw.NotFound("Order o_1 does not exist.", details={"order": "o_1"})


@pytest.mark.checklist(277)
def test_the_record_has_every_field_and_a_readable_line(logger: logging.Logger) -> None:
    log_failure(logger, missing(), **EVERYTHING, number=-32002)
    record = only(logger)
    assert fields(record) == SAID
    assert (record.levelname, record.name) == ("WARNING", "shop")
    assert kept(logger).lines == ["tool_error orders/get: NOT_FOUND: Order o_1 does not exist."]


@pytest.mark.parametrize(
    ("error", "raised", "line"),
    [
        pytest.param(fw.NotFound("Gone."), None, "tool_error t: NOT_FOUND: Gone.", id="expected"),
        pytest.param(
            fw.Conflict("Two.", severity="critical"), None, "tool_error t: CONFLICT: Two. (1f0c)", id="critical"
        ),
        pytest.param(fw.Internal("Oh."), KeyError(), "tool_error t: INTERNAL_ERROR: Oh. (1f0c)", id="crash"),
    ],
)
def test_the_line_names_the_id_where_somebody_has_to_look_and_the_record_always(
    error: fw.ToolError, raised: Exception | None, line: str, logger: logging.Logger
) -> None:
    log_failure(logger, error, tool="t", exc=raised, correlation_id="1f0c")
    assert kept(logger).lines == [line]
    assert only(logger).__dict__["correlation_id"] == "1f0c"


def test_the_line_about_wrong_arguments_fits_a_terminal_with_a_column_for_time_and_level(
    logger: logging.Logger,
) -> None:
    told = io.StringIO()
    logger.handlers = [RichHandler(console=Console(file=told, width=80))]
    error = fw.Invalid("Invalid arguments for add: a, b.", fields=[("a", "not a number"), ("b", "missing")])
    log_failure(logger, error, tool="add", correlation_id="1f0c2d3e4a5b")
    assert [line.split("WARNING")[-1].strip() for line in told.getvalue().splitlines()] == [
        "tool_error add: VALIDATION_ERROR: a, b"
    ]


@pytest.mark.checklist(277)
def test_structlog_gets_the_same_fields(structured: list[dict[str, Any]]) -> None:
    log_failure(structlog.get_logger(), missing(), **EVERYTHING, number=-32002)
    assert structured == [{"event": "tool_error", "log_level": "warning", **SAID}]


@pytest.mark.checklist(277)
@pytest.mark.parametrize("wrapper", [structlog.stdlib.BoundLogger, structlog.BoundLogger], ids=["stdlib", "generic"])
def test_structlog_around_the_standard_library(wrapper: Any, logger: logging.Logger) -> None:
    made = structlog.wrap_logger(logger, processors=[structlog.processors.JSONRenderer()], wrapper_class=wrapper)
    log_failure(made, missing(), **EVERYTHING, number=-32002)
    assert [json.loads(line) for line in kept(logger).lines] == [{"event": "tool_error", **SAID}]


def test_without_a_number_or_a_code_they_follow_from_the_error(logger: logging.Logger) -> None:
    log_failure(logger, fw.ToolError("Broken.", kind="transient"), tool="t")
    assert fields(only(logger)) == {
        "request_id": None,
        "tool_name": "t",
        "action": None,
        "error_code": -32010,
        "mcp_error_code": "UNAVAILABLE",
        "kind": "transient",
        "strategy": "retry_with_backoff",
        "correlation_id": None,
        "details": "Broken.",
        "context": {},
        "error": fw.ToolError("Broken.", kind="transient").to_dict(),
    }
    assert kept(logger).lines == ["tool_error t: UNAVAILABLE: Broken."]


@pytest.mark.checklist(278)
@pytest.mark.parametrize("name", [*NAMES, *FIELDS, "event", "exception", "self", "level"])
def test_no_name_in_the_context_collides(name: str, logger: logging.Logger, structured: list[dict[str, Any]]) -> None:
    error = fw.NotFound("no", details={name: "theirs"})
    log_failure(logger, error, tool="t", context={name: "ours"})
    log_failure(structlog.get_logger(), error, tool="t", context={name: "ours"})
    assert only(logger).__dict__["context"] == structured[0]["context"] == {name: "ours"}
    assert kept(logger).lines == ["tool_error t: NOT_FOUND: no"]


@pytest.mark.checklist(278)
@pytest.mark.parametrize("name", ["request_id", "context", "details"])
def test_what_the_applications_record_factory_has_set_stays(
    name: str, logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def factory(*given: Any, **more: Any) -> logging.LogRecord:
        record = logging.LogRecord(*given, **more)
        setattr(record, name, "theirs")
        return record

    monkeypatch.setattr(logging, "_logRecordFactory", factory)
    log_failure(logger, missing(), **EVERYTHING, number=-32002)
    assert fields(only(logger)) == {**SAID, name: "theirs"}


def test_an_adapter_adds_its_own_and_takes_nothing_away(logger: logging.Logger) -> None:
    class Prefixing(logging.LoggerAdapter[Any]):
        def process(self, msg: Any, kwargs: Any) -> Any:
            return f"[shop] {msg}", kwargs

    adapter = Prefixing(logging.LoggerAdapter(logger, {"tenant": "acme", "name": "no"}), {})
    log_failure(adapter, missing(), **EVERYTHING, number=-32002)
    record = only(logger)
    assert fields(record) == SAID
    assert (record.__dict__["tenant"], record.name) == ("acme", "shop")
    assert record.getMessage().startswith("[shop] tool_error orders/get: NOT_FOUND")


def test_a_crash_is_an_error_with_the_way_there(logger: logging.Logger, structured: list[dict[str, Any]]) -> None:
    exc = crash()
    error = fw.Internal("The tool broke.", debug="KeyError: 'stock'")
    log_failure(logger, error, tool="t", exc=exc)
    log_failure(structlog.get_logger(), error, tool="t", exc=exc)
    record = only(logger)
    assert record.levelname == "ERROR"
    assert record.__dict__["details"] == "KeyError: 'stock'"
    first, *rest = kept(logger).lines[0].splitlines()
    assert first == "tool_error t: INTERNAL_ERROR: KeyError: 'stock'"
    assert rest[-1] == '    raise KeyError("stock")'
    assert (structured[0]["log_level"], structured[0]["exception"]) == ("error", "\n".join(rest))


@pytest.mark.parametrize(
    ("error", "level"),
    [
        pytest.param(fw.Internal("It broke."), "WARNING", id="planned"),
        pytest.param(fw.Transient("Later.", severity="critical"), "ERROR", id="critical"),
        pytest.param(fw.NotFound("Gone.", severity="warning"), "WARNING", id="advisory"),
    ],
)
def test_what_an_author_raised_is_no_crash(error: fw.ToolError, level: str, logger: logging.Logger) -> None:
    log_failure(logger, error, tool="t", exc=error)
    assert (only(logger).levelname, only(logger).exc_text) == (level, None)


@pytest.mark.checklist(170)
@pytest.mark.parametrize("text", ["Success: done.", "INTERNAL crash, timeout, permission denied", "tool_error 404"])
def test_the_status_comes_from_the_code_whatever_the_text_says(text: str, logger: logging.Logger) -> None:
    log_failure(logger, fw.Conflict(text, code="LOCKED"), tool="t")
    said = fields(only(logger))
    assert (said["mcp_error_code"], said["kind"], only(logger).levelname) == ("LOCKED", "conflict", "WARNING")


def test_of_wrong_arguments_the_line_has_the_names_and_the_record_what_was_answered(logger: logging.Logger) -> None:
    error = fw.Invalid("query must not be empty", fields=[("query", "must not be empty"), ("limit", "too many")])
    log_failure(logger, error, tool="t")
    record = only(logger)
    assert kept(logger).lines == ["tool_error t: VALIDATION_ERROR: query, limit"]
    assert (record.__dict__["details"], record.__dict__["error"]) == ("query, limit", error.to_dict())


@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR])
def test_the_level_of_what_was_to_be_expected_can_be_chosen(
    level: int, logger: logging.Logger, structured: list[dict[str, Any]]
) -> None:
    logger.setLevel(logging.DEBUG)
    log_failure(logger, missing(), tool="t", level=level)
    log_failure(structlog.get_logger(), missing(), tool="t", level=level)
    log_failure(logger, fw.Internal("Oh."), tool="t", exc=crash(), level=level)
    assert [record.levelno for record in kept(logger).records] == [level, logging.ERROR]
    assert structured[0]["log_level"] == logging.getLevelName(level).lower()


@pytest.mark.checklist(277)
def test_one_step_makes_an_error_and_writes_it_down(logger: logging.Logger) -> None:
    error = logged(missing(), tool="orders", request_id=7, logger=logger, context={"device_id": "sw-3"})
    said = fields(only(logger))
    assert error == missing().replace(correlation_id=error.correlation_id)
    assert error.correlation_id is not None
    assert {name: said[name] for name in ("request_id", "tool_name", "mcp_error_code", "correlation_id", "error")} == {
        "request_id": 7,
        "tool_name": "orders",
        "mcp_error_code": "NOT_FOUND",
        "correlation_id": error.correlation_id,
        "error": error.to_dict(),
    }


def test_debug_is_told_before_the_message_whatever_it_is(logger: logging.Logger) -> None:
    log_failure(logger, fw.Transient("Try later.", debug={"upstream": 503}), tool="t")
    assert only(logger).__dict__["details"] == '{"upstream": 503}'


def secretive() -> tuple[fw.ToolError, Exception]:
    try:
        raise RuntimeError(f"cannot reach {URL}")  # postgres://app:hunter2-Zq81LmX0vv@db.internal/prod
    except RuntimeError as exc:
        error = fw.Internal(
            f"cannot reach {URL}",
            code=URL,
            debug=f"RuntimeError: cannot reach {URL}",
            details={"url": URL, "password": SECRET, "nested": [{"api_key": SECRET}]},
            correlation_id=URL,
        )
        return error, exc


@pytest.mark.checklist(280)
def test_no_secret_is_in_any_attribute(logger: logging.Logger, structured: list[dict[str, Any]]) -> None:
    error, exc = secretive()
    assert SECRET in way(exc)
    given: dict[str, Any] = {"tool": URL, "action": URL, "request_id": URL, "exc": exc}
    context = {"token": SECRET, "device": f"login with {URL} refused", URL: 1}
    log_failure(logger, error, **given, context=context)
    log_failure(structlog.get_logger(), error, **given, context=context)
    log_failure(logger, error.replace(debug=None), **given)
    told = repr([vars(record) for record in kept(logger).records]) + repr(kept(logger).lines) + repr(structured)
    assert SECRET not in told
    assert "postgres://app:[redacted]@db.internal/prod" in only_context(kept(logger).records[0])["url"]
    assert kept(logger).records[0].exc_text is not None


def test_a_way_that_was_printed_before_tells_no_secret_of_a_later_call(logger: logging.Logger) -> None:
    """The first time nobody knows that a word in the source is what this call was sent for its secret argument."""
    error, exc = fw.Internal("The tool failed."), crash()
    word = way(exc).rpartition(" ")[2]
    for guard in (fw.Guard(), DEFAULT, DEFAULT, DEFAULT.knowing([word]), DEFAULT):
        log_failure(logger, error, tool="t", exc=exc, guard=guard)
    told = [record.exc_text for record in kept(logger).records]
    assert [word in (text or "") for text in told] == [True, True, True, False, True]


def only_context(record: logging.LogRecord) -> dict[str, Any]:
    context: dict[str, Any] = record.__dict__["context"]
    return context


@pytest.mark.checklist(280)
def test_a_secret_that_only_the_server_knows_is_masked_too(logger: logging.Logger) -> None:
    guard = fw.Guard.make(values=["swordfish"])
    error = fw.Internal("said swordfish", details={"word": "swordfish"})
    log_failure(logger, error, tool="swordfish", guard=guard)
    assert "swordfish" not in repr(vars(only(logger))) + kept(logger).lines[0]


@pytest.mark.parametrize("kind", ["standard", "adapter", "structlog", "structlog-stdlib"])
def test_nothing_is_put_into_words_when_nobody_listens(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    off = logging.Logger("shop", logging.CRITICAL)
    off.addHandler(Kept())
    loggers: dict[str, Any] = {
        "standard": off,
        "adapter": logging.LoggerAdapter(off, {}),
        "structlog": structlog.wrap_logger(None, wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL)),
        "structlog-stdlib": structlog.wrap_logger(off, wrapper_class=structlog.stdlib.BoundLogger),
    }

    def never(*given: object) -> str:
        raise KeyboardInterrupt("somebody put it into words")

    monkeypatch.setattr("failwell.observe.log._told", never)
    log_failure(loggers[kind], missing(), tool="t")
    assert kept(off).records == []


class Raising(logging.Handler):
    def handle(self, record: logging.LogRecord) -> bool:
        raise OSError("disk full")


def test_a_handler_or_logger_that_raises_is_not_felt(logger: logging.Logger) -> None:
    logger.handlers.insert(0, Raising())
    log_failure(logger, missing(), tool="t")

    def broken(*given: Any) -> Any:
        raise OSError("disk full")

    log_failure(structlog.wrap_logger(None, processors=[broken]), missing(), tool="t")
    log_failure(object(), missing(), tool="t")


def test_an_order_to_stop_passes_through_a_handler(logger: logging.Logger) -> None:
    class Stopping(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            raise KeyboardInterrupt

    logger.addHandler(Stopping())
    with pytest.raises(KeyboardInterrupt):
        log_failure(logger, missing(), tool="t")


def test_the_way_is_short_even_after_an_endless_recursion() -> None:
    def deeper(number: int) -> int:
        return deeper(number + 1) + 1

    with pytest.raises(RecursionError) as caught:
        deeper(0)
    assert len(way(caught.value).splitlines()) <= 60
    assert "in deeper" in way(caught.value)


def test_the_way_begins_with_the_tool_and_not_with_the_framework() -> None:
    scope: dict[str, Any] = {}
    exec(compile("def call(tool):\n    tool()", "/lib/python3/site-packages/mcp/server.py", "exec"), scope)
    exec(compile("def tool():\n    raise ValueError", "/srv/app/shop.py", "exec"), scope)
    with pytest.raises(ValueError) as caught:
        scope["call"](scope["tool"])
    caught.value.__traceback__ = caught.value.__traceback__ and caught.value.__traceback__.tb_next
    assert way(caught.value) == '  File "/srv/app/shop.py", line 2, in tool'


def test_nobody_can_forge_a_line_of_the_log(logger: logging.Logger) -> None:
    forged = "x\r\n2026-01-02 ERROR\u2028root logged in"
    log_failure(logger, fw.NotFound(forged, code=forged), tool=forged, request_id=forged, correlation_id=forged)
    assert len(kept(logger).lines[0].splitlines()) == 1
    assert only(logger).__dict__["request_id"] == "x 2026-01-02 ERROR root logged in"


def test_a_flood_in_the_context_is_cut(logger: logging.Logger) -> None:
    log_failure(logger, missing(), tool="t" * 10_000, request_id="r" * 10_000, context={"body": "x " * 1_000_000})
    assert len(repr(fields(only(logger)))) < 50_000
