"""Rows for clients of services: botocore, google.api_core, google.auth, grpc, openai, anthropic and dnspython."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from failwell.model import Effect, Kind, ToolError, positive, text
from failwell.readers.http import from_http, from_response, retry_after

from .builtin import insecure, lost, no_address, timed_out, unreachable
from .chain import attribute, is_a
from .exception_table import SHIPPED, Row, broken, says
from .web import answered, by_proxy, names, transport


class Answer(NamedTuple):
    """What a service's own name for a failure stands for."""

    code: str
    effect: Effect | None = None


def _said(name: str, answer: Answer, status: int | None = None, delay: float | None = None) -> ToolError:
    """`name` is one of ours: a service's text is never passed on."""
    error = ToolError(
        f"The upstream service answered {name}.", code=answer.code, effect=answer.effect, http_status=status
    )
    return _waiting(error, delay)


def _waiting(error: ToolError, delay: float | None) -> ToolError:
    return error.replace(retry_after=delay) if delay is not None and error.kind is Kind.TRANSIENT else error


def _names(table: Mapping[Answer, str]) -> dict[str, Answer]:
    return {name: answer for answer, known in table.items() for name in known.split()}


GRPC: Final[Mapping[str, Answer]] = _names(
    {
        Answer("VALIDATION_ERROR"): "INVALID_ARGUMENT OUT_OF_RANGE",
        Answer("NOT_FOUND"): "NOT_FOUND",
        Answer("CONFLICT"): "ALREADY_EXISTS FAILED_PRECONDITION",
        Answer("FORBIDDEN"): "PERMISSION_DENIED",
        Answer("UNAUTHORIZED"): "UNAUTHENTICATED",
        Answer("RATE_LIMITED"): "RESOURCE_EXHAUSTED",
        Answer("UNSUPPORTED"): "UNIMPLEMENTED",
        Answer("TIMEOUT", Effect.UNKNOWN): "DEADLINE_EXCEEDED",
        # By its definition, to be tried again as a whole.
        Answer("UNAVAILABLE", Effect.NONE): "ABORTED",
        Answer("UNAVAILABLE", Effect.UNKNOWN): "UNAVAILABLE CANCELLED",
        Answer("UPSTREAM_ERROR", Effect.UNKNOWN): "INTERNAL UNKNOWN",
        Answer("INTERNAL_ERROR"): "DATA_LOSS",
    }
)


def _grpc(exc: Any) -> ToolError:
    state = attribute(exc, "_state")
    code = attribute(exc, "code")
    # To ask a call that still runs for its code is to wait for it.
    name = text(attribute(code(), "name")) if code and (state is None or attribute(state, "code")) else ""
    answer = GRPC.get(name)
    if answer is None:
        return broken(exc)
    metadata = dict(exc.trailing_metadata() or ())
    wait = positive(metadata.get("grpc-retry-pushback-ms"))
    return _said(name, answer, delay=wait / 1000 if wait else None)


def _google(exc: Any) -> ToolError | None:
    status = attribute(exc, "code")
    status = int(status) if isinstance(status, int) else None
    name = attribute(attribute(exc, "grpc_status_code"), "name")
    response = attribute(exc, "response")
    delay = _retry_info(exc) or retry_after(attribute(response, "headers"))
    if name in GRPC:
        return _said(name, GRPC[name], status, delay)
    if status is None or not 400 <= status < 600:
        return None
    error = from_response(status, response)
    return _waiting(error, delay)


def _retry_info(exc: Any) -> float | int | None:
    for detail in attribute(exc, "details") or ():
        delay = attribute(detail, "retry_delay")
        if delay is not None:
            return positive(delay.seconds + delay.nanos / 1e9)
    return None


