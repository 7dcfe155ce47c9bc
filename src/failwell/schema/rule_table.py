"""The rules an argument can break, in one table: what is said about each, and what the validators call it.

The rules are named after the keywords of JSON Schema. The wording is contract 002's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class RuleText:
    """What is said when a rule is broken.

    `{limit}` is what the rule asks for, `{s}` its plural, `{received}` the type that was sent, `{shown}` the value.
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
    "finite": RuleText("Number must be finite", "Must be a finite number."),
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
    "scheme": _format("url", "a URL that begins with {limit}"),
    "uuid": _format("uuid", "a valid UUID (e.g. 123e4567-e89b-12d3-a456-426614174000)"),
    "date-time": _format("datetime", "an ISO 8601 datetime (e.g. 2024-01-15T10:30:00Z)"),
    "date": _format("date", "an ISO 8601 date (e.g. 2024-01-15)"),
    "time": _format("time", "an ISO 8601 time (e.g. 10:30:00)"),
    "duration": _format("duration", "an ISO 8601 duration (e.g. PT1H30M)"),
    "ip": _format("ip", "a valid IP address"),
    "ipv4": _format("ip", "a valid IPv4 address (e.g. 192.0.2.1)"),
    "ipv6": _format("ip", "a valid IPv6 address (e.g. 2001:db8::1)"),
    "network": _format("network", "a valid IP network (e.g. 192.0.2.0/24)"),
    "hostname": _format("hostname", "a valid host name (e.g. api.example.com)"),
    "regex": _format("regex", "a valid regular expression"),
    "json": _format("json", "JSON text"),
    "base64": _format("base64", "base64 text"),
    "timezone": _format("datetime", "a datetime with a time zone (e.g. 2024-01-15T10:30:00Z)"),
    "naive": _format("datetime", "a datetime without a time zone (e.g. 2024-01-15T10:30:00)"),
    "past": _format("date", "a moment in the past"),
    "future": _format("date", "a moment in the future"),
    "size": _format("size", "a size in bytes (e.g. 10MB)"),
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
    "ipv4network": "network",
    "ipv6network": "network",
    "ipvanynetwork": "network",
    "idn-hostname": "hostname",
    "host-name": "hostname",
    "uuid4": "uuid",
    "json-string": "json",
    "byte": "base64",
}
"""A format as schemas spell it, and the row that speaks of it; others say their own name."""

KEYWORDS: Final[Mapping[str, str]] = {
    "oneOf": "anyOf",
    "dependentRequired": "required",
    "dependencies": "required",
    "unevaluatedProperties": "additionalProperties",
    "divisibleBy": "multipleOf",
    "minContains": "contains",
    "maxContains": "contains",
    "unevaluatedItems": "maxItems",
    "additionalItems": "maxItems",
}
"""A keyword of JSON Schema whose rule has another name than its own."""


@dataclass(frozen=True, slots=True)
class Of:
    """A rule whose limit stands in the validator's context, under this name."""

    rule: str
    key: str


def _all(*names: str, rule: str, limit: Any = None) -> dict[str, tuple[str, Any]]:
    return dict.fromkeys(names, (rule, limit))


