"""Where a code stands in the other contracts: one row for each core code, and each contract code's row."""

from __future__ import annotations

from typing import Final

from failwell.model import DEFAULT_CODES, Kind, ToolError, find

# core code: (contract 001, contract 003)
ROWS: Final[dict[str, tuple[str, str]]] = {
    "NOT_FOUND": ("NOT_FOUND", "not_found"),
    "CONFLICT": ("CLIENT_ERROR", "invalid_input"),
    "IDEMPOTENCY_CONFLICT": ("CLIENT_ERROR", "invalid_input"),
    "IDEMPOTENCY_UNFINISHED": ("UNKNOWN_ERROR", "serialization_error"),
    "VALIDATION_ERROR": ("CLIENT_ERROR", "validation_error"),
    "MISSING_REQUIRED_FIELD": ("CLIENT_ERROR", "validation_error"),
    "MISSING_DISCRIMINATOR": ("CLIENT_ERROR", "validation_error"),
    "INVALID_DISCRIMINATOR": ("CLIENT_ERROR", "validation_error"),
    "UNKNOWN_ACTION": ("CLIENT_ERROR", "invalid_input"),
    "UNKNOWN_TOOL": ("NOT_FOUND", "not_found"),
    "UNAUTHORIZED": ("AUTHENTICATION_ERROR", "x_auth_expired"),
    "FORBIDDEN": ("AUTHENTICATION_ERROR", "x_forbidden"),
    "RATE_LIMITED": ("CLIENT_ERROR", "x_rate_limited"),
    "TIMEOUT": ("NETWORK_ERROR", "x_network_error"),
    "NETWORK_ERROR": ("NETWORK_ERROR", "x_network_error"),
    "UPSTREAM_ERROR": ("SERVER_ERROR", "x_api_error"),
    "UNAVAILABLE": ("SERVER_ERROR", "x_api_error"),
    "SERVER_BUSY": ("SERVER_ERROR", "db_error"),
    "TLS_ERROR": ("NETWORK_ERROR", "x_network_error"),
    "UNSUPPORTED": ("CLIENT_ERROR", "unsupported_media_type"),
    "NOT_CONFIGURED": ("UNKNOWN_ERROR", "x_not_configured"),
    "INVALID_CONFIGURATION": ("CLIENT_ERROR", "policy_denied_hard_rule"),
    "POLICY_DENIED": ("CLIENT_ERROR", "policy_denied_blocked"),
    "PLAN_NOT_APPROVED": ("CLIENT_ERROR", "policy_denied_hard_rule"),
    "PLAN_EXPIRED": ("CLIENT_ERROR", "policy_denied_hard_rule"),
    "DEVICE_AUTH_FAILED": ("AUTHENTICATION_ERROR", "x_auth_expired"),
    "PARTIAL_FAILURE": ("SERVER_ERROR", "thread_partial_failure"),
    "OUTCOME_UNKNOWN": ("UNKNOWN_ERROR", "serialization_error"),
    "CALL_IN_DOUBT": ("UNKNOWN_ERROR", "serialization_error"),
    "IO_ERROR": ("UNKNOWN_ERROR", "file_read_error"),
    "INTERNAL_ERROR": ("UNKNOWN_ERROR", "serialization_error"),
    "UNKNOWN_ERROR": ("UNKNOWN_ERROR", "serialization_error"),
    "DEPRECATED": ("CLIENT_ERROR", "invalid_input"),
    "PARSE_ERROR": ("CLIENT_ERROR", "invalid_input"),
    "INVALID_REQUEST": ("CLIENT_ERROR", "invalid_input"),
    "METHOD_NOT_FOUND": ("NOT_FOUND", "not_found"),
    "INVALID_PARAMS": ("CLIENT_ERROR", "invalid_input"),
}

# A contract's own code and the core code it is a case of; codes that are core codes themselves need no line.
CORE_OF: Final[dict[str, str]] = {
    "VALIDATION": "VALIDATION_ERROR",
    "PERMISSION": "FORBIDDEN",
    "TRANSIENT": "UNAVAILABLE",
    "INTERNAL": "INTERNAL_ERROR",
    "SERVER_ERROR": "UPSTREAM_ERROR",
    "CLIENT_ERROR": "VALIDATION_ERROR",
    "AUTHENTICATION_ERROR": "UNAUTHORIZED",
    "INPUT_REJECTED": "POLICY_DENIED",
    "AUTH_REQUIRED": "UNAUTHORIZED",
    "HANDOFF_CONNECTING": "UNAVAILABLE",
    "x_rate_limited": "RATE_LIMITED",
    "x_auth_expired": "UNAUTHORIZED",
    "x_forbidden": "FORBIDDEN",
    "x_account_restricted": "FORBIDDEN",
    "x_network_error": "NETWORK_ERROR",
    "x_not_configured": "NOT_CONFIGURED",
    "x_api_error": "UPSTREAM_ERROR",
    "db_error": "UPSTREAM_ERROR",
    "validation_error": "VALIDATION_ERROR",
    "invalid_input": "VALIDATION_ERROR",
    "tweet_too_long": "VALIDATION_ERROR",
    "llm_error": "UPSTREAM_ERROR",
    "llm_not_configured": "NOT_CONFIGURED",
    "unsupported_media_type": "UNSUPPORTED",
    "file_read_error": "IO_ERROR",
    "media_upload_error": "IO_ERROR",
    "thread_partial_failure": "PARTIAL_FAILURE",
    "policy_error": "UPSTREAM_ERROR",
    "policy_denied_blocked": "POLICY_DENIED",
    "policy_denied_rate_limited": "POLICY_DENIED",
    "policy_denied_hard_rule": "POLICY_DENIED",
    "policy_denied_user_rule": "POLICY_DENIED",
    "context_error": "IO_ERROR",
    "recommendation_error": "IO_ERROR",
    "topic_error": "IO_ERROR",
    "not_found": "NOT_FOUND",
    "serialization_error": "INTERNAL_ERROR",
    "JSONRPC_INTERNAL_ERROR": "UNKNOWN_ERROR",
    "DEVICE_UNREACHABLE": "NETWORK_ERROR",
    "DEVICE_ERROR": "IO_ERROR",
    "DEVICE_UNSUPPORTED": "UNSUPPORTED",
    "UNSAFE_OPERATION": "POLICY_DENIED",
}


def core_code(error: ToolError) -> str:
    """The core code the error is a case of; the kind's own where the code is unknown."""
    info = error.info
    if info is not None:
        name = CORE_OF.get(info.name, info.name)
        if name in ROWS:
            return name
    return default_code(error)


def default_code(error: ToolError) -> str:
    """The code for a format that must have one: the kind's own, or one that agrees about retrying."""
    name = DEFAULT_CODES[error.kind]
    known = find(name, exact=True)
    if known is None or known.retryable is error.retryable:
        return name
    return DEFAULT_CODES[Kind.TRANSIENT if error.retryable else Kind.INTERNAL]


def number_of(error: ToolError) -> int:
    """The JSON-RPC number of the error, as contract 004 writes it."""
    info = error.info
    if info is not None and info.number is not None:
        return info.number
    core = find(core_code(error), exact=True)
    return core.number if core and core.number is not None else -32000
