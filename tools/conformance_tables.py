"""What the conformance vectors are made of: errors to render, wires to read, failures to decide about.

Errors are written as canonical JSON with only what is not default; `tools/conformance.py` completes them. Nothing here
may hold anything the guard would change: an implementation passes with a guard and without one.
"""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]

CONTRACTS = "typed v1 xml envelope jsonrpc"
ALL = f"{CONTRACTS} problem text canonical"

_EMAIL: Row = {
    "path": ["email"],
    "message": "Invalid email",
    "sent": "bad-email",
    "expected": "a valid email address (e.g. user@example.com)",
}
_ROLE: Row = {
    "path": ["role"],
    "message": "Invalid enum value. Expected 'admin' | 'user', received 'superadmin'",
    "sent": "superadmin",
    "options": ["admin", "user"],
}

# name: (formats it is rendered in, the error)
ERRORS: dict[str, tuple[str, Row]] = {
    # how it was said, and what may have been done
    "quoted": (
        "canonical problem",
        {"code": "NOT_FOUND", "message": "no such file", "severity": "error", "standing": "quoted"},
    ),
    "may-have-been-done": (
        ALL,
        {
            "code": "TIMEOUT",
            "message": "The bank did not answer.",
            "severity": "error",
            "tool": "pay",
            "effect": "unknown",
        },
    ),
    "done-in-part": (
        ALL,
        {"code": "PARTIAL_FAILURE", "message": "2 of 5 were sent.", "severity": "error", "tool": "send"},
    ),
    "done-and-checked": (
        ALL,
        {
            "code": "UPSTREAM_ERROR",
            "message": "The receipt could not be mailed.",
            "severity": "error",
            "tool": "pay",
            "effect": "done",
            "verify": {"tool": "get_invoice", "arguments": {"id": 7}},
        },
    ),
    # one of each kind, by its default code
    "not-found": (ALL, {"code": "NOT_FOUND", "message": 'agent "fd-safety" not registered', "severity": "error"}),
    "conflict-held": (
        CONTRACTS,
        {
            "code": "CONFLICT",
            "message": "reservation conflict: 2 conflicts",
            "severity": "error",
            "recoverable": True,
            "conflicts": [
                {"agent_id": "agent-2", "pattern": "src/*.go", "held_by": "agent-2"},
                {"held_by": "agent-3", "since": "09:30", "shared": False},
            ],
        },
    ),
    "validation": (
        "typed v1 jsonrpc text",
        {"code": "VALIDATION_ERROR", "message": "limit must be 1 to 100", "severity": "error"},
    ),
    "permission": (
        "typed v1 jsonrpc text",
        {"code": "FORBIDDEN", "message": "Only owners may delete.", "severity": "error"},
    ),
    "transient": (
        "typed v1 jsonrpc text",
        {"code": "UNAVAILABLE", "message": "The index is being rebuilt.", "severity": "error"},
    ),
    "internal": (
        "typed v1 jsonrpc text",
        {"code": "INTERNAL_ERROR", "message": "The tool broke.", "severity": "error"},
    ),
    # without a code, and without anything
    "kind-not-found": ("typed v1", {"kind": "not_found", "message": "no such page"}),
    "kind-conflict": ("typed v1", {"kind": "conflict", "message": "it exists already"}),
    "kind-validation": ("typed v1 jsonrpc", {"kind": "validation", "message": "bad input"}),
    "kind-permission": ("typed v1", {"kind": "permission", "message": "access denied"}),
    "kind-transient": ("typed v1 envelope", {"kind": "transient", "message": "try later"}),
    "message-only": ("typed v1 xml envelope problem text canonical", {"message": 'Project "proj_xyz" not found'}),
    "empty-message": ("typed xml text", {"code": "TIMEOUT", "message": "", "severity": "error"}),
    # delays
    "rate-limited": (
        ALL,
        {"code": "RATE_LIMITED", "message": "Too many requests.", "severity": "error", "retry_after": 30},
    ),
    "delay-fraction": (
        f"{CONTRACTS} text",
        {"code": "SERVER_BUSY", "message": "All slots are taken.", "severity": "error", "retry_after": 2.5},
    ),
    "delay-until": (
        "envelope canonical",
        {
            "code": "x_rate_limited",
            "message": "Rate limit exceeded",
            "severity": "error",
            "reset_at": "2026-03-01T12:00:00Z",
        },
    ),
    # codes whose place in a contract is not the obvious one
    "timeout": ("v1", {"code": "TIMEOUT", "message": "Request timeout", "severity": "error"}),
    "tls": ("v1 envelope jsonrpc", {"code": "TLS_ERROR", "message": "Certificate expired", "severity": "error"}),
    "unauthorized": (
        "v1",
        {"code": "UNAUTHORIZED", "message": "The session ended.", "severity": "error", "http_status": 401},
    ),
    "server-error": (
        "typed v1 problem",
        {
            "code": "SERVER_ERROR",
            "message": "Internal server error: Database connection failed",
            "severity": "error",
            "http_status": 500,
        },
    ),
    "policy-denied": (
        "envelope",
        {
            "code": "policy_denied_rate_limited",
            "message": "Policy rate limit exceeded",
            "severity": "error",
            "policy_decision": "denied",
            "reset_at": "2026-03-01T12:00:00Z",
        },
    ),
    "partial": (
        "envelope text",
        {"code": "thread_partial_failure", "message": "2 of 5 tweets were posted.", "severity": "error"},
    ),
    "device": (
        "v1 jsonrpc",
        {
            "code": "DEVICE_UNREACHABLE",
            "message": "Cannot connect to device 'dev-001' at 192.0.2.7",
            "severity": "error",
            "retry_after": 60,
            "details": {"device_id": "dev-001"},
        },
    ),
    "plan-expired": (
        "envelope jsonrpc",
        {"code": "PLAN_EXPIRED", "message": "The plan is a week old.", "severity": "error"},
    ),
    "invalid-params": (
        "jsonrpc",
        {"code": "INVALID_PARAMS", "message": "arguments must be an object", "severity": "error"},
    ),
    "custom-code": (
        f"{CONTRACTS} problem canonical",
        {
            "code": "InvoiceAlreadyPaid",
            "kind": "conflict",
            "message": "Invoice inv_1 is paid.",
            "severity": "error",
            "details": {"invoice": "inv_1", "paid_on": "2026-05-03"},
        },
    ),
    "custom-retryable": (
        "v1 envelope problem",
        {"code": "ShardMoving", "kind": "internal", "retryable": True, "message": "Moving.", "severity": "error"},
    ),
    "other-kind": (
        "v1 problem",
        {"code": "TIMEOUT", "kind": "internal", "message": "Gave up for good.", "severity": "error"},
    ),
    # what to do about it
    "actions": (
        f"{CONTRACTS} text",
        {
            "code": "ProjectNotFound",
            "kind": "not_found",
            "message": "Project 'proj_xyz' does not exist.",
            "severity": "error",
            "suggestion": "Call projects.list first to get valid IDs, then retry.",
            "actions": [{"tool": "projects.list"}],
        },
    ),
    "actions-with-arguments": (
        "jsonrpc text",
        {
            "code": "NOT_FOUND",
            "message": "Device 'dev-1' not found",
            "severity": "error",
            "actions": [
                {"tool": "registry.list", "description": "All devices", "arguments": {"limit": 5, "all": True}},
                {"tool": "registry.add"},
            ],
        },
    ),
    "next-steps": (
        "jsonrpc text",
        {
            "code": "DEVICE_AUTH_FAILED",
            "message": "Authentication failed for device 'dev-1'",
            "severity": "error",
            "next_steps": ["Check the credentials", "Look at the device's own log."],
        },
    ),
    "strategy": (
        "jsonrpc",
        {
            "code": "NOT_FOUND",
            "message": "The licence is missing.",
            "severity": "error",
            "strategy": "user_action_required",
        },
    ),
    # arguments
    "field": (
        "xml jsonrpc text",
        {
            "code": "VALIDATION_ERROR",
            "message": "Invalid value for limit",
            "severity": "error",
            "fields": [{"path": ["limit"], "message": "Too large", "sent": 500, "expected": "at most 100"}],
        },
    ),
    "fields": (
        f"{CONTRACTS} problem text canonical",
        {
            "code": "VALIDATION_ERROR",
            "message": "The arguments are invalid: email, role.",
            "severity": "error",
            "tool": "users",
            "action": "create",
            "fields": [_EMAIL, _ROLE],
        },
    ),
    "fields-deep": (
        "xml problem text",
        {
            "code": "VALIDATION_ERROR",
            "message": "The arguments are invalid.",
            "severity": "error",
            "tool": "orders",
            "fields": [
                {"path": ["items", 1, "qty"], "message": "Required", "rule": "required"},
                {"path": ["a/b", "c~d"], "message": "Expected a number!", "sent": None},
                {"path": [], "message": "Unrecognized key(s) in object: 'x'. Check for typos."},
            ],
        },
    ),
    "fields-sent": (
        "xml text",
        {
            "code": "VALIDATION_ERROR",
            "message": "The arguments are invalid.",
            "severity": "error",
            "fields": [
                {"path": ["flag"], "message": "Not a number", "sent": True},
                {"path": ["list"], "message": "Too many", "sent": [1, 2, 3], "expected": "Maximum 2 items."},
                {"path": ["map"], "message": "Not a text", "sent": {"a": 1}},
                {"path": ["name"], "message": "No apostrophes", "sent": "it's"},
                {"path": ["long"], "message": "Too long", "sent": "abcdefghij" * 6},
                {"path": ["level"], "message": "Not a level", "sent": 9, "options": [1, 2, "max"]},
            ],
        },
    ),
    "patch": (
        "text canonical",
        {
            "code": "VALIDATION_ERROR",
            "message": "The arguments are invalid: limt.",
            "severity": "error",
            "patch": [
                {"op": "rename", "path": ["limt"], "to": "limit"},
                {"op": "set", "path": ["sort", 0], "value": None},
                {"op": "remove", "path": ["debug"]},
            ],
        },
    ),
    # grouped tools
    "required": (
        "v1 xml",
        {
            "code": "MISSING_REQUIRED_FIELD",
            "message": 'Required field "workspace_id" is missing.',
            "suggestion": 'Provide the "workspace_id" parameter and retry.',
        },
    ),
    "routing-missing": (
        "xml jsonrpc",
        {
            "code": "MISSING_DISCRIMINATOR",
            "message": 'The required field "action" is missing.',
            "suggestion": 'Add the "action" field and call the tool again.',
            "actions": [{"tool": "projects", "arguments": {"action": name}} for name in ("list", "create", "delete")],
        },
    ),
    "routing-unknown": (
        "xml envelope text",
        {
            "code": "UNKNOWN_ACTION",
            "message": 'The action "destory" does not exist.',
            "suggestion": "Choose a valid action from available_actions and call the tool again.",
            "actions": [{"tool": "projects", "arguments": {"action": name}} for name in ("list", "delete")],
        },
    ),
    # effect
    "effect-unknown": (
        "typed problem text canonical",
        {
            "code": "TIMEOUT",
            "message": "The bank did not answer in time.",
            "severity": "error",
            "effect": "unknown",
            "verify": {"tool": "get_invoice", "arguments": {"id": "inv_1"}},
        },
    ),
    "effect-done": (
        "text",
        {"code": "TIMEOUT", "message": "The receipt was lost.", "severity": "error", "effect": "done"},
    ),
    # severity
    "warning": (
        "xml envelope text",
        {
            "code": "DEPRECATED",
            "message": "This endpoint is deprecated. Use billing.invoices_v2 instead.",
            "severity": "warning",
            "actions": [{"tool": "billing.invoices_v2"}],
        },
    ),
    "critical": ("v1 xml", {"code": "IO_ERROR", "message": "The disk is full.", "severity": "critical"}),
    # characters
    "markup": (
        "typed xml text",
        {
            "code": "A&B<\"c\">'d'",
            "kind": "validation",
            "message": "if a < b && c > d then ]]> \"q\" 'r'",
            "severity": "error",
            "suggestion": "Use &lt; or <b>.",
            "details": {"k\"<&>'": '<v a="1">&amp;</v>', "line\nbreak\ttab": "x\ny\tz\r\nend"},
        },
    ),
    "unicode": (
        "typed v1 xml jsonrpc problem text canonical",
        {
            "code": "Größe",
            "kind": "conflict",
            "message": "Grüße aus 東京 🙈 e\u0301 ½",
            "severity": "error",
            "details": {"schlüssel": "wért", "🙈": ["東", {"京": "é"}]},
        },
    ),
    "not-xml": (
        "xml",
        {"code": "IO_ERROR", "message": "before \ufffe between \uffff after", "severity": "error"},
    ),
    "backslashes": (
        "typed xml",
        {"code": "IO_ERROR", "message": 'C:\\new\\table "x" \\u0041 \\', "severity": "error"},
    ),
    "long-options": (
        "xml",
        {
            "code": "VALIDATION_ERROR",
            "message": "The arguments are invalid: city.",
            "severity": "error",
            "fields": [{"path": ["city"], "message": "Unknown", "sent": "東" * 51, "options": ["東京都", "京都"]}],
        },
    ),
    # values
    "details": (
        "typed v1 xml jsonrpc",
        {
            "code": "IO_ERROR",
            "message": "Could not read it.",
            "severity": "error",
            "details": {
                "text": "x",
                "empty": "",
                "whole": 3,
                "fraction": -0.5,
                "large": 9007199254740991,
                "yes": True,
                "no": False,
                "null": None,
                "list": [],
                "map": {},
                "deep": {"a": [1, [2, {"b": None}]]},
            },
        },
    ),
    "details-own-names": (
        "typed v1 jsonrpc",
        {
            "code": "IO_ERROR",
            "message": "Names that mean something to a contract.",
            "severity": "error",
            "details": {
                "conflicts": "none",
                "retry_after": 5,
                "retryAfter": 6,
                "statusCode": 404,
                "mcp_error_code": "X",
                "suggestion": "s",
                "field": "f",
                "expected": "e",
                "kept": 1,
            },
        },
    ),
    "envelope-fields": (
        "envelope canonical",
        {
            "code": "policy_denied_blocked",
            "message": "Blocked by policy rule",
            "severity": "error",
            "policy_decision": "denied",
            "correlation_id": "c-17",
            "meta": {"elapsed_ms": 42, "retry_count": 2, "mode": "composer", "approval_mode": True, "other": "x"},
        },
    ),
    "everything": (
        ALL,
        {
            "code": "RATE_LIMITED",
            "title": "Slow Down",
            "message": "Too many requests.",
            "severity": "critical",
            "recoverable": False,
            "strategy": "user_action_required",
            "retry_after": 12.5,
            "reset_at": "2026-03-01T12:00:00Z",
            "suggestion": "Wait, or ask for a larger plan",
            "next_steps": ["Open the settings", "Pick a plan"],
            "actions": [{"tool": "plans.list", "description": "What there is", "arguments": {"all": True}}],
            "fields": [{**_EMAIL, "options": ["a@b.example"], "rule": "format"}],
            "patch": [{"op": "set", "path": ["email"], "value": "a@b.example"}],
            "conflicts": [{"agent_id": "a2", "pattern": "src/*", "held_by": "a2", "until": 5}],
            "effect": "unknown",
            "verify": {"tool": "plans.get", "description": "The plan now"},
            "details": {"limit": 100, "current_count": 101},
            "http_status": 429,
            "policy_decision": "routed_to_approval",
            "tool": "plans",
            "action": "change",
            "tier": "advanced",
            "correlation_id": "c-1",
            "meta": {"elapsed_ms": 3},
        },
    ),
    # questions
    "question": (
        f"{CONTRACTS} problem text canonical",
        {
            "outcome": "needs_input",
            "message": "Which pattern do you mean?",
            "fields": ["id"],
            "reason": "There is no pattern 'retri'.",
            "suggestions": {"id": ["retry", "stream"]},
            "options": [
                {"label": "Retry", "value": "retry", "description": "Try again", "field": "id"},
                {"label": "Stream", "value": {"id": 7}},
            ],
        },
    ),
    "question-bare": (
        "v1 text",
        {"outcome": "needs_input", "message": "What are you looking for?", "fields": ["query", "limit"]},
    ),
}

