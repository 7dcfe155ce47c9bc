"""The codes Failwell ships: `core`, those of the five contracts, and the names of two standards.

Adding a code is adding a line; the command line, the documentation and the lookups follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from .codes import Catalog, Code, Effect, Strategy, ship

# One line per code reads as a table.
# fmt: off
FIX, USER_ACTION, ABORT = Strategy.FIX, Strategy.USER_ACTION, Strategy.ABORT
UNTOUCHED = Effect.NONE


class Core(Catalog, name="core", register=False):
    """What most tools need, with a place in every contract."""

    NOT_FOUND = Code("not_found", "The thing asked for does not exist.", http_status=404, number=-32003)
    CONFLICT = Code("conflict", "It exists already, is held by someone, or changed.", http_status=409, number=-32004)
    IDEMPOTENCY_CONFLICT = Code("conflict", "The idempotency key was used for another call.", http_status=409, number=-32004)
    IDEMPOTENCY_UNFINISHED = Code("internal", "A call with the key has begun, and nobody knows how it ended.", effect=Effect.UNKNOWN, http_status=500, number=-32000)
    VALIDATION_ERROR = Code("validation", "The arguments break a rule.", http_status=422, number=-32005)
    MISSING_REQUIRED_FIELD = Code("validation", "A required argument was not sent.", http_status=400, number=-32005)
    MISSING_DISCRIMINATOR = Code("validation", "A grouped tool was called without its action.", http_status=400, number=-32602)
    INVALID_DISCRIMINATOR = Code("validation", "The action of a grouped tool is not a text.", http_status=400, number=-32602)
    UNKNOWN_ACTION = Code("validation", "A grouped tool has no such action.", http_status=404, number=-32602)
    UNKNOWN_TOOL = Code("not_found", "The server has no such tool.", http_status=404, number=-32601)
    UNAUTHORIZED = Code("permission", "Credentials are missing, wrong or expired.", http_status=401, number=-32001)
    FORBIDDEN = Code("permission", "The caller is known but may not do this.", http_status=403, number=-32002)
    RATE_LIMITED = Code("transient", "Too many requests.", effect=UNTOUCHED, http_status=429, number=-32006)
    TIMEOUT = Code("transient", "It took too long.", http_status=504, number=-32007)
    NETWORK_ERROR = Code("transient", "Something on the way could not be reached.", number=-32010)
    UPSTREAM_ERROR = Code("transient", "A service behind the tool failed.", http_status=502, number=-32012)
    UNAVAILABLE = Code("transient", "It cannot be done right now.", http_status=503, number=-32010)
    SERVER_BUSY = Code("transient", "All slots are taken.", effect=UNTOUCHED, http_status=503, number=-32006)
    TLS_ERROR = Code("transient", "The connection could not be secured.", retryable=False, strategy=ABORT, number=-32010)
    UNSUPPORTED = Code("validation", "The target cannot do this at all.", strategy=ABORT, http_status=501, number=-32013)
    NOT_CONFIGURED = Code("internal", "A part of the server was never set up.", strategy=USER_ACTION, http_status=503, number=-32020)
    INVALID_CONFIGURATION = Code("conflict", "The present configuration rules it out.", strategy=ABORT, http_status=409, number=-32020)
    POLICY_DENIED = Code("permission", "A policy or safety rule rules it out.", strategy=ABORT, http_status=403, number=-32021)
    PLAN_NOT_APPROVED = Code("permission", "The plan has to be approved first.", http_status=409, number=-32030)
    PLAN_EXPIRED = Code("conflict", "The plan is too old to be applied.", strategy=USER_ACTION, http_status=410, number=-32031)
    DEVICE_AUTH_FAILED = Code("permission", "The device rejected the credentials.", title="Device Authentication Failed", http_status=401, number=-32011)
    PARTIAL_FAILURE = Code("transient", "Some of it was done, then it failed.", strategy=FIX, effect=Effect.PARTIAL, http_status=207, number=-32012)
    OUTCOME_UNKNOWN = Code("internal", "It failed part-way, and may have been done.", strategy=USER_ACTION, effect=Effect.UNKNOWN, http_status=500, number=-32000)
    CALL_IN_DOUBT = Code("internal", "The call before may have been done already, so it was not run again.", strategy=USER_ACTION, effect=Effect.UNKNOWN, http_status=409, number=-32000)
    IO_ERROR = Code("internal", "A file or a stream could not be read or written.", title="I/O Error", http_status=500, number=-32000)
    INTERNAL_ERROR = Code("internal", "The tool itself broke.", http_status=500, number=-32000)
    UNKNOWN_ERROR = Code("internal", "Nobody could tell what happened.", number=-32603)
    DEPRECATED = Code("validation", "It still works, but will go away.", number=-32000)
    PARSE_ERROR = Code("validation", "The message is not JSON.", title="Parse error", http_status=400, number=-32700)
    INVALID_REQUEST = Code("validation", "The message is no request.", title="Invalid Request", http_status=400, number=-32600)
    METHOD_NOT_FOUND = Code("not_found", "There is no such method.", title="Method not found", http_status=404, number=-32601)
    INVALID_PARAMS = Code("validation", "The parameters do not fit the method.", title="Invalid params", http_status=400, number=-32602)


class Typed(Catalog, name="typed", register=False):
    """Contract 000: six types, one for each thing an agent can do."""

    NOT_FOUND = Code("not_found", "Work around the missing resource.")
    CONFLICT = Code("conflict", "Negotiate with the holder, or wait.")
    VALIDATION = Code("validation", "Fix the input.")
    PERMISSION = Code("permission", "Escalate to the user.")
    TRANSIENT = Code("transient", "Retry unchanged.")
    INTERNAL = Code("internal", "Give up.")


class V1(Catalog, name="v1", register=False):
    """Contract 001: the codes of `toolError:v1`."""

    NETWORK_ERROR = Code("transient", "The network failed or timed out.")
    SERVER_ERROR = Code("transient", "The service answered with a 5xx status.")
    CLIENT_ERROR = Code("validation", "The service answered with a 4xx status.")
    NOT_FOUND = Code("not_found", "The service answered with status 404.")
    AUTHENTICATION_ERROR = Code("permission", "The service answered with status 401 or 403.")
    UNKNOWN_ERROR = Code("internal", "None of the others fits.")


class Xml(Catalog, name="xml", register=False):
    """Contract 002: ten canonical codes, and the structural ones its framework sends by itself."""

    NOT_FOUND = Code("not_found", "The entity does not exist.")
    VALIDATION_ERROR = Code("validation", "A business rule was broken.")
    UNAUTHORIZED = Code("permission", "Credentials are missing.")
    FORBIDDEN = Code("permission", "The permissions do not suffice.")
    CONFLICT = Code("conflict", "A duplicate, or a state that does not allow it.")
    RATE_LIMITED = Code("transient", "Too many requests.", effect=UNTOUCHED)
    TIMEOUT = Code("transient", "The operation timed out.")
    INTERNAL_ERROR = Code("internal", "The server did not expect this.")
    DEPRECATED = Code("validation", "The feature is on its way out.")
    SERVER_BUSY = Code("transient", "The concurrency limit is reached.", effect=UNTOUCHED)
    MISSING_REQUIRED_FIELD = Code("validation", "An argument is missing.")
    MISSING_DISCRIMINATOR = Code("validation", "The action of a grouped tool is missing.")
    INVALID_DISCRIMINATOR = Code("validation", "The action of a grouped tool is not a text.")
    UNKNOWN_ACTION = Code("validation", "The grouped tool has no such action.")
    UNKNOWN_TOOL = Code("not_found", "There is no such tool.")
    INVALID_PARAMS = Code("validation", "The parameters do not fit.", title="Invalid params")
    INPUT_REJECTED = Code("permission", "An input filter turned the call down.")
    AUTH_REQUIRED = Code("permission", "The caller has to log in.")
    HANDOFF_CONNECTING = Code("transient", "Another server is being connected.")


class Social(Catalog, name="social", register=False):
    """Contract 003: the closed set of 27 codes. `retryable` is a property of the code, never of the call."""

    x_rate_limited = Code("transient", "Rate limit exceeded", category="X API", effect=UNTOUCHED)
    x_auth_expired = Code("permission", "OAuth token expired", category="X API")
    x_forbidden = Code("permission", "Insufficient permissions", category="X API")
    x_account_restricted = Code("permission", "Account suspended/restricted", category="X API")
    x_network_error = Code("transient", "Network/timeout error", category="X API")
    x_not_configured = Code("internal", "X client not initialized", category="X API", strategy=USER_ACTION)
    x_api_error = Code("transient", "Generic X API error", category="X API")
    db_error = Code("transient", "Database operation failed", category="Database")
    validation_error = Code("validation", "Input validation failed", category="Validation")
    invalid_input = Code("validation", "Invalid parameter value", category="Validation")
    tweet_too_long = Code("validation", "Tweet exceeds 280 weighted chars", category="Validation")
    llm_error = Code("transient", "LLM provider call failed", category="LLM")
    llm_not_configured = Code("internal", "No LLM provider configured", category="LLM", strategy=USER_ACTION)
    unsupported_media_type = Code("validation", "File extension not supported", category="Media")
    file_read_error = Code("internal", "Could not read media file", category="Media")
    media_upload_error = Code("internal", "Upload to X API failed", category="Media")
    thread_partial_failure = Code("transient", "Some tweets posted, then failure", category="Thread", retryable=True, strategy=FIX, effect=Effect.PARTIAL)
    policy_error = Code("transient", "Policy evaluation error", category="Policy")
    policy_denied_blocked = Code("permission", "Blocked by policy rule", category="Policy", strategy=ABORT)
    policy_denied_rate_limited = Code("permission", "Policy rate limit exceeded", category="Policy", strategy=ABORT)
    policy_denied_hard_rule = Code("permission", "Hard safety rule violation", category="Policy", strategy=ABORT)
    policy_denied_user_rule = Code("permission", "User-defined rule violation", category="Policy", strategy=ABORT)
    context_error = Code("internal", "Author context lookup failed", category="Context")
    recommendation_error = Code("internal", "Engagement recommendation failed", category="Context")
    topic_error = Code("internal", "Topic analysis failed", category="Context")
    not_found = Code("not_found", "Requested resource not found", category="Resource")
    serialization_error = Code("internal", "JSON serialization failed", category="Internal")


class JsonRpc(Catalog, name="jsonrpc", register=False):
    """Contract 004: the five codes of JSON-RPC and sixteen of its own, by range."""

    PARSE_ERROR = Code("validation", "The message is not JSON.", title="Parse error", category="JSON-RPC", number=-32700)
    INVALID_REQUEST = Code("validation", "The message is no request.", title="Invalid Request", category="JSON-RPC", number=-32600)
    METHOD_NOT_FOUND = Code("not_found", "There is no such method or tool.", title="Method not found", category="JSON-RPC", number=-32601)
    INVALID_PARAMS = Code("validation", "The parameters are missing or wrong.", title="Invalid params", category="JSON-RPC", number=-32602)
    JSONRPC_INTERNAL_ERROR = Code("internal", "The server crashed on the message.", title="Internal error", category="JSON-RPC", number=-32603)
    INTERNAL_ERROR = Code("internal", "The server did not expect this.", category="General", number=-32000)
    UNAUTHORIZED = Code("permission", "Authentication is missing or invalid.", category="General", number=-32001)
    FORBIDDEN = Code("permission", "The user may not do this.", category="General", number=-32002)
    NOT_FOUND = Code("not_found", "The device, plan or other resource does not exist.", category="General", number=-32003)
    CONFLICT = Code("conflict", "It exists already, or the state rules it out.", category="General", number=-32004)
    VALIDATION_ERROR = Code("validation", "The input is invalid.", category="General", number=-32005)
    RATE_LIMITED = Code("transient", "Too many requests.", category="General", effect=UNTOUCHED, number=-32006)
    TIMEOUT = Code("transient", "The operation took too long.", category="General", number=-32007)
    DEVICE_UNREACHABLE = Code("transient", "The device does not answer.", category="Device", number=-32010)
    DEVICE_AUTH_FAILED = Code("permission", "The device rejected the credentials.", title="Device Authentication Failed", category="Device", number=-32011)
    DEVICE_ERROR = Code("internal", "The device answered with an error.", category="Device", number=-32012)
    DEVICE_UNSUPPORTED = Code("validation", "The device cannot do this.", category="Device", strategy=ABORT, number=-32013)
    INVALID_CONFIGURATION = Code("conflict", "The configuration rules it out.", category="Configuration", strategy=ABORT, number=-32020)
    UNSAFE_OPERATION = Code("permission", "A safety rule forbids it.", category="Configuration", strategy=ABORT, number=-32021)
    PLAN_NOT_APPROVED = Code("permission", "The plan has to be approved first.", category="Plan", number=-32030)
    PLAN_EXPIRED = Code("conflict", "The plan is too old to be applied.", category="Plan", strategy=USER_ACTION, number=-32031)


class Standard(Catalog, name="standard", register=False):
    """What HTTP calls its statuses, and gRPC its status codes."""

    BAD_REQUEST = Code("validation", "HTTP: the request is wrong.", http_status=400, number=-32005)
    METHOD_NOT_ALLOWED = Code("validation", "HTTP: the resource does not take this method.", strategy=ABORT, http_status=405, number=-32013)
    REQUEST_TIMEOUT = Code("transient", "HTTP: the request took too long.", http_status=408, number=-32007)
    GONE = Code("not_found", "HTTP: the resource is gone for good.", http_status=410, number=-32003)
    PRECONDITION_FAILED = Code("conflict", "HTTP: the resource is not as the request expects.", http_status=412, number=-32004)
    PAYLOAD_TOO_LARGE = Code("validation", "HTTP: the request is too large.", http_status=413, number=-32005)
    UNPROCESSABLE_ENTITY = Code("validation", "HTTP: the request makes no sense.", http_status=422, number=-32005)
    LOCKED = Code("conflict", "HTTP: somebody holds the resource.", http_status=423, number=-32004)
    TOO_MANY_REQUESTS = Code("transient", "HTTP: too many requests.", effect=UNTOUCHED, http_status=429, number=-32006)
    INTERNAL_SERVER_ERROR = Code("internal", "HTTP: the server broke.", http_status=500, number=-32000)
    NOT_IMPLEMENTED = Code("validation", "HTTP: the server cannot do this at all.", strategy=ABORT, http_status=501, number=-32013)
    BAD_GATEWAY = Code("transient", "HTTP: a service behind the server failed.", http_status=502, number=-32012)
    SERVICE_UNAVAILABLE = Code("transient", "HTTP: the service cannot answer right now.", http_status=503, number=-32010)
    GATEWAY_TIMEOUT = Code("transient", "HTTP: a service behind the server took too long.", http_status=504, number=-32007)
    INVALID_ARGUMENT = Code("validation", "gRPC: an argument is wrong.", http_status=400, number=-32005)
    OUT_OF_RANGE = Code("validation", "gRPC: an argument is past the valid range.", http_status=400, number=-32005)
    FAILED_PRECONDITION = Code("conflict", "gRPC: the system is not in the state for this.", http_status=400, number=-32004)
    ALREADY_EXISTS = Code("conflict", "gRPC: it exists already.", http_status=409, number=-32004)
    PERMISSION_DENIED = Code("permission", "gRPC: the caller may not do this.", http_status=403, number=-32002)
    UNAUTHENTICATED = Code("permission", "gRPC: the caller has no valid credentials.", http_status=401, number=-32001)
    RESOURCE_EXHAUSTED = Code("transient", "gRPC: a quota or a resource is used up.", effect=UNTOUCHED, http_status=429, number=-32006)
    DEADLINE_EXCEEDED = Code("transient", "gRPC: it took too long.", http_status=504, number=-32007)
    UNIMPLEMENTED = Code("validation", "gRPC: the server cannot do this at all.", strategy=ABORT, http_status=501, number=-32013)


CATALOGS: Mapping[str, type[Catalog]] = MappingProxyType(
    {catalog.catalog: catalog for catalog in (Core, Typed, V1, Xml, Social, JsonRpc, Standard)}
)

COMMON_CODES = frozenset({"INTERNAL_ERROR", "UNKNOWN_TOOL", "VALIDATION_ERROR"})
"""What any tool may answer, whatever it does and declares."""

ship(*CATALOGS.values())
