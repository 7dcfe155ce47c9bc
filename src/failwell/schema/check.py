"""Values held against JSON Schema: at no cost when they fit, with all the mistakes when they do not.

The validators are imported when they are first used: who only sends errors needs neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from .by_schema import BySchema
from .certainty import is_agreed
from .jsonschema_errors import jsonschema_problems
from .plain_rules import plainly_broken
from .problems import NO_PROBLEMS, CheckedCall, Problems, told
from .refs import Schema

_MOST_OF_OWN: Final = 200
_MOST_OF_PEER: Final = 50
_DEEPEST: Final = 40


class Checker:
    """One schema, compiled once."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._fits = _compiled(schema)
        self.is_final = self._fits is not None and is_agreed(schema)
        """Whether any other validator would say the same."""

    def fits(self, value: object) -> bool:
        if self._fits is None:
            return True
        try:
            return bool(self._fits(value))
        except Exception:
            # Not JSON at all, or nested without end.
            return False


def _compiled(schema: Schema) -> Any:
    import jsonschema_rs

    try:
        return jsonschema_rs.validator_for(dict(schema), retriever=_nothing_fetched).is_valid
    except Exception:
        # A schema that cannot be read forbids nothing.
        return None


def _nothing_fetched(address: str) -> Any:
    raise LookupError(address)


class Checkers(BySchema[Checker]):
    """The checkers of a server's schemas, by the schema itself."""

    def __init__(self) -> None:
        super().__init__(Checker)


def broken_rules(call: CheckedCall, *, own: bool) -> Problems:
    """What the arguments of a call break of its schema. Nothing, where nobody can read the schema.

    own: whether the schema is this program's own. A pattern is a program, and of a peer's none is run. Of our own they
    are run by the validator that gives up in time. Arguments that are nested too deeply raise RecursionError.
    """
    if not own and _has_named_patterns(call.schema):
        return NO_PROBLEMS
    most = _MOST_OF_OWN if own else _MOST_OF_PEER
    try:
        broken = plainly_broken(call.schema, dict(call.arguments))
        is_enough = broken is not None and len(broken) < most
        found = [] if is_enough else list(islice(_mistakes(call, own), most))
    except RecursionError:
        raise
    except Exception:
        return NO_PROBLEMS
    return told(broken, call) if broken is not None and is_enough else jsonschema_problems(found, call)


def _mistakes(call: CheckedCall, own: bool) -> Iterator[Any]:
    validator = (_OWN if own else _PEERS)(call.schema)
    errors: Iterator[Any] = validator.iter_errors(dict(call.arguments))
    return errors


def _validator(schema: Schema, own: bool) -> Any:
    from jsonschema import validators
    from referencing import Registry

    kind = validators.validator_for(schema, default=validators.Draft202012Validator)
    # With a registry of its own, nothing is fetched that a schema points to.
    return _extended(kind, own)(schema, registry=Registry())


_OWN: Final = BySchema(lambda schema: _validator(schema, True))
_PEERS: Final = BySchema(lambda schema: _validator(schema, False))


@lru_cache(maxsize=32)
def _extended(kind: Any, own: bool) -> Any:
    """The validator of a draft with another way with patterns: making the class takes longer than all that it does."""
    from jsonschema import validators

    return validators.extend(kind, {"pattern": _pattern if own else _any_text})  # type: ignore[no-untyped-call]


def _any_text(*_: object) -> tuple[()]:
    return ()


def _pattern(validator: object, pattern: str, value: object, schema: object) -> Iterator[Any]:
    from jsonschema import ValidationError

    if isinstance(value, str) and not _matcher(pattern).fits(value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


@lru_cache(maxsize=200)
def _matcher(pattern: str) -> Checker:
    return Checker({"pattern": pattern})


def _has_named_patterns(schema: object, depth: int = 0) -> bool:
    """Whether names may be held against patterns, wherever that stands, or the schema is too deep to tell."""
    if depth > _DEEPEST:
        return True
    if isinstance(schema, Mapping):
        return "patternProperties" in schema or any(_has_named_patterns(each, depth + 1) for each in schema.values())
    return isinstance(schema, list) and any(_has_named_patterns(each, depth + 1) for each in schema)