# (error, format, options): what the formats' options change
OPTIONS: list[tuple[str, str, Row]] = [
    *((name, format, {"carry": True}) for format in ("typed", "v1") for name in ("actions",)),
    *((name, "xml", {"carry": True}) for name in ("details", "fields")),
    *((name, format, {"carry": True}) for format in ("envelope", "jsonrpc") for name in ("custom-code", "fields-deep")),
    *(("everything", format, {"carry": True}) for format in ("typed", "v1", "xml", "envelope", "jsonrpc")),
    ("not-found", "typed", {"carry": True}),
    ("actions", "xml", {"layout": "flush"}),
    ("fields", "xml", {"layout": "flush"}),
    *((name, "envelope", {"strict": True}) for name in ("rate-limited", "tls", "custom-code")),
    ("not-found", "envelope", {"profile": "api", "elapsed_ms": 42}),
    ("envelope-fields", "envelope", {"profile": "api"}),
    ("not-found", "envelope", {"profile": "workflow", "mode": "autopilot", "approval_mode": False, "elapsed_ms": 0}),
    *((name, "jsonrpc", {"era": "2026-07-28"}) for name in ("not-found", "plan-expired", "invalid-params")),
    *((name, "jsonrpc", {"actionable": True}) for name in ("rate-limited", "transient", "validation", "internal")),
    *((name, "jsonrpc", {"actionable": True}) for name in ("permission", "actions")),
    ("field", "jsonrpc", {"number": -32602}),
]

