"""What the words of an error say about its cause: the table of phrases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import failwell as fw
from failwell.model import Strategy
from failwell.readers import from_text
from failwell.readers.phrases import masked, words_of


def error(text: str, **known: Any) -> fw.ToolError:
    found = from_text(text, **{"is_error": True, **known})
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "code"),
    [
        # networks
        ("fetch failed", "NETWORK_ERROR"),
        ("TypeError: fetch failed", "NETWORK_ERROR"),
        ("getaddrinfo ENOTFOUND api.example.com", "NETWORK_ERROR"),
        ("connect ECONNREFUSED 127.0.0.1:5432", "NETWORK_ERROR"),
        ("read ECONNRESET", "NETWORK_ERROR"),
        ("[Errno -2] Name or service not known", "NETWORK_ERROR"),
        ('Get "http://a/": dial tcp 127.0.0.1:3999: connect: connection refused', "NETWORK_ERROR"),
        ("HTTPSConnectionPool(host='a', port=443): Max retries exceeded with url: /x", "NETWORK_ERROR"),
        ("HTTPSConnectionPool(host='a', port=443): Read timed out. (read timeout=10)", "TIMEOUT"),
        ("ReadTimeout('')", "TIMEOUT"),
        ("context deadline exceeded", "TIMEOUT"),
        ("page.goto: Timeout 30000ms exceeded.", "TIMEOUT"),
        ("page.goto: net::ERR_NAME_NOT_RESOLVED at http://a/", "NETWORK_ERROR"),
        ("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate", "TLS_ERROR"),
        # the system
        ("ENOENT: no such file or directory, open '/srv/a'", "NOT_FOUND"),
        ("[Errno 2] No such file or directory: '/srv/a'", "NOT_FOUND"),
        ("EACCES: permission denied, open '/srv/a'", "FORBIDDEN"),
        ("EEXIST: file already exists, mkdir '/srv/a'", "CONFLICT"),
        ("EISDIR: illegal operation on a directory, read", "VALIDATION_ERROR"),
        ("spawn kubectl ENOENT", "NOT_CONFIGURED"),
        ("No module named 'pandas'", "NOT_CONFIGURED"),
        # gRPC
        ("rpc error: code = NotFound desc = no such pod", "NOT_FOUND"),
        ("14 UNAVAILABLE: No connection established", "UNAVAILABLE"),
        ("7 PERMISSION_DENIED: nope", "FORBIDDEN"),
        # databases
        ('relation "users" does not exist', "NOT_FOUND"),
        ('column "nme" does not exist', "VALIDATION_ERROR"),
        ('syntax error at or near "SELEC"', "VALIDATION_ERROR"),
        ("no such table: users", "NOT_FOUND"),
        ("SQLITE_BUSY: database is locked", "UNAVAILABLE"),
        ("UNIQUE constraint failed: users.email", "CONFLICT"),
        ("NOT NULL constraint failed: users.email", "VALIDATION_ERROR"),
        ("ER_DUP_ENTRY: Duplicate entry 'a' for key 'PRIMARY'", "CONFLICT"),
        ("ER_NO_SUCH_TABLE: Table 'a.b' doesn't exist", "NOT_FOUND"),
        # names
        ("[NOT_FOUND] nodir - nothing there", "NOT_FOUND"),
        ("RATE_LIMIT_EXCEEDED: slow down", "RATE_LIMITED"),
        ("requests.exceptions.ConnectionError: no", "NETWORK_ERROR"),
        ("FileNotFoundError: /srv/a", "NOT_FOUND"),
        ("An error occurred (ThrottlingException) when calling the Get operation: Rate exceeded", "RATE_LIMITED"),
        ("An error occurred (InvalidClientTokenId) when calling the Get operation: no", "UNAUTHORIZED"),
        ("An API error occurred: missing_scope", "FORBIDDEN"),
        ("Missing required parameter: access_token", "MISSING_REQUIRED_FIELD"),
        ("Issue does not exist or you do not have permission to see it.", "NOT_FOUND"),
        # tools
        ("Unknown tool: x", "UNKNOWN_TOOL"),
        ("MCP error -32602: Tool x not found", "UNKNOWN_TOOL"),
        ("The tool x was not found", "UNKNOWN_TOOL"),
        ("Method not found", "METHOD_NOT_FOUND"),
        # words
        ("Project 'rate limit' already exists", "CONFLICT"),
        ("Timeout must be a positive number", "VALIDATION_ERROR"),
        ("Invalid API key", "UNAUTHORIZED"),
        ("ACME_API_KEY environment variable is not set", "NOT_CONFIGURED"),
        ("Command not allowed: sudo ls", "FORBIDDEN"),
        ("Only SELECT queries are allowed", "FORBIDDEN"),
        ("title is required", "MISSING_REQUIRED_FIELD"),
        ("Either 'a' or 'b' must be provided", "MISSING_REQUIRED_FIELD"),
        ("Unknown mode 'z'. Use one of: a, b", "VALIDATION_ERROR"),
        ("Could not connect to Blender. Make sure the addon is running.", "NETWORK_ERROR"),
        ("Service temporarily unavailable", "UNAVAILABLE"),
        ("Cannot read properties of undefined (reading 'id')", "INTERNAL_ERROR"),
        ("'int' object has no attribute 'strip'", "INTERNAL_ERROR"),
        ("Unexpected token '<', \"<html><bod\"... is not valid JSON", "INTERNAL_ERROR"),
        # objects
        ('{"error":"fetch failed"}', "NETWORK_ERROR"),
        ('{"error":{"name":"Error","message":"Too many requests"}}', "RATE_LIMITED"),
        ('{"success":false,"error":{"code":"ENTITY_NOT_FOUND","message":"No light"}}', "NOT_FOUND"),
        ('{"success":false,"error":{"code":"SERVICE_CALL_FAILED","message":"API error: 409 - Version conflict"}}', "CONFLICT"),
        ('{"message":"Validation Failed","errors":[{"resource":"Issue","field":"title","code":"missing_field"}]}', "MISSING_REQUIRED_FIELD"),
        ('{"code":"CONNECTION_FAILED","status":401,"message":"no"}', "UNAUTHORIZED"),
        ('{"toolResult":{"content":[{"type":"text","text":"Error: Unknown tool: x"}],"isError":true}}', "UNKNOWN_TOOL"),
        # traces
        ('Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nKeyError: \'x\'', "INTERNAL_ERROR"),
        ('Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nConnectionRefusedError: [Errno 111] Connection refused', "NETWORK_ERROR"),
        ("TypeError: x is not a function\n    at f (/srv/a.js:1:2)\n    at g (/srv/a.js:3:4)", "INTERNAL_ERROR"),
        ("Error: ENOENT: no such file\n    at f (/srv/a.js:1:2)", "NOT_FOUND"),
    ],
)  # fmt: skip
def test_codes(text: str, code: str) -> None:
    found = error(text)
    assert found.code == code
    assert found.info is not None
    assert found.retryable == found.info.retryable


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("POST https://a/refs: 422 Reference already exists []", "CONFLICT"),
        ("GET https://a/search: 403 API rate limit exceeded", "RATE_LIMITED"),
        ("Request failed with status 400: Invalid API key", "UNAUTHORIZED"),
        ("Error code: 429 - You exceeded your quota, check your billing details", "FORBIDDEN"),
        ("Request failed with status 429: too many requests, upgrade your plan", "RATE_LIMITED"),
        ("Request failed with status 404: invalid name", "NOT_FOUND"),
        ("Request failed with status 503: invalid upstream", "UNAVAILABLE"),
    ],
)
def test_a_sentence_beside_a_status_counts_where_the_status_says_little(text: str, code: str) -> None:
    assert error(text).code == code


HOSTS = [json.loads(line) for line in (Path(__file__).parent / "hosts.jsonl").read_text("utf-8").splitlines()]


def test_what_gateways_and_hosts_say_is_repeated_only_where_it_passes() -> None:
    for row in HOSTS:
        found = error(row["text"], number=row.get("number"))
        assert not found.retryable or row["kind"] == "transient", row
        # Words prove nothing about what was done.
        assert "effect" not in found._given


@pytest.mark.parametrize("text", ["Denied by policy x", "User rejected the call", "blocked by the administrator"])
def test_whoever_was_refused_asks_and_finds_no_way_around(text: str) -> None:
    found = error(text)
    assert (found.code, found.retryable, found.strategy) == ("POLICY_DENIED", False, Strategy.USER_ACTION)
    assert fw.decide(found).next in ("ask", "give_up")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("FileNotFoundError: a.txt", "^ file not found error a txt $"),
        ("Error: ORDER_ALREADY_PAID", "^ error order already paid $"),
        ("The `x` couldn't be found. Sorry", "^ ¤ not found . sorry $"),
        ("failed to open order_not_found for you", "^ not open ¤ for you $"),
        ("Missing api_key: 7 of 12", "^ missing apikey <number> of <number> $"),
    ],
)
def test_a_text_is_reduced_to_its_words(text: str, words: str) -> None:
    assert " ".join(words_of(masked(text))) == words


def test_of_a_text_only_so_many_words_are_read() -> None:
    assert len(words_of("word " * 10_000)) < 300
