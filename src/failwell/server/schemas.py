"""Arguments and results held against JSON Schema: at no cost when they fit, with all the words when they do not."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, cast

import jsonschema
import jsonschema_rs

from failwell.classify.validation import from_jsonschema
from failwell.model.error import ToolError

_MOST_ERRORS: Final = 200


class Checker:
    """One schema, compiled once."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self._fits: Any = None
        try:
            self._fits = jsonschema_rs.validator_for(cast(Any, schema)).is_valid
        except Exception:
            # A schema that cannot be read forbids nothing.
            self._fits = None

    def fits(self, value: object) -> bool:
        if self._fits is None:
            return True
        try:
            return bool(self._fits(value))
        except Exception:
            # Not JSON at all, or nested without end.
            return False

    def problems(self, arguments: Mapping[str, Any], tool: str) -> ToolError | None:
        """What is wrong with the arguments; None if the two validators do not agree that anything is."""
        try:
            validator = jsonschema.validators.validator_for(self.schema, default=jsonschema.Draft202012Validator)
            errors = list(islice(validator(self.schema).iter_errors(arguments), _MOST_ERRORS))
        except RecursionError:
            return ToolError("The arguments are nested too deeply.", code="VALIDATION_ERROR", tool=tool)
        except Exception:
            return None
        if not errors:
            return None
        return from_jsonschema(errors, tool=tool, schema=self.schema, arguments=arguments)


class Checkers:
    """The checkers of a server's schemas, by the schema itself."""

    def __init__(self) -> None:
        self._known: dict[int, Checker] = {}

    def __call__(self, schema: Mapping[str, Any]) -> Checker:
        checker = self._known.get(id(schema))
        if checker is None or checker.schema is not schema:
            if len(self._known) > 1000:
                self._known.clear()
            checker = self._known[id(schema)] = Checker(schema)
        return checker