AWS: Final[Mapping[str, Answer]] = _names(
    {
        Answer("RATE_LIMITED"): """
            BandwidthLimitExceeded EC2ThrottledException LimitExceededException PriorRequestNotComplete
            ProvisionedThroughputExceededException RequestLimitExceeded RequestThrottled RequestThrottledException
            ServiceQuotaExceededException SlowDown ThrottledException Throttling ThrottlingException
            TooManyRequestsException TransactionInProgressException
        """,
        Answer("NOT_FOUND"): """
            404 NoSuchBucket NoSuchEntity NoSuchKey NoSuchUpload NoSuchVersion NotFound NotFoundException
            ResourceNotFound ResourceNotFoundException TableNotFoundException
            AWS.SimpleQueueService.NonExistentQueue QueueDoesNotExist ParameterNotFound
            InvalidInstanceID.NotFound DBInstanceNotFound
        """,
        Answer("FORBIDDEN"): """
            403 AccessDenied AccessDeniedException AccountProblem AllAccessDisabled Forbidden
            NotAuthorizedException OptInRequired UnauthorizedOperation
        """,
        Answer("UNAUTHORIZED"): """
            ExpiredToken ExpiredTokenException IncompleteSignature InvalidAccessKeyId InvalidClientTokenId
            InvalidSignatureException InvalidToken MissingAuthenticationToken RequestExpired SignatureDoesNotMatch
            TokenRefreshRequired UnrecognizedClientException AuthFailure RequestTimeTooSkewed
        """,
        Answer("CONFLICT"): """
            BucketAlreadyExists BucketAlreadyOwnedByYou BucketNotEmpty ConditionalCheckFailed
            ConditionalCheckFailedException ConflictException DeleteConflict EntityAlreadyExists
            OperationAborted PreconditionFailed ResourceAlreadyExistsException ResourceConflictException
            ResourceExistsException ResourceInUseException InvalidObjectState IdempotentParameterMismatch
        """,
        Answer("VALIDATION_ERROR"): """
            EntityTooLarge InvalidArgument InvalidParameter InvalidParameterCombination InvalidParameterValue
            InvalidParameterException InvalidParameterValueException InvalidRequestException MalformedPolicyDocument
            MissingParameter SerializationException ValidationError ValidationException KeyTooLongError
            ItemCollectionSizeLimitExceededException
        """,
        # The transaction was undone as a whole.
        Answer("UNAVAILABLE", Effect.NONE): "TransactionCanceledException TransactionConflictException",
        Answer("UNAVAILABLE"): "ServiceUnavailable ServiceUnavailableException Unavailable",
        Answer("TIMEOUT", Effect.UNKNOWN): "RequestTimeout RequestTimeoutException",
        Answer("UPSTREAM_ERROR", Effect.UNKNOWN): """
            InternalError InternalFailure InternalServerError InternalServerException ServiceException
            ServiceFailure ServerException
        """,
    }
)
# The operations of AWS that only look.
_READS: Final = ("Get", "List", "Describe", "Head", "Query", "Scan", "BatchGet", "Search", "Lookup")


def _aws(exc: Any) -> ToolError | None:
    response = attribute(exc, "response")
    response = response if isinstance(response, Mapping) else {}
    answered = response.get("ResponseMetadata") or {}
    status = answered.get("HTTPStatusCode")
    status = status if type(status) is int and 400 <= status < 600 else None
    headers = answered.get("HTTPHeaders")
    name = text((response.get("Error") or {}).get("Code"))
    reads = text(attribute(exc, "operation_name")).startswith(_READS)
    answer = AWS.get(name)
    if answer is None:
        return from_http(status, headers, method="GET" if reads else "POST") if status else None
    if name.isdecimal():
        return from_http(int(name), headers)
    # A read that failed did no harm, but the tool may have done something else before it.
    effect = None if reads and answer.effect is Effect.UNKNOWN else answer.effect
    return _said(name, answer._replace(effect=effect), status, retry_after(headers))


def _just(make: Callable[[], ToolError]) -> Row:
    return lambda exc: make()


def _connect_timeout() -> ToolError:
    return timed_out(Effect.NONE)


def _dns_timeout() -> ToolError:
    # A question changes nothing, but the tool may have.
    return timed_out(None)


def _no_endpoint() -> ToolError:
    return unreachable("no connection could be made", "network", Effect.NONE)


def _no_name_server() -> ToolError:
    return unreachable("no name server answers", "dns_error", Effect.NONE)


def _late(exc: BaseException) -> ToolError:
    return transport(exc, timed_out)


