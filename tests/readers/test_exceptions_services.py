"""Failures of clients of services: real ones where a server on this machine can bring them about."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from typing import Any

import anthropic
import botocore.exceptions
import botocore.parsers
import dns.exception
import dns.name
import dns.resolver
import grpc
import grpc.aio
import openai
import pytest
import urllib3
from grpc._channel import _InactiveRpcError, _MultiThreadedRendezvous, _RPCState
from operating import classified
from upstream import nobody, served

import failwell as fw
from failwell.formats import FORMATS
from failwell.model import Kind
from failwell.readers.exceptions.services import AWS, GRPC

with warnings.catch_warnings():
    # It asks for a package that only makes its texts longer.
    warnings.simplefilter("ignore", ImportWarning)
    import google.api_core.exceptions as google
    import google.auth.exceptions as google_auth
    from google.rpc.error_details_pb2 import RetryInfo

ONLY_A_STATUS = "only a status"
"""What says nothing but an HTTP status does not say who sent it, so not that nothing was done."""


def check(error: fw.ToolError, code: str, effect: str | None = None) -> None:
    refused = error.kind in (Kind.NOT_FOUND, Kind.CONFLICT, Kind.VALIDATION, Kind.PERMISSION)
    if effect == ONLY_A_STATUS:
        effect = None
    elif refused:
        effect = "none"
    assert (error.code, error.effect) == (code, effect)
    for name in FORMATS:
        assert "secret" not in fw.render(error, name)


# status name: (code, effect)
STATUSES: dict[str, tuple[str, str | None]] = {
    "CANCELLED": ("UNAVAILABLE", None),
    "UNKNOWN": ("UPSTREAM_ERROR", "unknown"),
    "INVALID_ARGUMENT": ("VALIDATION_ERROR", None),
    "DEADLINE_EXCEEDED": ("TIMEOUT", "unknown"),
    "NOT_FOUND": ("NOT_FOUND", None),
    "ALREADY_EXISTS": ("CONFLICT", None),
    "PERMISSION_DENIED": ("FORBIDDEN", None),
    "UNAUTHENTICATED": ("UNAUTHORIZED", None),
    "RESOURCE_EXHAUSTED": ("RATE_LIMITED", "none"),
    "FAILED_PRECONDITION": ("CONFLICT", None),
    "ABORTED": ("UNAVAILABLE", None),
    "OUT_OF_RANGE": ("VALIDATION_ERROR", None),
    "UNIMPLEMENTED": ("UNSUPPORTED", None),
    "INTERNAL": ("UPSTREAM_ERROR", "unknown"),
    "UNAVAILABLE": ("UNAVAILABLE", None),
    "DATA_LOSS": ("INTERNAL_ERROR", None),
}


def inactive(name: str, *trailing: tuple[str, str]) -> Exception:
    return _InactiveRpcError(_RPCState((), (), trailing, grpc.StatusCode[name], "secret"))


def test_every_status_of_grpc_has_a_meaning() -> None:
    assert set(GRPC) == {status.name for status in grpc.StatusCode} - {"OK"} == set(STATUSES)


@pytest.mark.parametrize("name", STATUSES)
def test_grpc(name: str) -> None:
    asynchronous = grpc.aio.AioRpcError(grpc.StatusCode[name], grpc.aio.Metadata(), grpc.aio.Metadata(), "secret")
    for exc in (inactive(name), asynchronous):
        check(classified(exc), *STATUSES[name])
        assert classified(exc).message == f"The upstream service answered {name}."
    check(classified(google.from_grpc_status(grpc.StatusCode[name], "secret")), *STATUSES[name])


def test_grpc_says_when_to_come_back() -> None:
    waiting = classified(inactive("DEADLINE_EXCEEDED", ("grpc-retry-pushback-ms", "1500")))
    # It may have been done already: then there is nothing to wait for, unless somebody knows better.
    assert (waiting.effect, waiting.retry_after, waiting.replace(effect="none").retry_after) == ("unknown", None, 1.5)
    assert classified(inactive("RESOURCE_EXHAUSTED", ("grpc-retry-pushback-ms", "1500"))).retry_after == 1.5
    assert classified(inactive("NOT_FOUND", ("grpc-retry-pushback-ms", "1500"))).retry_after is None
    trailing = grpc.aio.Metadata(("grpc-retry-pushback-ms", "2000"))
    later = grpc.aio.AioRpcError(grpc.StatusCode.UNAVAILABLE, grpc.aio.Metadata(), trailing, "secret")
    assert classified(later).replace(effect="none").retry_after == 2


def test_a_call_that_still_runs_is_not_waited_for() -> None:
    class Unfinished(_MultiThreadedRendezvous):
        def __init__(self) -> None:
            self._state = _RPCState((), (), (), None, None)

        def __del__(self) -> None:
            pass

        def code(self) -> Any:
            threading.Event().wait()

    check(classified(Unfinished()), "INTERNAL_ERROR")


@pytest.mark.parametrize(
    ("exc", "code", "effect"),
    [
        pytest.param(grpc.RpcError("secret"), "INTERNAL_ERROR", None, id="RpcError"),
        pytest.param(grpc.FutureTimeoutError(), "TIMEOUT", "none", id="FutureTimeoutError"),
        pytest.param(google.NotFound("secret"), "NOT_FOUND", None, id="NotFound"),
        pytest.param(google.Conflict("secret"), "CONFLICT", ONLY_A_STATUS, id="Conflict"),
        pytest.param(google.Forbidden("secret"), "FORBIDDEN", ONLY_A_STATUS, id="Forbidden"),
        pytest.param(google.TooManyRequests("secret"), "RATE_LIMITED", ONLY_A_STATUS, id="TooManyRequests"),
        pytest.param(google.ServiceUnavailable("secret"), "UNAVAILABLE", None, id="ServiceUnavailable"),
        pytest.param(google.BadGateway("secret"), "UPSTREAM_ERROR", None, id="BadGateway"),
        pytest.param(google.RetryError("secret", google.NotFound("secret")), "NOT_FOUND", None, id="RetryError-cause"),
        pytest.param(google.RetryError("secret", None), "TIMEOUT", "unknown", id="RetryError"),
        pytest.param(google.GoogleAPIError("secret"), "INTERNAL_ERROR", None, id="GoogleAPIError"),
        pytest.param(
            google_auth.DefaultCredentialsError("secret"), "NOT_CONFIGURED", None, id="DefaultCredentialsError"
        ),
        pytest.param(google_auth.RefreshError("secret"), "NOT_CONFIGURED", None, id="RefreshError"),
        pytest.param(google_auth.TransportError("secret"), "NETWORK_ERROR", "unknown", id="TransportError"),
    ],
)
def test_google(exc: Exception, code: str, effect: str | None) -> None:
    check(classified(exc), code, effect)


def test_google_says_when_to_come_back() -> None:
    info = RetryInfo()
    info.retry_delay.seconds, info.retry_delay.nanos = 3, 500_000_000
    assert classified(google.ResourceExhausted("secret", details=[object(), info])).retry_after == 3.5
    assert classified(google.TooManyRequests("secret", details=[info])).retry_after == 3.5
    assert classified(google.InvalidArgument("secret", details=[info])).retry_after is None
    assert classified(google.NotFound("secret")).http_status == 404


def aws(code: str, status: int = 400, operation: str = "PutItem", **headers: str) -> fw.ToolError:
    response: Any = {
        "Error": {"Code": code, "Message": "secret"},
        "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": headers},
    }
    return classified(botocore.exceptions.ClientError(response, operation))


@pytest.mark.parametrize(
    ("name", "status", "code", "effect"),
    [
        ("ThrottlingException", 400, "RATE_LIMITED", "none"),
        ("ProvisionedThroughputExceededException", 400, "RATE_LIMITED", "none"),
        ("SlowDown", 503, "RATE_LIMITED", "none"),
        ("AccessDenied", 403, "FORBIDDEN", None),
        ("NoSuchKey", 404, "NOT_FOUND", None),
        ("404", 404, "NOT_FOUND", ONLY_A_STATUS),
        ("ResourceNotFoundException", 400, "NOT_FOUND", None),
        ("ConditionalCheckFailedException", 400, "CONFLICT", None),
        ("ExpiredToken", 400, "UNAUTHORIZED", None),
        ("ValidationException", 400, "VALIDATION_ERROR", None),
        ("TransactionCanceledException", 400, "UNAVAILABLE", None),
        ("InternalFailure", 500, "UPSTREAM_ERROR", "unknown"),
        ("RequestTimeout", 400, "TIMEOUT", "unknown"),
        ("secret", 404, "NOT_FOUND", ONLY_A_STATUS),
        ("secret", 500, "UPSTREAM_ERROR", "unknown"),
        ("secret", 503, "UNAVAILABLE", None),
        ("secret", 0, "INTERNAL_ERROR", None),
    ],
)
def test_aws(name: str, status: int, code: str, effect: str | None) -> None:
    check(aws(name, status), code, effect)


def test_aws_reads_have_no_effect_and_waits_are_kept() -> None:
    check(aws("InternalFailure", 500, "GetObject"), "UPSTREAM_ERROR")
    check(aws("secret", 500, "ListBuckets"), "UPSTREAM_ERROR")
    assert aws("SlowDown", 503, **{"retry-after": "4"}).retry_after == 4
    assert classified(botocore.exceptions.ClientError({}, "GetObject")).code == "INTERNAL_ERROR"


def test_every_code_of_aws_is_one_word() -> None:
    assert all(name.isascii() and name.replace(".", "").isalnum() for name in AWS)


URL = "https://secret.example.com"


@pytest.mark.parametrize(
    ("exc", "code", "effect"),
    [
        pytest.param(exc, code, effect, id=type(exc).__name__)
        for exc, code, effect in [
            (botocore.exceptions.NoCredentialsError(), "NOT_CONFIGURED", None),
            (botocore.exceptions.PartialCredentialsError(provider="secret", cred_var="secret"), "NOT_CONFIGURED", None),
            (botocore.exceptions.NoRegionError(), "NOT_CONFIGURED", None),
            (botocore.exceptions.ProfileNotFound(profile="secret"), "NOT_CONFIGURED", None),
            (botocore.exceptions.SSOTokenLoadError(error_msg="secret"), "NOT_CONFIGURED", None),
            (botocore.exceptions.ReadTimeoutError(endpoint_url=URL), "TIMEOUT", "unknown"),
            (botocore.exceptions.ConnectTimeoutError(endpoint_url=URL), "TIMEOUT", "none"),
            (botocore.exceptions.EndpointConnectionError(endpoint_url=URL), "NETWORK_ERROR", "none"),
            (botocore.exceptions.ConnectionClosedError(endpoint_url=URL), "NETWORK_ERROR", "unknown"),
            (botocore.exceptions.HTTPClientError(error="secret"), "NETWORK_ERROR", "unknown"),
            (botocore.exceptions.ProxyConnectionError(proxy_url=URL), "NETWORK_ERROR", "none"),
            (botocore.exceptions.SSLError(endpoint_url=URL, error="secret"), "TLS_ERROR", "none"),
            (botocore.exceptions.ParamValidationError(report="secret"), "VALIDATION_ERROR", None),
            (botocore.exceptions.WaiterError("secret", "secret", {}), "UNAVAILABLE", "unknown"),
            (botocore.exceptions.FlexibleChecksumError(error_msg="secret"), "UPSTREAM_ERROR", "unknown"),
            (
                botocore.exceptions.UnknownServiceError(service_name="secret", known_service_names="x"),
                "INTERNAL_ERROR",
                None,
            ),
            (botocore.parsers.ResponseParserError("secret"), "UPSTREAM_ERROR", "unknown"),
        ]
    ],
)
def test_botocore(exc: Exception, code: str, effect: str | None) -> None:
    check(classified(exc), code, effect)


def test_botocore_looks_at_what_its_connection_says() -> None:
    def send(url: str) -> None:
        # As its session does it.
        try:
            pool.request("GET", url)
        except urllib3.exceptions.NewConnectionError as exc:
            raise botocore.exceptions.EndpointConnectionError(endpoint_url=URL, error=exc)  # noqa: B904

    with (
        nobody() as address,
        urllib3.PoolManager(retries=False) as pool,
        pytest.raises(botocore.exceptions.EndpointConnectionError) as caught,
    ):
        send(f"http://{address}/")
    assert classified(caught.value).details == {"errorType": "connection_refused"}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served() as found:
        yield found


def model(package: Any, address: str, path: str, timeout: float = 10, method: str = "get") -> fw.ToolError:
    """A failed call by the client of a model's provider."""
    name = "OpenAI" if package is openai else "Anthropic"
    client = getattr(package, name)(api_key="secret", base_url=f"http://{address}", max_retries=0, timeout=timeout)
    with client, pytest.raises(Exception) as caught:
        getattr(client, method)(path, cast_to=object)
    assert type(caught.value).__module__ == package.__name__
    return classified(caught.value)


