"""Failures of web applications over a real socket: the status, `Retry-After`, and the whole problem."""

from __future__ import annotations

import gzip
import http.client
import json
import logging
import socket
import threading
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, unquote

import anyio
import pytest
import uvicorn
from fastapi import BackgroundTasks, Body, FastAPI, HTTPException, Request
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

import failwell as fw
import failwell.server
from failwell.server.request_secrets import KeepingBodies


def raising(exc: BaseException) -> Callable[[], Any]:
    def endpoint() -> None:
        raise exc

    return endpoint


BUSY = fw.Transient("Too many requests.", code="RATE_LIMITED", retry_after=1.2)
LATER = fw.Transient("Closed.", code="UNAVAILABLE", reset_at=datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC))
RAISED: dict[str, BaseException] = {
    "missing": fw.NotFound("Order 7 does not exist.", suggestion="Call list_orders first."),
    "busy": BUSY,
    "later": LATER,
    "own": fw.ToolError("Brewing.", code="Teapot", kind="conflict", http_status=418),
    "asks": fw.NeedsInput("Which order?", fields=["id"]),
    "timeout": TimeoutError("10.0.0.7 hunter2-password"),
    "crash": ZeroDivisionError("hunter2"),
    "done": fw.Transient("The bank is busy.", code="UNAVAILABLE", retry_after=5, effect="unknown"),
    "refused": HTTPException(402, "Pay first."),
    "found": fw.NotFound("The receipt is gone.", effect="partial", http_status=410),
}


CRASHED = "Unexpected error: ExceptionGroup"


def paid_and_converted() -> int:
    return int("12,50")


def paid_and_opened() -> None:
    Path("/nowhere/receipt.txt").read_text()


def paid_and_gathered() -> None:
    raise ExceptionGroup("two services", [ValueError("no such account")])


def paid_and_asked() -> None:
    with failwell.effects():
        raise fw.NeedsInput("Which receipt?", fields=["receipt"])


def paid_and_looked_up() -> None:
    raise KeyError("template")


def paid_and_refused() -> None:
    raise ValueError("The address for the receipt is wrong.")


def paid_and_denied() -> None:
    raise PermissionError("receipts")


def paid_and_written() -> None:
    raise FileExistsError("receipt.pdf")


def paid_and_searched() -> str:
    return {"a": "b"}["hunter2"]


def paid_and_missed() -> None:
    raise LookupError("There is no such template.")


FAILING_LATE = (
    *(paid_and_converted, paid_and_opened, paid_and_gathered, paid_and_asked),
    *(paid_and_looked_up, paid_and_refused, paid_and_denied, paid_and_written),
)
FAILING = (*FAILING_LATE, paid_and_searched, paid_and_missed)


SECRET = "correct horse"


async def quoting(request: Request) -> None:
    """Says what it was sent, as code does that was written in a hurry."""
    await request.body()
    raise ValueError(f"{SECRET!r} is too weak for bob")


async def crashing(request: Request) -> None:
    await request.body()
    raise ZeroDivisionError(f"bob/{SECRET}")


async def refusing(request: Request) -> None:
    await request.body()
    raise fw.Invalid(f"bob: {SECRET} is too weak", details={"note": SECRET})


async def taking(password: Annotated[str, Body()]) -> None:
    raise ValueError(f"{password!r} is too weak for bob")


async def telling_cookies(request: Request) -> None:
    theme, mine, seen = request.cookies.values()
    raise ValueError(f"{theme} is {seen}, {mine} {unquote(mine)} is wrong.")


def raised(exc: Exception) -> Exception:
    """As it comes out of a task, with the way to it."""
    try:
        raise exc
    except Exception as caught:
        return caught


def converted() -> Exception:
    try:
        return ValueError(int("12,50"))
    except ValueError as exc:
        return exc