# Errors whose wire is read back as well, in these of the formats they are rendered in.
BACK = {
    "conflict-held": CONTRACTS,
    "custom-code": f"{CONTRACTS} problem canonical",
    "markup": "typed xml",
    "fields": f"{CONTRACTS} problem canonical",
    "fields-deep": "problem",
    "everything": f"{CONTRACTS} problem canonical",
    "question": "v1 canonical",
}

# Errors whose losses are asked for, in these formats.
LOSSES = {
    "not-found": "typed xml envelope problem",
    "actions": "typed v1 xml envelope jsonrpc",
    "fields": "v1 envelope jsonrpc",
    "details": "typed xml",
    "delay-fraction": "typed v1 jsonrpc envelope",
    "details-own-names": "typed v1",
    "everything": "problem canonical",
    "question": "v1",
}

_OTHER_PEOPLES: dict[str, Any] = {
    "prose": "Error: something broke",
    "success": {"content": [{"type": "text", "text": "3 rows"}], "isError": False},
    "domain-object": {"id": 7, "name": "x", "items": []},
}

# format: name: what comes over the wire; an object, or a text as it was received
WIRES: dict[str, dict[str, Any]] = {
    "typed": {
        **_OTHER_PEOPLES,
        "compact-text": '{"type":"TRANSIENT","message":"rate limited","recoverable":true,"data":{"retry_after":30}}',
        "spaced-text": '\n  {"type": "NOT_FOUND", "message": "caf\\u00e9 \\ud83d\\ude48", "recoverable": false}\n',
        "no-recoverable": {"type": "INTERNAL", "message": "boom"},
        "recoverable-internal": {"type": "INTERNAL", "message": "boom", "recoverable": True},
        "recoverable-no-boolean": {"type": "TRANSIENT", "message": "m", "recoverable": "no"},
        "conflicts-texts": {"type": "CONFLICT", "message": "m", "recoverable": True, "data": {"conflicts": ["a"]}},
        "delay-zero": {"type": "TRANSIENT", "message": "m", "recoverable": True, "data": {"retry_after": 0}},
        "delay-text": {"type": "TRANSIENT", "message": "m", "recoverable": True, "data": {"retry_after": "5"}},
        "delay-fraction": {"type": "TRANSIENT", "message": "m", "recoverable": True, "data": {"retry_after": 0.5}},
        "data-null": {"type": "PERMISSION", "message": "m", "recoverable": False, "data": None},
        "data-list": {"type": "PERMISSION", "message": "m", "recoverable": False, "data": [1, 2]},
        "unknown-type": {"type": "TEAPOT", "message": "short and stout", "recoverable": False},
        "lower-case-type": {"type": "not_found", "message": "m"},
        "message-no-text": {"type": "VALIDATION", "message": {"a": 1}, "recoverable": False},
        "message-missing": {"type": "VALIDATION", "recoverable": False},
        "inside-error": {"error": {"type": "NOT_FOUND", "message": "no such agent", "recoverable": True}},
        "empty-text": "",
        "cut-off": '{"type":"NOT_FOUND","message":"no such ag',
        "list": '[{"type":"NOT_FOUND","message":"m","recoverable":false}]',
        "other-type": {"type": "text", "text": "hello"},
        "result": {
            "content": [{"type": "text", "text": '{"type":"CONFLICT","message":"m","recoverable":true}'}],
            "isError": True,
        },
        "result-prefixed": {
            "content": [
                {
                    "type": "text",
                    "text": 'Error executing tool reserve: {"type":"CONFLICT","message":"m","recoverable":false}',
                }
            ],
            "isError": True,
        },
    },
    "v1": {
        **_OTHER_PEOPLES,
        "indented-text": '{\n  "kind": "toolError:v1",\n  "code": "NETWORK_ERROR",\n  "message": "Request timeout",\n'
        '  "retryable": true\n}',
        "status": {
            "kind": "toolError:v1",
            "code": "AUTHENTICATION_ERROR",
            "message": "Missing or invalid API key",
            "retryable": False,
            "details": {"statusCode": 401},
        },
        "no-retryable": {"kind": "toolError:v1", "code": "SERVER_ERROR", "message": "m"},
        "unknown-code": {"kind": "toolError:v1", "code": "TEAPOT", "message": "m"},
        "unknown-code-retryable": {"kind": "toolError:v1", "code": "TEAPOT", "message": "m", "retryable": True},
        "contradiction": {"kind": "toolError:v1", "code": "NOT_FOUND", "message": "m", "retryable": True},
        "other-spelling": {"kind": "toolError:v1", "code": "NotFound", "message": "m", "retryable": False},
        "retryable-text": {"kind": "toolError:v1", "code": "TEAPOT", "message": "m", "retryable": "yes"},
        "delay": {
            "kind": "toolError:v1",
            "code": "RATE_LIMITED",
            "message": "m",
            "retryable": True,
            "details": {"retryAfter": 1.5, "apiHost": "h"},
        },
        "odd-details": {
            "kind": "toolError:v1",
            "code": "CLIENT_ERROR",
            "message": "m",
            "retryable": False,
            "details": {"statusCode": "404", "retryAfter": -1},
        },
        "details-text": {"kind": "toolError:v1", "code": "UNKNOWN_ERROR", "message": "m", "details": "why"},
        "code-missing": {"kind": "toolError:v1", "message": "m", "retryable": False},
        "code-number": {"kind": "toolError:v1", "code": 404, "message": "m"},
        "message-null": {"kind": "toolError:v1", "code": "NOT_FOUND", "message": None},
        "other-version": {"kind": "toolError:v2", "code": "NOT_FOUND", "message": "m"},
        "other-kind": {"kind": "patternSearch:v1", "patterns": []},
        "question-bare": {"kind": "needsInput:v1", "type": "elicitation", "message": "Which one?"},
        "question-same-reason": {
            "kind": "needsInput:v1",
            "type": "elicitation",
            "message": "Which one?",
            "needsInput": {"fields": ["id", 3], "reason": "Which one?", "suggestions": {"id": ["a"]}},
            "options": ["a", {"value": "b"}],
        },
        "result-last-block": {
            "content": [
                {"type": "text", "text": '{"kind":"toolError:v1","code":"SERVER_ERROR","message":"first"}'},
                {"type": "text", "text": "in between"},
                {"type": "text", "text": '{"kind":"toolError:v1","code":"NOT_FOUND","message":"last"}'},
            ],
            "isError": True,
        },
        "result-structured": {
            "content": [{"type": "text", "text": "Unknown error occurred"}],
            "structuredContent": {
                "kind": "toolError:v1",
                "code": "UNKNOWN_ERROR",
                "message": "Unknown error occurred",
                "retryable": False,
            },
            "isError": True,
        },
        "cut-off": '{"kind":"toolError:v1","code":"NOT_FOU',
    },
    "xml": {
        **_OTHER_PEOPLES,
        "flush": '<tool_error code="NOT_FOUND" severity="error">\n<message>m</message>\n<available_actions>\n'
        "<action>a.list</action>\n<action>b&amp;c</action>\n</available_actions>\n</tool_error>",
        "one-line": "<tool_error><message>a &lt; b &amp;&amp; c > d</message></tool_error>",
        "quotes": "<tool_error code='it&apos;s' severity='warning'><message>m</message></tool_error>",
        "references": "<tool_error><message>&#65;&#x42;&quot; &nbsp; &amp;lt;</message></tool_error>",
        "cdata": "<tool_error><message><![CDATA[a < b & c]]></message></tool_error>",
        "comment": "<tool_error><!-- <message>no</message> --><message>yes</message></tool_error>",
        "declaration": '<?xml version="1.0"?>\n<tool_error code="TIMEOUT"><message>m</message></tool_error>',
        "block-before": '<cache cause="x">y</cache>\n<tool_error><message>m</message></tool_error>',
        "unknown-severity": '<tool_error code="X" severity="fatal"><message>m</message></tool_error>',
        "delay": '<tool_error code="TIMEOUT"><message>m</message><retry_after>1.5 seconds</retry_after></tool_error>',
        "delay-minutes": '<tool_error code="TIMEOUT"><message>m</message><retry_after>2 min</retry_after></tool_error>',
        "delay-zero": '<tool_error code="TIMEOUT"><message>m</message><retry_after>0 s</retry_after></tool_error>',
        "not-closed": '<tool_error code="TIMEOUT" severity="error">\n  <message>cut off in the mid',
        "entity": "<!DOCTYPE x><tool_error><message>&xxe;</message></tool_error>",
        "routing": '<tool_error code="MISSING_DISCRIMINATOR"><message>The required field "op" is missing.</message>'
        "<available_actions>list, create</available_actions></tool_error>",
        "details": '<tool_error code="NOT_FOUND" severity="error"><message>m</message><details>'
        '<detail key="a&quot;b">1</detail><detail key="c"></detail></details></tool_error>',
        "validation": '<validation_error action="users/create">\n<field name="email">Invalid email You sent: \'x\'. '
        'Expected: a valid email address.</field>\n<field name="age">Required. You sent: (missing). '
        'Expected type: number.</field>\n<field name="items.0.n">Too small. You sent: 1. Must be >= 18.</field>\n'
        "<recovery>Fix the fields above and call the tool again. Do not explain the error.</recovery>\n"
        "</validation_error>",
        "validation-no-action": '<validation_error><field name="(root)">Unrecognized key(s)</field></validation_error>',
        "html": "<html><body>502 Bad Gateway</body></html>",
        "other-root": "<result><tool_errors>0</tool_errors></result>",
        "json": '{"type":"NOT_FOUND","message":"m","recoverable":false}',
        "result-warning": {
            "content": [{"type": "text", "text": '<tool_error code="DEPRECATED"><message>m</message></tool_error>'}],
            "isError": False,
        },
    },
    "envelope": {
        **_OTHER_PEOPLES,
        "text": '{\n  "success": false,\n  "data": null,\n  "error": {\n    "code": "db_error",\n    "message": "m",\n'
        '    "retryable": true\n  }\n}',
        "reset-epoch": {
            "success": False,
            "data": None,
            "error": {"code": "x_rate_limited", "message": "m", "retryable": True, "rate_limit_reset": "1772366400"},
        },
        "delay": {
            "success": False,
            "data": None,
            "error": {"code": "x_rate_limited", "message": "m", "retryable": True, "retry_after_ms": 1500},
            "meta": {"tool_version": "1.0", "elapsed_ms": 12, "correlation_id": "c-1"},
        },
        "policy": {
            "success": False,
            "data": None,
            "error": {
                "code": "policy_denied_hard_rule",
                "message": "m",
                "retryable": False,
                "policy_decision": "denied",
            },
            "meta": {"tool_version": "1.0", "elapsed_ms": 1, "mode": "autopilot", "approval_mode": False},
        },
        "contradiction": {
            "success": False,
            "data": None,
            "error": {"code": "policy_error", "message": "m", "retryable": False},
        },
        "unknown-code": {"success": False, "error": {"code": "scraper_blocked", "message": "m", "retryable": True}},
        "error-text": {"success": False, "error": "it broke"},
        "message-beside": {"success": False, "message": "it broke", "code": "NOT_FOUND"},
        "error-null": {"success": False, "data": None, "error": None},
        "worked": {"success": True, "data": {"success": False}, "meta": {"tool_version": "1.0", "elapsed_ms": 3}},
        "success-text": {"success": "false", "error": {"code": "db_error", "message": "m"}},
        "cut-off": '{"success": false, "error": {"code": "db_er',
        "result": {
            "content": [
                {
                    "type": "text",
                    "text": '{"success":false,"error":{"code":"not_found","message":"m","retryable":false}}',
                }
            ]
        },
    },
    "jsonrpc": {
        **_OTHER_PEOPLES,
        "response": {
            "jsonrpc": "2.0",
            "id": 1,
            "error": {
                "code": -32010,
                "message": "Device Unreachable",
                "data": {
                    "mcp_error_code": "DEVICE_UNREACHABLE",
                    "details": "Cannot connect to device 'dev-001'",
                    "retry_after": 60,
                    "device_id": "dev-001",
                },
            },
        },
        "modern-number": {
            "code": -31003,
            "message": "Not Found",
            "data": {"mcp_error_code": "NOT_FOUND", "details": "Plan 7 does not exist"},
        },
        "standard": {"code": -32601, "message": "Method not found"},
        "number-alone": {"code": -32003, "message": "Authorization failed"},
        "number-alone-unreserved": {"code": -1, "message": "m", "data": "why"},
        "unknown-code": {
            "code": -32010,
            "message": "Device Asleep",
            "data": {"mcp_error_code": "DEVICE_ASLEEP", "details": "Wake it first"},
        },
        "actionable": {
            "code": -32002,
            "message": "Forbidden",
            "data": {
                "mcp_error_code": "FORBIDDEN",
                "details": "Tool needs the professional tier",
                "recovery_strategy": "user_action_required",
                "suggestion": "User intervention required. Check permissions or configuration and try again.",
                "tool_name": "dns/flush",
                "tool_tier": "professional",
            },
        },
        "one-field": {
            "code": -32005,
            "message": "Validation Error",
            "data": {
                "mcp_error_code": "VALIDATION_ERROR",
                "details": "Invalid IP address",
                "field": "ip",
                "value": "300.1.1.1",
                "expected": "Valid IPv4 or IPv6 address",
            },
        },
        "many-fields": {
            "code": -32602,
            "message": "Invalid params",
            "data": {
                "mcp_error_code": "INVALID_PARAMS",
                "details": "2 problems",
                "errors": [{"field": "a.0", "message": "bad"}, {"field": "b", "message": "worse"}],
            },
        },
        "next-steps": {
            "code": -32003,
            "message": "Not Found",
            "data": {
                "mcp_error_code": "NOT_FOUND",
                "details": "Device 'x' not found",
                "next_steps": ["List them"],
                "alternatives": [{"tool": "registry/list", "description": "All", "arguments": {"limit": 5}}],
            },
        },
        "debug": {
            "code": -32000,
            "message": "Internal Error",
            "data": {"mcp_error_code": "INTERNAL_ERROR", "details": "broke", "_debug_details": "line 7"},
        },
        "code-text": {"jsonrpc": "2.0", "id": None, "error": {"code": "-32600", "message": "m"}},
        "zero": {"code": 0, "message": "ok", "rows": 1},
        "http-status": {"code": 200, "message": "ok"},
        "result": {"jsonrpc": "2.0", "id": 1, "result": {"ok": True}},
        "request": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}},
        "cut-off": '{"jsonrpc":"2.0","id":1,"error":{"code":-32',
    },
    "problem": {
        **_OTHER_PEOPLES,
        "rfc-example": {
            "type": "https://example.com/probs/out-of-credit",
            "title": "You do not have enough credit.",
            "detail": "Your current balance is 30, but that costs 50.",
            "instance": "/account/12345/msgs/abc",
            "balance": 30,
            "status": 403,
        },
        "rfc-errors": {
            "type": "https://example.net/validation-error",
            "title": "Your request is not valid.",
            "status": 422,
            "errors": [
                {"detail": "must be a positive integer", "pointer": "#/age"},
                {"detail": "must be 'green', 'red' or 'blue'", "pointer": "#/profile/color/0/a~1b%25"},
            ],
        },
        "blank": {"type": "about:blank", "title": "Not Found", "status": 404, "detail": "No such page"},
        "no-type": {"title": "Service Unavailable", "status": 503},
        "too-early": {"title": "Too Many Requests", "status": 429, "detail": "Slow down", "retry_after": 7},
        "ok-status": {"type": "about:blank", "title": "OK", "status": 200},
        "schema": {"type": "object", "title": "Arguments", "properties": {}},
        "cut-off": '{"type":"about:blank","title":"Not Fo',
    },
    "text": {
        "prose": "Error: something broke",
        "lines": "first line\n\nthird line",
        "empty": "",
        "blank": " \n\t ",
        "result-prose": {"content": [{"type": "text", "text": "it broke"}], "isError": True},
        "result-no-reason": {"content": [], "isError": True},
    },
    "canonical": {
        **_OTHER_PEOPLES,
        "message-only": {"failwell": 1, "message": "m"},
        "code-only": {"failwell": 1, "code": "RATE_LIMITED", "message": "m"},
        "kind-only": {"failwell": 1, "kind": "permission", "message": "m"},
        "spelling": {"failwell": 1, "code": "rateLimited", "message": "m"},
        "unknown-code": {"failwell": 1, "code": "Teapot", "kind": "conflict", "message": "m", "retryable": True},
        "contradiction": {"failwell": 1, "code": "NOT_FOUND", "message": "m", "retryable": True},
        "unknown-kind": {"failwell": 1, "kind": "teapot", "message": "m"},
        "severity-upper": {"failwell": 1, "message": "m", "severity": "WARNING"},
        "severity-unknown": {"failwell": 1, "message": "m", "severity": "fatal"},
        "delays-without-sense": {
            "failwell": 1,
            "code": "TIMEOUT",
            "message": "m",
            "retry_after": 0,
            "reset_at": "tomorrow",
        },
        "delay-text": {"failwell": 1, "code": "TIMEOUT", "message": "m", "retry_after": "30"},
        "reset-zone": {"failwell": 1, "code": "TIMEOUT", "message": "m", "reset_at": "2026-03-01T13:00:00+01:00"},
        "wrong-shapes": {
            "failwell": 1,
            "message": "m",
            "fields": "email",
            "actions": {"tool": "x"},
            "details": [1],
            "http_status": 99,
            "recoverable": "yes",
            "strategy": "pray",
            "effect": "maybe",
        },
        "empty-values": {
            "failwell": 1,
            "code": "",
            "message": "m",
            "suggestion": "",
            "next_steps": ["", "x"],
            "details": {},
            "actions": [],
            "title": "",
        },
        "null-values": {"failwell": 1, "code": None, "kind": "internal", "message": "m", "details": None},
        "text": '{"failwell":1,"code":"NOT_FOUND","message":"caf\\u00e9"}',
        "other-version": {"failwell": 2, "code": "NOT_FOUND", "message": "m"},
        "cut-off": '{"failwell":1,"code":"NOT_FO',
        "question": {"failwell": 1, "outcome": "needs_input", "message": "Which?", "options": ["a"], "fields": "id"},
        "result-meta": {
            "content": [{"type": "text", "text": "m"}],
            "isError": True,
            "_meta": {"io.github.failwell/tool-error": {"failwell": 1, "code": "CONFLICT", "message": "m"}},
        },
    },
}