def _endpoint(exc: BaseException) -> ToolError:
    held = attribute(exc, "kwargs")
    inner: Any = held.get("error") if type(held) is dict else None
    error = transport(inner, _no_endpoint) if is_a(inner, BaseException) else _no_endpoint()
    error.effect = Effect.NONE
    return error


def _wait_failed(exc: Any) -> ToolError:
    """A waiter gave up: on a state that did not come, or that rules out what it waited for."""
    return ToolError("What the tool waited for did not happen.", code="UNAVAILABLE", effect=Effect.UNKNOWN)


BOTOCORE: Final = "botocore.exceptions"
MODELS: Final = "openai anthropic"
RESOLVER: Final = "dns.resolver"

_no_login: Final = says("NOT_CONFIGURED", "The server cannot log in to a service the tool needs.")
_unreadable: Final = says("UPSTREAM_ERROR", "The answer of a service the tool needs cannot be read.", Effect.UNKNOWN)
_cut_short: Final = says("VALIDATION_ERROR", "The model's answer was cut off: it is longer than allowed.")
_filtered: Final = says("POLICY_DENIED", "The model's provider filtered its answer.")
_not_a_name: Final = says("VALIDATION_ERROR", "That is not a domain name.")

_ROWS: Final[dict[Row, tuple[str, ...]]] = {
    _grpc: ("grpc.RpcError",),
    _just(_connect_timeout): ("grpc.FutureTimeoutError", f"{BOTOCORE}.ConnectTimeoutError"),
    _google: ("google.api_core.exceptions.GoogleAPICallError",),
    broken: (
        "google.api_core.exceptions.GoogleAPIError",
        "openai.OpenAIError",
        "anthropic.AnthropicError",
        f"{BOTOCORE}.BotoCoreError",
    ),
    # Made from the last of several failures.
    lambda exc: _google(attribute(exc, "cause")) or timed_out(): ("google.api_core.exceptions.RetryError",),
    _aws: (f"{BOTOCORE}.ClientError",),
    _endpoint: names(BOTOCORE, "ConnectionError EndpointConnectionError"),
    _just(by_proxy): names(BOTOCORE, "ProxyConnectionError"),
    _just(insecure): names(BOTOCORE, "SSLError"),
    _just(timed_out): names(BOTOCORE, "ReadTimeoutError"),
    _just(lost): names(BOTOCORE, "ConnectionClosedError HTTPClientError ResponseStreamingError IncompleteReadError"),
    _wait_failed: names(BOTOCORE, "WaiterError"),
    _unreadable: (
        *names(BOTOCORE, "ChecksumError FlexibleChecksumError"),
        *names("botocore.parsers", "ResponseParserError"),
        *names(MODELS, "APIResponseValidationError"),
    ),
    says("VALIDATION_ERROR", "A service the tool needs cannot take these arguments."): names(
        BOTOCORE, "ParamValidationError ValidationError"
    ),
    _no_login: (
        *names(
            BOTOCORE,
            "NoCredentialsError PartialCredentialsError CredentialRetrievalError NoAuthTokenError TokenRetrievalError "
            "SSOError LoginError ProfileNotFound NoRegionError MetadataRetrievalError UnknownCredentialError",
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
    _cut_short: names("openai", "LengthFinishReasonError"),
    _filtered: names("openai", "ContentFilterFinishReasonError"),
    says("NOT_FOUND", "The domain name does not exist."): names(RESOLVER, "NXDOMAIN"),
    says("NOT_FOUND", "The domain name has no record of this type."): names(RESOLVER, "NoAnswer EmptyHostAnswers"),
    _just(_dns_timeout): ("dns.exception.Timeout",),
    _just(_no_name_server): names(RESOLVER, "NoNameservers"),
    says("NOT_CONFIGURED", "The server has no name server to ask."): names(RESOLVER, "NoResolverConfiguration"),
    _not_a_name: (
        *names("dns.exception", "SyntaxError"),
        *names("dns.name", "LabelTooLong NameTooLong BadLabelType IDNAException NeedAbsoluteNameOrOrigin"),
        *names(RESOLVER, "YXDOMAIN NotAbsolute NoMetaqueries"),
    ),
    _just(no_address): ("dns.exception.DNSException",),
}
SHIPPED.add({name: row for row, known in _ROWS.items() for name in known})
