"""Rows for clients of services: botocore, google.api_core, google.auth, grpc, openai, anthropic and dnspython."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from failwell.model import Effect, Kind, ToolError, positive, text
from failwell.readers.http import from_http, from_response
from failwell.readers.waits import retry_after

from .builtin import timed_out, unreached
from .chain import attribute, is_a
from .exception_table import SHIPPED, broken, names, says
from .web import answered, transport, unreadable

# What a service's own name for a failure stands for.
GRPC: Final[Mapping[str, str]] = {
    **dict.fromkeys(("INVALID_ARGUMENT", "OUT_OF_RANGE"), "VALIDATION_ERROR"),
    "NOT_FOUND": "NOT_FOUND",
    **dict.fromkeys(("ALREADY_EXISTS", "FAILED_PRECONDITION"), "CONFLICT"),
    "PERMISSION_DENIED": "FORBIDDEN",
    "UNAUTHENTICATED": "UNAUTHORIZED",
    "RESOURCE_EXHAUSTED": "RATE_LIMITED",
    "UNIMPLEMENTED": "UNSUPPORTED",
    "DEADLINE_EXCEEDED": "TIMEOUT",
    **dict.fromkeys(("ABORTED", "UNAVAILABLE", "CANCELLED"), "UNAVAILABLE"),
    **dict.fromkeys(("INTERNAL", "UNKNOWN"), "UPSTREAM_ERROR"),
    "DATA_LOSS": "INTERNAL_ERROR",
}
AWS: Final[Mapping[str, str]] = {
    name: code
    for code, known in {
        "RATE_LIMITED": """
            LimitExceededException ProvisionedThroughputExceededException RequestLimitExceeded RequestThrottled
            RequestThrottledException ServiceQuotaExceededException SlowDown ThrottledException Throttling
            ThrottlingException TooManyRequestsException
        """,
        "NOT_FOUND": """
            NoSuchBucket NoSuchEntity NoSuchKey NoSuchUpload NoSuchVersion NotFound NotFoundException ParameterNotFound
            QueueDoesNotExist ResourceNotFound ResourceNotFoundException TableNotFoundException
        """,
        "FORBIDDEN": "AccessDenied AccessDeniedException Forbidden NotAuthorizedException UnauthorizedOperation",
        "UNAUTHORIZED": """
            AuthFailure ExpiredToken ExpiredTokenException InvalidAccessKeyId InvalidClientTokenId
            InvalidSignatureException InvalidToken MissingAuthenticationToken RequestExpired SignatureDoesNotMatch
            UnrecognizedClientException
        """,
        "CONFLICT": """
            BucketAlreadyExists BucketNotEmpty ConditionalCheckFailed ConditionalCheckFailedException ConflictException
            EntityAlreadyExists PreconditionFailed ResourceAlreadyExistsException ResourceConflictException
            ResourceExistsException ResourceInUseException
        """,
        "VALIDATION_ERROR": """
            EntityTooLarge InvalidArgument InvalidParameter InvalidParameterException InvalidParameterValue
            InvalidRequestException MissingParameter SerializationException ValidationError ValidationException
        """,
        "UNAVAILABLE": """
            ServiceUnavailable ServiceUnavailableException TransactionCanceledException TransactionConflictException
            Unavailable
        """,
        "TIMEOUT": "RequestTimeout RequestTimeoutException",
        "UPSTREAM_ERROR": "InternalError InternalFailure InternalServerError InternalServerException ServiceException",
    }.items()
    for name in known.split()
}
# The operations of AWS that only look.
_READS: Final = ("Get", "List", "Describe", "Head", "Query", "Scan", "BatchGet", "Search", "Lookup")


def _named(name: str, code: str, exc: object, *, status: int | None = None, delay: float | None = None) -> ToolError:
    """`name` is one of those above: a service's text is never passed on."""
    error = says(code, f"The upstream service answered {name}.")(exc)
    assert error is not None
    return _waiting(error.replace(http_status=status), delay)


def _waiting(error: ToolError, delay: float | None) -> ToolError:
    return error.replace(retry_after=delay) if delay is not None and error.kind is Kind.TRANSIENT else error


def _grpc(exc: Any) -> ToolError:
    state = attribute(exc, "_state")
    code = attribute(exc, "code")
    # To ask a call that still runs for its code is to wait for it.
    name = text(attribute(code(), "name")) if code and (state is None or attribute(state, "code")) else ""
    if name not in GRPC:
        return broken(exc)
    wait = positive(dict(exc.trailing_metadata() or ()).get("grpc-retry-pushback-ms"))
    return _named(name, GRPC[name], exc, delay=wait / 1000 if wait else None)


def _google(exc: Any) -> ToolError | None:
    status = attribute(exc, "code")
    status = int(status) if isinstance(status, int) else None
    name = attribute(attribute(exc, "grpc_status_code"), "name")
    response = attribute(exc, "response")
    delay = retry_after(attribute(response, "headers"))
    for detail in attribute(exc, "details") or ():
        if (found := attribute(detail, "retry_delay")) is not None:
            delay = positive(found.seconds + found.nanos / 1e9)
            break
    if name in GRPC:
        return _named(name, GRPC[name], exc, status=status, delay=delay)
    if status is None or not 400 <= status < 600:
        return None
    return _waiting(from_response(status, response), delay)