_RATE: Row = {"code": "RATE_LIMITED", "message": "Too many requests."}
_TIMEOUT: Row = {"code": "TIMEOUT", "message": "It took too long."}
_INVALID: Row = {"code": "VALIDATION_ERROR", "message": "bad input"}
_HELD: Row = {"code": "CONFLICT", "message": "It is held.", "conflicts": [{"held_by": "agent-2"}]}
_UNKNOWN: Row = {**_TIMEOUT, "effect": "unknown"}
_VERIFY: Row = {**_UNKNOWN, "verify": {"tool": "get_invoice"}}
_READ: Row = {"tool": {"name": "t", "annotations": {"readOnlyHint": True}}}
_IDEMPOTENT: Row = {"tool": {"name": "t", "annotations": {"idempotentHint": True}}}
_WRITE: Row = {"tool": {"name": "t", "annotations": {"readOnlyHint": False, "destructiveHint": True}}}

# name: (the failure, what else is known)
DECISIONS: dict[str, tuple[Row, Row]] = {
    "invited-write": ({**_TIMEOUT, "retry_after": 5}, _WRITE),
    "invited-write-quoted": ({**_TIMEOUT, "retry_after": 5, "standing": "quoted"}, _WRITE),
    "invited-read-quoted": ({**_TIMEOUT, "retry_after": 5, "standing": "quoted"}, _READ),
    "invited-write-local": ({**_TIMEOUT, "retry_after": 5, "origin": "local"}, _WRITE),
    "refused-write": ({**_TIMEOUT, "standing": "quoted"}, {"delivery": "refused", **_WRITE}),
    "validation-quoted": ({**_INVALID, "standing": "quoted"}, _WRITE),
    "conflict-quoted": ({**_HELD, "standing": "quoted"}, _WRITE),
    "permission-quoted": ({"code": "FORBIDDEN", "message": "m", "standing": "quoted"}, _WRITE),
    "read-only-and-destructive": (
        {**_TIMEOUT, "effect": "unknown"},
        {"tool": {"name": "t", "annotations": {"readOnlyHint": True, "destructiveHint": True}}},
    ),
    "transient": ({"code": "UNAVAILABLE", "message": "m"}, {}),
    "validation": (_INVALID, {}),
    "not-found": ({"code": "NOT_FOUND", "message": "m"}, {}),
    "conflict-held": (_HELD, {}),
    "conflict-nobody": ({"code": "CONFLICT", "message": "m"}, {}),
    "permission": ({"code": "FORBIDDEN", "message": "m"}, {}),
    "internal": ({"code": "INTERNAL_ERROR", "message": "m"}, {}),
    "nothing-known": ({"message": "m"}, {}),
    "warning": ({"code": "DEPRECATED", "message": "m", "severity": "warning"}, {}),
    "question": ({"outcome": "needs_input", "message": "Which?"}, {}),
    "prose": ({"message": "Error: m", "legacy": True}, {}),
    "delay": ({**_RATE, "retry_after": 30}, {}),
    "delay-fraction": ({**_RATE, "retry_after": 0.5}, {}),
    "delay-until": ({**_RATE, "reset_at": "2026-03-01T12:00:00Z"}, {"now": "2026-03-01T11:59:15Z"}),
    "delay-past": ({**_RATE, "reset_at": "2026-03-01T12:00:00Z"}, {"now": "2026-03-01T13:00:00Z"}),
    "delay-both": ({**_RATE, "retry_after": 5, "reset_at": "2026-03-01T12:00:00Z"}, {"now": "2026-03-01T11:00:00Z"}),
    "delay-too-long": ({**_RATE, "retry_after": 301}, {}),
    "delay-longest": ({**_RATE, "retry_after": 300}, {}),
    "delay-of-jsonrpc": ({**_RATE, "format": "jsonrpc"}, {}),
    "second-attempt": (_RATE, {"history": [_RATE]}),
    "third-attempt": (_RATE, {"history": [_RATE, _RATE]}),
    "more-patience": (_RATE, {"history": [_RATE, _RATE], "policy": {"max_attempts": 5, "base_delay": 2.0}}),
    "second-fix": (_INVALID, {"history": [_INVALID]}),
    "fix-after-wait": (_INVALID, {"history": [_RATE]}),
    "retryable-write": (_TIMEOUT, _WRITE),
    "unanswered": (_TIMEOUT, {"delivery": "unanswered"}),
    "unanswered-read": (_TIMEOUT, {"delivery": "unanswered", **_READ}),
    "unanswered-idempotent": (_TIMEOUT, {"delivery": "unanswered", **_IDEMPOTENT}),
    "unanswered-write": (_TIMEOUT, {"delivery": "unanswered", **_WRITE}),
    "unanswered-distrust": (
        _TIMEOUT,
        {"delivery": "unanswered", "policy": {"trust_annotations": False}, **_READ},
    ),
    "unanswered-refused": (_RATE, {"delivery": "unanswered"}),
    "unanswered-untouched": ({**_TIMEOUT, "effect": "none"}, {"delivery": "unanswered"}),
    "never-sent": (_TIMEOUT, {"delivery": "never_sent"}),
    "never-sent-unknown": (_UNKNOWN, {"delivery": "never_sent"}),
    "local": ({**_TIMEOUT, "origin": "local"}, {}),
    "effect-unknown": (_UNKNOWN, {}),
    "effect-unknown-verify": (_VERIFY, {}),
    "effect-unknown-read": (_VERIFY, _READ),
    "effect-unknown-fix": ({**_INVALID, "effect": "unknown"}, {}),
    "effect-done": ({**_TIMEOUT, "effect": "done"}, _READ),
    "effect-partial": ({"code": "thread_partial_failure", "message": "m"}, {}),
    "effect-partial-verify": ({"code": "thread_partial_failure", "message": "m", "verify": {"tool": "list"}}, {}),
    "effect-partial-patch": (
        {"code": "PARTIAL_FAILURE", "message": "m", "patch": [{"op": "set", "path": ["from"], "value": 3}]},
        {},
    ),
    "effect-partial-actions": ({"code": "PARTIAL_FAILURE", "message": "m", "actions": [{"tool": "resume"}]}, {}),
    "strategy-ask": ({**_RATE, "strategy": "user_action_required"}, {}),
    "strategy-abort": ({**_RATE, "strategy": "report_and_abort"}, {}),
    "strategy-fix": ({"code": "FORBIDDEN", "message": "m", "strategy": "fix_and_retry"}, {}),
    "not-configured": ({"code": "NOT_CONFIGURED", "message": "m"}, {}),
    "tls": ({"code": "TLS_ERROR", "message": "m"}, {}),
    "not-recoverable": ({**_RATE, "recoverable": False}, {}),
    "unknown-code-retryable": ({"code": "Teapot", "kind": "internal", "retryable": True, "message": "m"}, {}),
    "plan-expired": ({"code": "PLAN_EXPIRED", "message": "m"}, {}),
    "v1-conflict": ({"code": "CONFLICT", "message": "m", "format": "v1"}, {}),
}