PYDANTIC: Final[Mapping[str, tuple[str, Any] | Of]] = {
    **_all("missing", "missing_argument", "missing_keyword_only_argument", rule="required"),
    **_all("missing_positional_only_argument", "value_error.missing", rule="required"),
    **_all("extra_forbidden", "unexpected_keyword_argument", rule="additionalProperties"),
    **_all("unexpected_positional_argument", "multiple_argument_values", rule="additionalProperties"),
    **_all("value_error.extra", "invalid_key", rule="additionalProperties"),
    **_all("string_type", "string_sub_type", "string_unicode", rule="type", limit="string"),
    **_all("bytes_type", "path_type", "uuid_type", "url_type", "json_type", rule="type", limit="string"),
    **_all("date_type", "time_type", "datetime_type", "time_delta_type", rule="type", limit="string"),
    **_all("type_error.str", "type_error.none.allowed", rule="type", limit="string"),
    **_all("int_type", "int_parsing", "int_parsing_size", "int_from_float", rule="type", limit="integer"),
    **_all("type_error.integer", rule="type", limit="integer"),
    **_all("float_type", "float_parsing", "decimal_type", "decimal_parsing", rule="type", limit="number"),
    **_all("complex_type", "complex_str_parsing", "fraction_type", "fraction_parsing", rule="type", limit="number"),
    **_all("type_error.float", "type_error.decimal", rule="type", limit="number"),
    **_all("bool_type", "bool_parsing", "type_error.bool", "value_error.strictbool", rule="type", limit="boolean"),
    **_all("list_type", "tuple_type", "set_type", "frozen_set_type", "deque_type", rule="type", limit="array"),
    **_all("iterable_type", "named_tuple_type", rule="type", limit="array"),
    **_all("type_error.list", "type_error.tuple", "type_error.set", rule="type", limit="array"),
    **_all("dict_type", "mapping_type", "model_type", "model_attributes_type", rule="type", limit="object"),
    **_all("dataclass_type", "arguments_type", "ordered_dict_type", "counter_type", rule="type", limit="object"),
    **_all("frozen_dict_type", "type_error.dict", rule="type", limit="object"),
    **_all("none_required", "type_error.none", rule="type", limit="null"),
    **_all("value_error.email", rule="email"),
    **_all("url_parsing", "url_syntax_violation", "url_too_long", "value_error.url", rule="uri"),
    "url_scheme": Of("scheme", "expected_schemes"),
    **_all("uuid_parsing", "uuid_version", "type_error.uuid", rule="uuid"),
    **_all("datetime_parsing", "datetime_from_date_parsing", "value_error.datetime", rule="date-time"),
    **_all("datetime_object_invalid", rule="date-time"),
    **_all("date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact", rule="date"),
    **_all("value_error.date", rule="date"),
    **_all("time_parsing", "value_error.time", rule="time"),
    **_all("time_delta_parsing", "value_error.duration", rule="duration"),
    **_all("timezone_aware", "timezone_offset", rule="timezone"),
    **_all("timezone_naive", rule="naive"),
    **_all("date_past", "datetime_past", rule="past"),
    **_all("date_future", "datetime_future", rule="future"),
    **_all("ip_any_address", "ip_any_interface", "value_error.ipvanyaddress", rule="ip"),
    **_all("ip_v4_address", "ip_v4_interface", "value_error.ipv4address", rule="ipv4"),
    **_all("ip_v6_address", "ip_v6_interface", "value_error.ipv6address", rule="ipv6"),
    **_all("ip_any_network", "ip_v4_network", "ip_v6_network", rule="network"),
    **_all("json_invalid", "value_error.json", rule="json"),
    **_all("base64_decode", rule="base64"),
    **_all("byte_size", "byte_size_unit", rule="size"),
    **_all("finite_number", rule="finite"),
    "string_pattern_mismatch": Of("pattern", "pattern"),
    "value_error.str.regex": Of("pattern", "pattern"),
    "string_too_short": Of("minLength", "min_length"),
    "string_too_long": Of("maxLength", "max_length"),
    "bytes_too_short": Of("minLength", "min_length"),
    "bytes_too_long": Of("maxLength", "max_length"),
    "value_error.any_str.min_length": Of("minLength", "limit_value"),
    "value_error.any_str.max_length": Of("maxLength", "limit_value"),
    "greater_than": Of("exclusiveMinimum", "gt"),
    "greater_than_equal": Of("minimum", "ge"),
    "less_than": Of("exclusiveMaximum", "lt"),
    "less_than_equal": Of("maximum", "le"),
    "value_error.number.not_gt": Of("exclusiveMinimum", "limit_value"),
    "value_error.number.not_ge": Of("minimum", "limit_value"),
    "value_error.number.not_lt": Of("exclusiveMaximum", "limit_value"),
    "value_error.number.not_le": Of("maximum", "limit_value"),
    "multiple_of": Of("multipleOf", "multiple_of"),
    "value_error.number.not_multiple": Of("multipleOf", "multiple_of"),
    "too_short": Of("minItems", "min_length"),
    "too_long": Of("maxItems", "max_length"),
    "value_error.list.min_items": Of("minItems", "limit_value"),
    "value_error.list.max_items": Of("maxItems", "limit_value"),
    "value_error.list.unique_items": ("uniqueItems", None),
    "enum": Of("enum", "expected"),
    "literal_error": Of("enum", "expected"),
    "type_error.enum": Of("enum", "enum_values"),
    "value_error.const": Of("enum", "permitted"),
    "union_tag_invalid": Of("discriminator", "expected_tags"),
    "union_tag_not_found": ("required", None),
}
"""What pydantic calls a mistake (its second version, and below a dotted name its first), and the rule it breaks."""
