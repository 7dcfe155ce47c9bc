"""What Python itself raises."""

from __future__ import annotations

import asyncio
import concurrent.futures
import errno
import json
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from operating import classified

import failwell as fw
from failwell.formats import FORMATS, to_wire

# errno: (code, effect)
NUMBERS: dict[str, tuple[str, str | None]] = {
    "ENOENT": ("NOT_FOUND", "none"),
    "EEXIST": ("CONFLICT", "none"),
    "ENOTEMPTY": ("CONFLICT", "none"),
    "EBUSY": ("CONFLICT", "none"),
    "ETXTBSY": ("CONFLICT", "none"),
    "EISDIR": ("VALIDATION_ERROR", "none"),
    "ENOTDIR": ("VALIDATION_ERROR", "none"),
    "ENAMETOOLONG": ("VALIDATION_ERROR", "none"),
    "ELOOP": ("VALIDATION_ERROR", "none"),
    "EACCES": ("FORBIDDEN", "none"),
    "EPERM": ("FORBIDDEN", "none"),
    "EROFS": ("FORBIDDEN", "none"),
    "EAGAIN": ("UNAVAILABLE", None),
    "EINTR": ("UNAVAILABLE", None),
    "EMFILE": ("SERVER_BUSY", "none"),
    "ENOMEM": ("SERVER_BUSY", "none"),
    "ENOSPC": ("IO_ERROR", None),
    "EDQUOT": ("IO_ERROR", None),
    "EIO": ("IO_ERROR", None),
    "ENOTSUP": ("UNSUPPORTED", "none"),
    "ECONNREFUSED": ("NETWORK_ERROR", "none"),
    "ECONNRESET": ("NETWORK_ERROR", "unknown"),
    "ECONNABORTED": ("NETWORK_ERROR", "unknown"),
    "EPIPE": ("NETWORK_ERROR", "unknown"),
    "ENETUNREACH": ("NETWORK_ERROR", "none"),
    "EHOSTUNREACH": ("NETWORK_ERROR", "none"),
    "ETIMEDOUT": ("TIMEOUT", "unknown"),
}


def check(error: fw.ToolError, code: str, effect: str | None = None) -> None:
    assert (error.code, error.effect) == (code, effect)
    for name in FORMATS:
        assert "secret" not in fw.render(error, name)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_the_system(name: str) -> None:
    check(classified(OSError(getattr(errno, name), "secret", "/secret/file")), *NUMBERS[name])


@pytest.mark.parametrize(
    ("exc", "code", "effect"),
    [
        pytest.param(exc, code, effect, id=type(exc).__name__)
        for exc, code, effect in [
            (FileNotFoundError("secret"), "NOT_FOUND", "none"),
            (FileExistsError("secret"), "CONFLICT", "none"),
            (IsADirectoryError("secret"), "VALIDATION_ERROR", "none"),
            (NotADirectoryError("secret"), "VALIDATION_ERROR", "none"),
            (PermissionError("secret"), "FORBIDDEN", "none"),
            (InterruptedError("secret"), "UNAVAILABLE", None),
            (BlockingIOError("secret"), "UNAVAILABLE", None),
            (ConnectionRefusedError("secret"), "NETWORK_ERROR", "none"),
            (ConnectionResetError("secret"), "NETWORK_ERROR", "unknown"),
            (BrokenPipeError("secret"), "NETWORK_ERROR", "unknown"),
            (TimeoutError("secret"), "TIMEOUT", "unknown"),
            (OSError("secret"), "IO_ERROR", None),
            (socket.gaierror(socket.EAI_NONAME, "secret"), "NETWORK_ERROR", "none"),
            (socket.herror(1, "secret"), "NETWORK_ERROR", "none"),
            (ssl.SSLError(1, "secret"), "TLS_ERROR", "none"),
            (ssl.SSLCertVerificationError(1, "secret"), "TLS_ERROR", "none"),
            (ssl.SSLEOFError(8, "secret"), "NETWORK_ERROR", "unknown"),
            (NotImplementedError("secret"), "UNSUPPORTED", "none"),
            (ModuleNotFoundError("secret"), "NOT_CONFIGURED", None),
            (asyncio.IncompleteReadError(b"secret", 9), "NETWORK_ERROR", "unknown"),
            (anyio.BrokenResourceError("secret"), "NETWORK_ERROR", "unknown"),
            (anyio.EndOfStream("secret"), "NETWORK_ERROR", "unknown"),
            (SystemExit("secret"), "INTERNAL_ERROR", None),
        ]
    ],
)
def test_exceptions_that_mean_something(exc: BaseException, code: str, effect: str | None) -> None:
    check(classified(exc), code, effect)


MISTAKES = [
    AssertionError,
    AttributeError,
    BufferError,
    EOFError,
    Exception,
    IndexError,
    KeyError,
    MemoryError,
    NameError,
    RecursionError,
    RuntimeError,
    StopAsyncIteration,
    StopIteration,
    SyntaxError,
    SystemError,
    TypeError,
    UserWarning,
    ZeroDivisionError,
]