GATHERED: dict[str, tuple[int, str, Callable[[], list[Exception]]]] = {
    "same": (422, "a is wrong", lambda: [raised(ValueError("a is wrong")), raised(ValueError("b is wrong"))]),
    "never raised": (422, "a is wrong", lambda: [ValueError("a is wrong"), ValueError("b is wrong")]),
    "missing": (404, "No such order.", lambda: [raised(LookupError("No such order.")), raised(KeyError("x"))]),
    "our own": (404, "No order.", lambda: [fw.NotFound("No order."), raised(LookupError("No such order."))]),
    "nested": (422, "a is wrong", lambda: [ExceptionGroup("inner", [raised(ValueError("a is wrong"))])]),
    "passing": (504, "The operation took too long.", lambda: [TimeoutError(), raised(ValueError("a is wrong"))]),
    "at odds": (500, CRASHED, lambda: [raised(ValueError("a is wrong")), raised(LookupError("No such order."))]),
    "ours at odds": (500, CRASHED, lambda: [fw.NotFound("No such order."), fw.Conflict("It is paid.")]),
    "a library's": (500, CRASHED, lambda: [raised(ValueError("a is wrong")), converted()]),
    "a crash": (500, CRASHED, lambda: [raised(ValueError("a is wrong")), ZeroDivisionError()]),
}


def gathering(kind: str) -> None:
    raise ExceptionGroup("hunter2", GATHERED[kind][2]())


def application() -> FastAPI:
    app = failwell.server.problems(FastAPI())
    for name, exc in RAISED.items():
        app.add_api_route(f"/{name}", raising(exc), methods=["GET", "POST", "PUT"], name=name)
    for endpoint in FAILING:
        app.add_api_route(f"/{endpoint.__name__}", endpoint, methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
    app.add_api_route("/number/{id}", lambda id: id, methods=["GET"])
    app.add_api_route("/gathering/{kind}", gathering, methods=["GET", "POST"])

    for each in (quoting, crashing, refusing):
        for path in (f"/{each.__name__}", f"/{each.__name__}/{{token}}"):
            app.add_api_route(path, each, methods=["GET", "POST"])
    app.add_api_route("/taking", taking, methods=["POST"])
    app.add_api_route("/cookies", telling_cookies, methods=["GET"])

    async def bare(request: Any) -> None:
        raise BUSY

    app.mount("/starlette", failwell.server.problems(Starlette(routes=[Route("/busy", bare)])))
    return app


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(application(), log_config=None, lifespan="off"))
    thread = threading.Thread(target=lambda: server.run(sockets=[listening]))
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