# path: (code, retry_after)
MODELS: dict[str, tuple[str, float | None]] = {
    "/missing": ("NOT_FOUND", None),
    "/denied": ("UNAUTHORIZED", None),
    "/seconds": ("RATE_LIMITED", 7),
    "/down": ("UNAVAILABLE", None),
    "/crash": ("UPSTREAM_ERROR", None),
    "/problem": ("VALIDATION_ERROR", None),
}


@pytest.mark.parametrize("package", [openai, anthropic], ids=["openai", "anthropic"])
@pytest.mark.parametrize("path", MODELS)
def test_models(address: str, package: Any, path: str) -> None:
    error = model(package, address, path)
    assert (error.code, error.retry_after) == MODELS[path]
    assert path != "/missing" or error.message == "The upstream service answered 404 Not Found: No such user."


@pytest.mark.parametrize("package", [openai, anthropic], ids=["openai", "anthropic"])
def test_models_that_cannot_be_reached(address: str, package: Any) -> None:
    with nobody() as nowhere:
        refused = model(package, nowhere, "/", method="post")
    assert (refused.code, refused.details, refused.effect) == (
        "NETWORK_ERROR",
        {"errorType": "connection_refused"},
        "none",
    )
    late = model(package, address, "/silent", 0.2, "post")
    assert (late.code, late.effect) == ("TIMEOUT", "unknown")
    assert model(package, address, "/silent", 0.2).effect is None
    reset = model(package, address, "/reset", method="post")
    assert (reset.details, reset.effect) == ({"errorType": "connection_reset"}, "unknown")