@pytest.mark.checklist(25)
@pytest.mark.parametrize("kind", MISTAKES)
def test_the_text_of_a_mistake_is_for_the_log(kind: type[Exception]) -> None:
    error = fw.wrap(kind("secret"))
    check(error, "INTERNAL_ERROR")
    assert error.type == "INTERNAL"
    assert error.details == {"error_type": kind.__name__}
    assert kind.__name__ in error.debug
    assert "secret" in error.debug


@pytest.mark.checklist(25, 48)
def test_the_author_can_opt_in_to_show_the_text() -> None:
    class OutOfStock(Exception):
        pass

    assert fw.wrap(OutOfStock("None left.")).message == "The tool failed unexpectedly."

    @fw.classify.maps(OutOfStock)
    def out_of_stock(exc: OutOfStock) -> fw.ToolError:
        return fw.Conflict(str(exc), code="OUT_OF_STOCK")

    error = fw.wrap(OutOfStock("None left."))
    assert (error.message, error.code, error.debug) == ("None left.", "OUT_OF_STOCK", "OutOfStock: None left.")


def test_the_text_of_a_value_error_is_cited() -> None:
    error = classified(ValueError("The year must be after 1900."))
    assert (error.message, error.code) == (
        "An argument was rejected: The year must be after 1900.",
        "VALIDATION_ERROR",
    )
    assert classified(ValueError()).message == "An argument was rejected."


def decoded() -> object:
    return json.loads('{"secret')


def encoded() -> object:
    return b"secret\xff".decode()


@pytest.mark.parametrize("call", [decoded, encoded], ids=["json", "unicode"])
def test_value_errors_that_no_author_wrote(call: Callable[[], object]) -> None:
    with pytest.raises(ValueError) as caught:
        call()
    check(classified(caught.value), "INTERNAL_ERROR")


def in_asyncio() -> None:
    async def wait() -> None:
        await asyncio.wait_for(asyncio.Event().wait(), 0.01)

    asyncio.run(wait())


def in_asyncio_block() -> None:
    async def wait() -> None:
        async with asyncio.timeout(0.01):
            await asyncio.Event().wait()

    asyncio.run(wait())


def in_anyio() -> None:
    async def wait() -> None:
        with anyio.fail_after(0.01):
            await anyio.sleep_forever()

    anyio.run(wait)


def in_futures() -> None:
    concurrent.futures.Future[int]().result(0.01)


def in_subprocess() -> None:
    subprocess.run([sys.executable, "-c", "import time; time.sleep(60)", "secret"], timeout=0.01, check=False)


def in_socket() -> None:
    left, right = socket.socketpair()
    with left, right:
        left.settimeout(0.01)
        left.recv(1)


@pytest.mark.checklist(26, 37, 70, 103)
@pytest.mark.parametrize("call", [in_asyncio, in_asyncio_block, in_anyio, in_futures, in_subprocess, in_socket])
def test_timeouts(call: Callable[[], None]) -> None:
    with pytest.raises(Exception) as caught:
        call()
    error = fw.wrap(caught.value)
    check(error, "TIMEOUT", "unknown")
    assert error.type == "TRANSIENT"
    assert (to_wire(error, "v1")["code"], to_wire(error, "v1")["details"]) == (
        "NETWORK_ERROR",
        {"errorType": "timeout"},
    )
    assert to_wire(error.replace(effect="none"), "v1")["code"] == "NETWORK_ERROR"


def test_commands() -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        subprocess.run([sys.executable, "-c", "raise SystemExit(3)", "secret"], check=True)
    error = classified(caught.value)
    check(error, "INTERNAL_ERROR")
    assert error.details == {"exit_status": 3}
    with pytest.raises(FileNotFoundError) as missing:
        subprocess.run(["/secret/command"], check=True)
    check(classified(missing.value), "NOT_FOUND", "none")


def test_files(tmp_path: Path) -> None:
    def failed(call: Callable[[], Any]) -> str | None:
        with pytest.raises(OSError) as caught:
            call()
        return classified(caught.value).code

    assert failed((tmp_path / "secret").read_text) == "NOT_FOUND"
    assert failed(tmp_path.mkdir) == "CONFLICT"
    assert failed(tmp_path.read_text) == "VALIDATION_ERROR"


@pytest.mark.checklist(26, 37, 103)
def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(socket.gaierror) as caught:
        socket.create_connection(("does-not-exist.invalid", 80), 5)
    error = fw.wrap(caught.value)
    assert (error.type, error.details) == ("TRANSIENT", {"errorType": "dns_error"})


@pytest.mark.checklist(104)
def test_a_tls_failure_is_not_tried_again() -> None:
    wire = to_wire(fw.wrap(ssl.SSLError(1, "secret")), "v1")
    assert (wire["code"], wire["retryable"], wire["details"]) == ("TLS_ERROR", False, {"errorType": "tls_error"})
