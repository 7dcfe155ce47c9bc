"""The rules an argument can break, in one table: what is said about each, and what the validators call it.

The rules are named after the keywords of JSON Schema. The wording is contract 002's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class RuleText:
    """What is said when a rule is broken, of `{limit}`, plural `{s}`, type `{received}`, value `{shown}`.

    `name` is the rule's name on the error, where it is not the row's.
    """

    message: str
    expected: str | None = None
    name: str | None = None


def _format(called: str, expected: str) -> RuleText:
    return RuleText(f"Invalid {called}", expected, "format")


RULES: Final[Mapping[str, RuleText]] = {
    "required": RuleText("Required", "Expected type: {limit}."),
    "type": RuleText("Expected {limit}, received {received}", "Expected type: {limit}."),
    "enum": RuleText("Invalid enum value. Expected {limit}, received {shown}"),
    "const": RuleText("Invalid literal value, expected {limit}", "Expected exactly: {limit}."),
    "discriminator": RuleText("Invalid discriminator value. Expected {limit}"),
    "minLength": RuleText("String must contain at least {limit} character(s)", "Minimum length: {limit} character{s}."),
    "maxLength": RuleText("String must contain at most {limit} character(s)", "Maximum length: {limit} character{s}."),
    "minimum": RuleText("Number must be greater than or equal to {limit}", "Must be >= {limit}."),
    "maximum": RuleText("Number must be less than or equal to {limit}", "Must be <= {limit}."),
    "exclusiveMinimum": RuleText("Number must be greater than {limit}", "Must be > {limit}."),
    "exclusiveMaximum": RuleText("Number must be less than {limit}", "Must be < {limit}."),
    "multipleOf": RuleText("Number must be a multiple of {limit}", "Must be a multiple of {limit}."),
    "minItems": RuleText("Array must contain at least {limit} element(s)", "Minimum {limit} item{s}."),
    "maxItems": RuleText("Array must contain at most {limit} element(s)", "Maximum {limit} item{s}."),
    "uniqueItems": RuleText("Array must not contain an element twice", "Each item must be unique."),
    "contains": RuleText("Array lacks an element that it must contain"),
    "minProperties": RuleText("Object must contain at least {limit} key(s)", "Minimum {limit} key{s}."),
    "maxProperties": RuleText("Object must contain at most {limit} key(s)", "Maximum {limit} key{s}."),
    "propertyNames": RuleText("Invalid key in object"),
    "additionalProperties": RuleText(
        "Unrecognized key(s) in object: {limit}", "Remove or correct unrecognized fields: {limit}. Check for typos."
    ),
    "pattern": RuleText("Must match the pattern {limit}", "Value does not match the required pattern."),
    "anyOf": RuleText("Invalid input", "Value didn't match any of the expected formats."),
    "oneOf": RuleText("Invalid input", "Must fit one of its forms alone, not several."),
    "not": RuleText("Invalid input"),
    # The author of the tool, or the validator, says it in words of their own.
    "custom": RuleText("{limit}"),
    "email": _format("email", "a valid email address (e.g. user@example.com)"),
    "uri": _format("url", "a valid URL (e.g. https://example.com)"),
    "uuid": _format("uuid", "a valid UUID (e.g. 123e4567-e89b-12d3-a456-426614174000)"),
    "date-time": _format("datetime", "an ISO 8601 datetime (e.g. 2024-01-15T10:30:00Z)"),
    "date": _format("date", "an ISO 8601 date (e.g. 2024-01-15)"),
    "time": _format("time", "an ISO 8601 time (e.g. 10:30:00)"),
    "duration": _format("duration", "an ISO 8601 duration (e.g. PT1H30M)"),
    "ip": _format("ip", "a valid IP address"),
    "ipv4": _format("ip", "a valid IPv4 address (e.g. 192.0.2.1)"),
    "ipv6": _format("ip", "a valid IPv6 address (e.g. 2001:db8::1)"),
    "hostname": _format("hostname", "a valid host name (e.g. api.example.com)"),
    "regex": _format("regex", "a valid regular expression"),
    "format": RuleText("Invalid {limit}", "a valid {limit}"),
}

FORMATS: Final[Mapping[str, str]] = {
    **{name: name for name, rule in RULES.items() if rule.name == "format"},
    "idn-email": "email",
    "url": "uri",
    "iri": "uri",
    "datetime": "date-time",
    "ip-address": "ipv4",
    "ipvanyaddress": "ip",
    "idn-hostname": "hostname",
    "host-name": "hostname",
    "uuid4": "uuid",
}
"""A format as schemas spell it, and the row that speaks of it; others say their own name."""

KEYWORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("dependentRequired", "dependencies"), "required"),
    **dict.fromkeys(("minContains", "maxContains"), "contains"),
    "oneOf": "anyOf",
    "unevaluatedProperties": "additionalProperties",
    "divisibleBy": "multipleOf",
}
"""A keyword of JSON Schema whose rule has another name than its own."""