@pytest.mark.parametrize(
    ("exc", "code"),
    [
        pytest.param(openai.OpenAIError("secret"), "INTERNAL_ERROR", id="OpenAIError"),
        pytest.param(openai.ContentFilterFinishReasonError(), "POLICY_DENIED", id="ContentFilterFinishReasonError"),
        pytest.param(anthropic.AnthropicError("secret"), "INTERNAL_ERROR", id="AnthropicError"),
    ],
)
def test_what_models_say_otherwise(exc: Exception, code: str) -> None:
    check(classified(exc), code)


@pytest.mark.parametrize(
    ("exc", "code", "effect"),
    [
        pytest.param(exc, code, effect, id=type(exc).__name__)
        for exc, code, effect in [
            (dns.resolver.NXDOMAIN(), "NOT_FOUND", None),
            (dns.resolver.NoAnswer(), "NOT_FOUND", None),
            (dns.exception.Timeout(), "TIMEOUT", "unknown"),
            (dns.resolver.LifetimeTimeout(timeout=1.0, errors=[]), "TIMEOUT", "unknown"),
            (dns.resolver.NoNameservers(), "NETWORK_ERROR", "none"),
            (dns.resolver.NoResolverConfiguration(), "NOT_CONFIGURED", None),
            (dns.resolver.YXDOMAIN(), "VALIDATION_ERROR", None),
            (dns.name.LabelTooLong(), "VALIDATION_ERROR", None),
            (dns.name.NameTooLong(), "VALIDATION_ERROR", None),
            (dns.name.EmptyLabel(), "VALIDATION_ERROR", None),
            (dns.exception.DNSException("secret"), "NETWORK_ERROR", "none"),
        ]
    ],
)
def test_names(exc: Exception, code: str, effect: str | None) -> None:
    check(classified(exc), code, effect)