def asked(
    port: int, path: str, method: str = "GET", body: str | None = None, headers: dict[str, str] | None = None
) -> tuple[int, str | None, str | None, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        body = json.loads(answer.read())
        return answer.status, answer.getheader("content-type"), answer.getheader("retry-after"), body
    finally:
        connection.close()


PROBLEM = "application/problem+json"


@pytest.mark.parametrize(
    ("method", "path", "status", "after", "detail", "effect"),
    [
        ("GET", "/missing", 404, None, "Order 7 does not exist.", "none"),
        ("GET", "/busy", 429, "2", "Too many requests.", "none"),
        ("POST", "/busy", 429, "2", "Too many requests.", "none"),
        ("GET", "/starlette/busy", 429, "2", "Too many requests.", "none"),
        ("GET", "/later", 503, "Wed, 02 Jan 2030 03:04:05 GMT", "Closed.", None),
        ("GET", "/own", 418, None, "Brewing.", "none"),
        ("GET", "/asks", 422, None, "Which order?", "none"),
        ("GET", "/timeout", 504, "60", "The operation took too long.", "none"),
        ("PUT", "/timeout", 504, "60", "The operation took too long.", None),
        ("POST", "/timeout", 500, None, "The operation took too long.", "unknown"),
        ("GET", "/crash", 500, None, "Unexpected error: ZeroDivisionError", "none"),
        ("POST", "/crash", 500, None, "Unexpected error: ZeroDivisionError", "unknown"),
        ("POST", "/done", 500, None, "The bank is busy.", "unknown"),
        ("POST", "/found", 500, None, "The receipt is gone.", "partial"),
        ("GET", "/paid_and_opened", 404, None, "The file or directory does not exist.", "none"),
        ("POST", "/paid_and_opened", 500, None, "The file or directory does not exist.", "unknown"),
        ("POST", "/paid_and_asked", 500, None, "Which receipt?", "unknown"),
    ],
)
def test_a_failure_is_a_problem(
    port: int, method: str, path: str, status: int, after: str | None, detail: str, effect: str | None
) -> None:
    found = asked(port, path, method)
    assert (*found[:3], found[3]["detail"], found[3]["status"], found[3].get("effect")) == (
        *(status, PROBLEM, after),
        *(detail, status, effect),
    )
    assert "hunter2" not in json.dumps(found[3])


@pytest.mark.parametrize("endpoint", FAILING_LATE, ids=lambda each: each.__name__)
def test_what_may_have_been_done_is_no_fault_of_the_request(port: int, endpoint: Callable[[], Any]) -> None:
    status, _, after, body = asked(port, f"/{endpoint.__name__}", "POST")
    assert (status, after, body["status"], body["effect"]) == (500, None, 500, "unknown")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("endpoint", FAILING_LATE[4:], ids=lambda each: each.__name__)
def test_an_exception_is_no_word_that_nothing_was_done(port: int, endpoint: Callable[[], Any], method: str) -> None:
    status, _, after, body = asked(port, f"/{endpoint.__name__}", method)
    assert (status, after, body["status"]) == (500, None, 500)


@pytest.mark.parametrize(("endpoint", "status"), [*zip(FAILING_LATE[4:], (404, 422, 403, 409), strict=True)])
def test_what_only_reads_is_answered_by_what_the_exception_means(
    port: int, endpoint: Callable[[], Any], status: int
) -> None:
    assert asked(port, f"/{endpoint.__name__}")[0] == status


@pytest.mark.parametrize("kind", GATHERED)
def test_several_failures_are_the_fault_of_a_request_if_each_of_them_is(port: int, kind: str) -> None:
    status, detail, _ = GATHERED[kind]
    found = asked(port, f"/gathering/{quote(kind)}")
    assert (found[0], found[3]["detail"]) == (status, detail)
    assert asked(port, f"/gathering/{quote(kind)}", "POST")[0] == 500


def test_what_no_author_said_is_a_crash_of_a_request_that_writes(port: int) -> None:
    def told(path: str, method: str = "POST") -> tuple[str, str]:
        body = asked(port, path, method)[3]
        return body["code"], body["detail"]

    for method in ("POST", "PUT"):
        assert told("/paid_and_converted", method) == ("INTERNAL_ERROR", "Unexpected error: ValueError")
        assert told("/paid_and_searched", method) == ("INTERNAL_ERROR", "Unexpected error: KeyError")
    assert told("/paid_and_gathered") == ("INTERNAL_ERROR", CRASHED)
    # What its author said is told in both.
    assert told("/paid_and_refused") == ("VALIDATION_ERROR", "The address for the receipt is wrong.")
    assert told("/paid_and_missed") == ("NOT_FOUND", "There is no such template.")


def test_the_author_may_say_that_nothing_was_done(port: int) -> None:
    assert asked(port, "/missing", "POST")[0] == asked(port, "/missing", "PUT")[0] == 404


def test_the_whole_problem_is_what_the_format_writes(port: int) -> None:
    missing = RAISED["missing"]
    assert isinstance(missing, fw.ToolError)
    assert asked(port, "/missing")[3] == json.loads(fw.render(missing.replace(http_status=404), "problem"))


def test_what_the_framework_answers_stays(port: int) -> None:
    assert asked(port, "/refused") == (402, "application/json", None, {"detail": "Pay first."})
    assert asked(port, "/nowhere") == (404, "application/json", None, {"detail": "Not Found"})


def test_each_failure_stands_in_the_log_once(port: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "failwell.server"):
        asked(port, "/missing")
    records = [record.getMessage() for record in caplog.records if record.name == "failwell.server"]
    assert records == ["tool_error endpoint: NOT_FOUND: Order 7 does not exist."]


def test_another_application_is_told_what_to_use() -> None:
    with pytest.raises(TypeError) as caught:
        failwell.server.problems(object())
    assert str(caught.value) == (
        "problems() takes a FastAPI or Starlette application, not object; "
        "in another framework answer with failwell.server.problem(error)."
    )


IN_PARTS = "\r\n".join(
    [
        *("--cut", 'Content-Disposition: form-data; name="file"; filename="bob.txt"', "", "for bob"),
        *("--cut", 'Content-Disposition: form-data; name="password"', "", SECRET),
        *("--cut--", ""),
    ]
)
# Where a request can have a secret: its method, path, body and headers.
SENT: dict[str, tuple[str, str, str | None, dict[str, str]]] = {
    "path": ("GET", "/{}/correct%20horse", None, {}),
    "query": ("GET", "/{}?user=bob&api_key=correct+horse", None, {}),
    "header": ("GET", "/{}", None, {"X-Api-Key": SECRET}),
    "login": ("GET", "/{}", None, {"Authorization": "Basic Ym9iOmNvcnJlY3QgaG9yc2U="}),
    "cookie": ("GET", "/{}", None, {"Cookie": f"theme=dark; access_token={SECRET}"}),
    "JSON": ("POST", "/{}", json.dumps({"login": [{"user": "bob", "password": SECRET}]}), {}),
    "JSON that breaks off": ("POST", "/{}", json.dumps({"password": SECRET, "user": "bob"})[:-3], {}),
    "form": ("POST", "/{}", "user=bob&password=correct+horse", {"Content-Type": "application/x-www-form-urlencoded"}),
    "parts": ("POST", "/{}", IN_PARTS, {"Content-Type": "multipart/form-data; boundary=cut"}),
}


@pytest.mark.parametrize("where", SENT)
@pytest.mark.parametrize("endpoint", [quoting, crashing, refusing], ids=lambda each: each.__name__)
def test_what_was_sent_as_a_secret_is_masked_in_the_problem_and_in_the_log(
    port: int, where: str, endpoint: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    method, path, body, headers = SENT[where]
    with caplog.at_level(logging.WARNING, "failwell.server"):
        told = asked(port, path.format(endpoint.__name__), method, body, headers)[3]
    (record,) = [each for each in caplog.records if each.name == "failwell.server"]
    kept = f"{json.dumps(told)} {logging.Formatter().format(record)} {vars(record)}"
    assert SECRET not in kept
    assert "bob" in kept
    assert "[redacted]" in record.getMessage()


def test_the_only_argument_of_an_endpoint_is_known_by_its_own_name(port: int) -> None:
    told = asked(port, "/taking", "POST", json.dumps(SECRET), {"Content-Type": "application/json"})[3]
    assert told["detail"] == "'[redacted]' is too weak for bob"


@pytest.mark.parametrize("kind", [ZeroDivisionError, fw.NotFound])
def test_a_body_that_the_application_has_not_read_is_not_read_for_its_secrets(kind: type[Exception]) -> None:
    async def story() -> None:
        async def failing(request: Any) -> None:
            raise kind("Nobody has looked.")

        async def receive() -> Any:
            raise AssertionError("the body was read")

        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        app = failwell.server.problems(Starlette(routes=[Route("/", failing, methods=["POST"])]))
        scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": [], "root_path": ""}
        await app(scope, receive, send)
        assert sent[0]["status"] == (500 if kind is ZeroDivisionError else 404)

    anyio.run(story)


def test_of_an_endless_body_only_a_part_is_kept() -> None:
    async def story() -> None:
        async def reading(scope: Any, receive: Any, send: Any) -> None:
            for _ in range(50):
                assert len((await receive())["body"]) == 100_000

        async def receive() -> Any:
            return {"type": "http.request", "body": b"x" * 100_000, "more_body": True}

        scope: dict[str, Any] = {"type": "http"}
        await KeepingBodies(reading)(scope, receive, None)
        assert sum(map(len, scope["failwell.body"])) == 1_000_000

    anyio.run(story)


@pytest.mark.parametrize("name", ["session", "sid", "remember_me", "JSESSIONID"])
@pytest.mark.parametrize("value", ["plainword-zebra", "plain%2Fzebra"])
def test_a_cookie_is_masked_whatever_it_is_called(
    port: int, name: str, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "failwell.server"):
        told = asked(port, "/cookies", headers={"Cookie": f"theme=dark-zebra; {name}={value}; seen=true"})[3]
    assert told["detail"] == f"dark-zebra is true, {MASKED} {MASKED} is wrong."
    assert "plain" not in f"{told} {[vars(record) for record in caplog.records]}"


MASKED = "[redacted]"


def crashing_app(**options: Any) -> FastAPI:
    app = failwell.server.problems(FastAPI(**options))

    def crash() -> None:
        raise ZeroDivisionError("hunter2")

    def break_off() -> StreamingResponse:
        def pieces() -> Iterator[bytes]:
            yield b"a"
            raise ZeroDivisionError("hunter2")

        return StreamingResponse(pieces())

    def later(tasks: BackgroundTasks) -> None:
        tasks.add_task(crash)

    for endpoint in (crash, break_off, later):
        app.add_api_route(f"/{endpoint.__name__}", endpoint, methods=["GET"])

    return app


@pytest.mark.parametrize("path", ["/crash", "/crash?outside=1"])
def test_a_crash_is_an_answer_and_nothing_of_it_is_raised_to_the_server(path: str) -> None:
    app = crashing_app()

    @app.middleware("http")
    async def around(request: Request, call_next: Any) -> Any:
        if "outside" in request.query_params:
            raise ZeroDivisionError("hunter2")
        return await call_next(request)

    answer = TestClient(app, raise_server_exceptions=True).get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (500, PROBLEM)


def test_what_breaks_off_is_told_to_the_server_without_what_it_quotes() -> None:
    with pytest.raises(RuntimeError, match="after its answer had begun") as caught:
        TestClient(crashing_app()).get("/break_off")
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_a_task_that_crashes_after_the_answer_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "failwell.server"):
        assert TestClient(crashing_app()).get("/later").status_code == 200
    assert [record.name for record in caplog.records if record.name == "failwell.server"] == ["failwell.server"]


def test_in_debug_mode_a_crash_is_raised_as_the_framework_does() -> None:
    with pytest.raises(ZeroDivisionError):
        TestClient(crashing_app(debug=True)).get("/crash")


def test_who_answers_crashes_in_another_way_is_left_alone() -> None:
    app = crashing_app()
    app.add_exception_handler(Exception, lambda request, exc: Response("mine", 500))
    with pytest.raises(ZeroDivisionError):
        TestClient(app).get("/crash")


def test_the_log_of_the_server_holds_no_secret_of_the_request(port: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        asked(port, "/crashing", "POST", json.dumps({"password": SECRET}))
    (record,) = [each for each in caplog.records if each.levelno >= logging.ERROR]
    kept = "".join(map(logging.Formatter().format, caplog.records))
    assert record.name == "failwell.server"
    assert "ZeroDivisionError" in kept
    assert "in crashing" in kept
    assert SECRET not in kept


class OutOfStock(Exception):
    """A row of the author's table says what it means."""


class Seeing:
    """Middleware of an author who takes back what a request did when it fails."""

    def __init__(self, app: Any, seen: list[object]) -> None:
        # By a name of its own, as many have it.
        self._wrapped, self._seen = app, seen

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def noted(message: Any) -> None:
            if message["type"] == "http.response.start":
                self._seen.append(message["status"])
            await send(message)

        try:
            await self._wrapped(scope, receive, noted)
        except Exception as exc:
            self._seen.append(type(exc).__name__)
            raise


async def out_of_stock(request: Request) -> None:
    raise OutOfStock("hunter2")


async def no_such_order(request: Request) -> None:
    raise LookupError("There is no such order.")


async def wrong_date(request: Request) -> None:
    raise ValueError("The date is wrong. " * 50)


async def too_slow(request: Request) -> None:
    raise TimeoutError("hunter2")


async def divided(request: Request) -> None:
    raise ZeroDivisionError("hunter2")


LAYERED = (out_of_stock, no_such_order, wrong_date, too_slow, divided)
ORIGIN = "https://page.example"


def layered(kind: str, seen: list[object], **options: Any) -> Any:
    """An application with middleware from before `problems` and from after it."""
    table = fw.classify.Table(fw.classify.DEFAULT)
    table.maps(OutOfStock)(lambda exc: fw.Conflict("It is sold out."))
    cors = Middleware(CORSMiddleware, allow_origins=[ORIGIN])
    made: Any = (FastAPI if kind == "FastAPI" else Starlette)(middleware=[cors], **options)
    app = failwell.server.problems(made, table=table)
    app.add_middleware(GZipMiddleware, minimum_size=500)
    app.add_middleware(Seeing, seen=seen)
    for endpoint in LAYERED:
        app.router.routes.append(Route(f"/{endpoint.__name__}", endpoint, methods=["GET", "POST", "PUT"]))
    return app


@pytest.fixture(params=["FastAPI", "Starlette"])
def served(request: pytest.FixtureRequest) -> Iterator[tuple[int, list[object]]]:
    seen: list[object] = []
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(layered(request.param, seen), log_config=None, lifespan="off"))
    thread = threading.Thread(target=lambda: server.run(sockets=[listening]))
    thread.start()
    try:
        yield listening.getsockname()[1], seen
    finally:
        server.should_exit = True
        thread.join()


def looked_at(port: int, method: str, endpoint: Callable[..., Any]) -> tuple[int, bool, bool, Any]:
    """The status, whether a page of another origin may read it, whether it was packed, and the problem."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        headers = {"Origin": ORIGIN, "Accept-Encoding": "gzip"}
        connection.request(method, f"/{endpoint.__name__}", headers=headers)
        answer = connection.getresponse()
        body, is_packed = answer.read(), answer.getheader("content-encoding") == "gzip"
        assert answer.getheader("content-type") == PROBLEM
        is_readable = answer.getheader("access-control-allow-origin") == ORIGIN
        return answer.status, is_readable, is_packed, json.loads(gzip.decompress(body) if is_packed else body)
    finally:
        connection.close()


def test_a_failure_leaves_through_the_middleware_and_a_crash_is_raised_through_it(
    served: tuple[int, list[object]], caplog: pytest.LogCaptureFixture
) -> None:
    port, seen = served
    expected: list[tuple[str, Callable[..., Any], int, object]] = [
        ("GET", no_such_order, 404, 404),
        ("GET", wrong_date, 422, 422),
        ("GET", too_slow, 504, 504),
        ("GET", out_of_stock, 409, 409),
        ("POST", out_of_stock, 409, 409),
        ("GET", divided, 500, "ZeroDivisionError"),
        # What a write has done by then may have to be taken back.
        ("POST", no_such_order, 500, "LookupError"),
        ("POST", too_slow, 500, "TimeoutError"),
        ("PUT", too_slow, 504, "TimeoutError"),
    ]
    for method, endpoint, status, saw in expected:
        seen.clear()
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            found = looked_at(port, method, endpoint)
        is_within = saw == status
        assert (found[0], found[1], found[2]) == (status, is_within, endpoint is wrong_date), (method, endpoint)
        assert seen == [saw]
        assert [record.name for record in caplog.records] == ["failwell.server"]
        assert "hunter2" not in json.dumps(found[3])


@pytest.mark.parametrize("kind", ["FastAPI", "Starlette"])
def test_a_handler_of_the_authors_own_comes_first(kind: str) -> None:
    app = layered(kind, [])
    app.add_exception_handler(LookupError, lambda request, exc: Response("mine", 404))
    assert TestClient(app).get("/no_such_order").text == "mine"


@pytest.mark.parametrize("kind", ["FastAPI", "Starlette"])
@pytest.mark.parametrize("who", ["debug", 500, Exception])
def test_where_somebody_else_answers_crashes_nothing_is_answered_before_them(kind: str, who: Any) -> None:
    seen: list[object] = []
    app = layered(kind, seen, debug=who == "debug")
    if who != "debug":
        app.add_exception_handler(who, lambda request, exc: Response("mine", 500))
    with pytest.raises(LookupError):
        TestClient(app).get("/no_such_order")
    assert seen == ["LookupError"]


def test_an_answer_that_has_begun_is_not_begun_again() -> None:
    app = failwell.server.problems(FastAPI())

    @app.get("/parts")
    def parts() -> StreamingResponse:
        def pieces() -> Iterator[bytes]:
            yield b"a"
            raise ValueError("The rest is missing.")

        return StreamingResponse(pieces())

    with pytest.raises(RuntimeError, match="after its answer had begun"):
        TestClient(app).get("/parts")