def _google_retry(exc: Any) -> ToolError:
    """Made from the last of several failures."""
    return _google(attribute(exc, "cause")) or timed_out()


def _aws(exc: Any) -> ToolError | None:
    response = attribute(exc, "response")
    response = response if isinstance(response, Mapping) else {}
    about = response.get("ResponseMetadata") or {}
    status = about.get("HTTPStatusCode")
    status = status if type(status) is int and 400 <= status < 600 else None
    headers = about.get("HTTPHeaders")
    name = text((response.get("Error") or {}).get("Code"))
    is_read = text(attribute(exc, "operation_name")).startswith(_READS)
    if name not in AWS:
        return from_http(status, headers, method="GET" if is_read else "POST") if status else None
    error = _named(name, AWS[name], exc, status=status, delay=retry_after(headers))
    # A read that failed did no harm, but the tool may have done something else before it.
    return error.replace(effect=None) if is_read and error.effect is Effect.UNKNOWN else error


def _endpoint(exc: BaseException) -> ToolError:
    held = attribute(exc, "kwargs")
    inner: Any = held.get("error") if type(held) is dict else None
    error = transport(inner if is_a(inner, BaseException) else exc, "network")
    error.effect = Effect.NONE
    return error


def _late(exc: BaseException) -> ToolError:
    return transport(exc, "timeout")


def _connect_timeout(exc: BaseException) -> ToolError:
    return timed_out().replace(effect=Effect.NONE)


BOTOCORE: Final = "botocore.exceptions"
MODELS: Final = "openai anthropic"
RESOLVER: Final = "dns.resolver"

SHIPPED.add(
    {
        _grpc: ("grpc.RpcError",),
        _connect_timeout: ("grpc.FutureTimeoutError", f"{BOTOCORE}.ConnectTimeoutError"),
        _google: ("google.api_core.exceptions.GoogleAPICallError",),
        _google_retry: ("google.api_core.exceptions.RetryError",),
        broken: (
            "google.api_core.exceptions.GoogleAPIError",
            *("openai.OpenAIError", "anthropic.AnthropicError"),
            f"{BOTOCORE}.BotoCoreError",
        ),
        _aws: (f"{BOTOCORE}.ClientError",),
        _endpoint: names(BOTOCORE, "ConnectionError EndpointConnectionError ProxyConnectionError"),
        unreached("tls_error"): names(BOTOCORE, "SSLError"),
        unreached("timeout"): (*names(BOTOCORE, "ReadTimeoutError"), "dns.exception.Timeout"),
        unreached("connection_reset"): names(
            BOTOCORE, "ConnectionClosedError HTTPClientError ResponseStreamingError IncompleteReadError"
        ),
        # A waiter gave up: on a state that did not come, or that rules out what it waited for.
        says("UNAVAILABLE", "What the tool waited for did not happen.", Effect.UNKNOWN): names(BOTOCORE, "WaiterError"),
        unreadable: (
            *names(BOTOCORE, "ChecksumError FlexibleChecksumError"),
            *names("botocore.parsers", "ResponseParserError"),
            *names(MODELS, "APIResponseValidationError"),
        ),
        says("VALIDATION_ERROR", "A service the tool needs cannot take these arguments."): names(
            BOTOCORE, "ParamValidationError ValidationError"
        ),
        says("NOT_CONFIGURED", "The server cannot log in to a service the tool needs."): (
            *names(
                BOTOCORE,
                "NoCredentialsError PartialCredentialsError CredentialRetrievalError NoAuthTokenError "
                "TokenRetrievalError SSOError LoginError ProfileNotFound NoRegionError MetadataRetrievalError",
            ),
            *names("google.auth.exceptions", "GoogleAuthError"),
            *names("anthropic", "CredentialsError"),
            *names("anthropic.lib.credentials._workload", "WorkloadIdentityError"),
        ),
        transport: (
            *names("google.auth.exceptions", "TransportError TimeoutError"),
            *names(MODELS, "APIConnectionError"),
        ),
        _late: names(MODELS, "APITimeoutError"),
        answered: names(MODELS, "APIStatusError"),
        says("VALIDATION_ERROR", "The model's answer was cut off: it is longer than allowed."): names(
            "openai", "LengthFinishReasonError"
        ),
        says("POLICY_DENIED", "The model's provider filtered its answer."): names(
            "openai", "ContentFilterFinishReasonError"
        ),
        says("NOT_FOUND", "The domain name does not exist, or has no such record."): names(
            RESOLVER, "NXDOMAIN NoAnswer EmptyHostAnswers"
        ),
        says("NOT_CONFIGURED", "The server has no name server to ask."): names(RESOLVER, "NoResolverConfiguration"),
        says("VALIDATION_ERROR", "That is not a domain name."): (
            *names("dns.exception", "SyntaxError"),
            *names("dns.name", "LabelTooLong NameTooLong BadLabelType IDNAException NeedAbsoluteNameOrOrigin"),
            *names(RESOLVER, "YXDOMAIN NotAbsolute NoMetaqueries"),
        ),
        unreached("dns_error"): (*names(RESOLVER, "NoNameservers"), "dns.exception.DNSException"),
    }
)
