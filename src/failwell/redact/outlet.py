"""What may leave: nothing secret, nothing endless, nothing that is not what it looks like.

The guard stands between every error and every way out. It gives the very same object back when there is nothing to
do, which costs one look at the texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Final, TypeVar, cast

from failwell.model import FieldError, Json, NeedsInput, Patch, Path, Sent, ToolError, pattern, room_after

from .arguments import Secrets, secret_paths
from .echo import LONGEST as _LONGEST_QUOTED
from .echo import Echoes
from .fence import CLOSE, OPEN, fence, is_fenced, poses, quoted
from .known import all_forms, without_values
from .length import MAX_CHARS, MAX_TOKENS, changed_question, cut_mark, full_length, question_within, within
from .looks import drawn
from .redactor import MASK, Redactor, redactor
from .secret_names import is_secret_name, masks_numbers
from .visibility import needs_cleaning, visible

Outcome = TypeVar("Outcome", bound=ToolError | NeedsInput)

UNCHANGED: Final = "<unchanged>"
"""How an argument that may not be shown stands in a call that is to be made again."""
_SAYS_NOTHING: Final = frozenset(["", "true", "false", "yes", "no", "null", "none", "required", "missing", UNCHANGED])

# No error needs more than this of one text, and of all its texts together; looking through more would only cost time.
_LONGEST: Final = 64_000
_SHORTEST: Final = 12_000
_MARGIN: Final = 4_000
_MOST: Final = 200_000
_EACH: Final = 50
_ROUNDS: Final = 4
_LONGEST_LABEL: Final = 200


@dataclass(frozen=True, slots=True)
class Guard:
    """What an error must not hold when it leaves, and how large it may be.

    `secret_paths` are arguments whose values are secrets, as `secret_paths(schema)` finds them.
    """

    redact: Redactor = field(default_factory=Redactor)
    max_chars: int = MAX_CHARS
    max_tokens: int = MAX_TOKENS
    fences: bool = True
    secret_paths: frozenset[Path] = frozenset()
    # What was sent and is too long to be quoted whole.
    _echoes: Echoes | None = field(default=None, compare=False, repr=False)
    # What is left to look through of the error at hand.
    _room: list[int] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def make(
        cls,
        *,
        patterns: Iterable[str | re.Pattern[str]] = (),
        names: Iterable[str] = (),
        values: Iterable[str] = (),
        show: Iterable[str] = (),
        schema: Mapping[str, Any] | None = None,
        max_chars: int = MAX_CHARS,
        max_tokens: int = MAX_TOKENS,
        fences: bool = True,
    ) -> Guard:
        """A guard that also masks your patterns, field names and known secrets, and what a schema calls secret.

        `show` are names that sound secret and are not, such as `reservation_token`: their values leave.
        """
        paths = secret_paths(schema) if schema is not None else frozenset()
        return cls(redactor(patterns, values, names, show), max_chars, max_tokens, fences, paths)

    @property
    def secrets(self) -> Secrets:
        """Which arguments are secret, by these paths and names."""
        return Secrets(self.secret_paths, self.redact.secret_name, self.redact.mask)

    def knowing(self, values: Iterable[str]) -> Guard:
        """The same guard, which also masks these values, in each form that programs write them in."""
        return replace(self, redact=replace(self.redact, values=all_forms((*self.redact.values, *values))))

    def hearing(self, arguments: Mapping[str, Any] | None, *, is_plain: bool = False) -> Guard:
        """The same guard for a call with these arguments: the secrets among them are masked wherever they turn up, and
        none is quoted twice in a text, nor at length. `is_plain` says that no secret is among them."""
        if not arguments:
            return self
        secrets = () if is_plain else self.secrets.values(arguments)
        known = self.knowing(secrets) if secrets else self
        if all(room_after(value, _LONGEST_QUOTED) >= 0 for value in arguments.values()):
            return known
        return replace(known, _echoes=Echoes.of(arguments, secrets))

    @property
    def is_lasting(self) -> bool:
        """Whether it knows of no value in particular, as one does that hears what a call was sent."""
        return self._echoes is None and not self.redact.values

    def __call__(self, outcome: Outcome) -> Outcome:
        """The outcome as it may leave."""
        if isinstance(outcome, NeedsInput):
            return cast(Outcome, self._question(outcome))
        if not self._needed(outcome):
            return outcome
        return cast(Outcome, self._within(self._cleaned(outcome)))

    def cut(self, outcome: Outcome) -> Outcome:
        """An outcome that has passed this guard and grown since, of its own words alone, within the budget again."""
        if isinstance(outcome, NeedsInput):
            return cast(Outcome, question_within(outcome, self.max_chars, self.max_tokens))
        return cast(Outcome, self._within(outcome))

    def _within(self, error: ToolError) -> ToolError:
        """The error within the budget. A cut can make a name of the rest of one, so what was cut is looked at again."""
        for _ in range(_ROUNDS):
            short = within(error, self.max_chars, self.max_tokens)
            if short is error:
                break
            error = self._cleaned(short)
            if error is short:
                break
        return within(error, self.max_chars, self.max_tokens)

    def passes(self, outcome: ToolError | NeedsInput, written: str) -> bool:
        """Whether `written`, a JSON text made of `outcome`, may leave as it is: one look that says no when in doubt.

        What a format leaves out needs no looking at, except for what was sent for a secret argument: the rest may
        quote it. Whatever is escaped in JSON, or not ASCII, is left to those who look at each text.
        """
        if self.secret_paths or isinstance(outcome, NeedsInput):
            return False
        if len(written) > self.max_chars or len(written) > 4 * self.max_tokens:
            return False
        if self._echoes is not None and len(written) > _LONGEST_QUOTED:
            return False
        given = outcome._given
        # What a format may spell in its own way, or only make a digest of.
        for text in (outcome.message, given.get("code", "")):
            if text not in written:
                written = f"{written} {text}"
        for name in ("fields", "patch"):
            for part in given.get(name, ()):
                for step in part.path:
                    if type(step) is str and is_secret_name(step):
                        return False
        return self.hides_nothing(written)

    def hides_nothing(self, written: str) -> bool:
        """Whether there is nothing to mask in a JSON text, names and all: one look that says no when in doubt."""
        if not written.isascii() or written.encode().translate(None, _PLAIN):
            return False
        return self.redact.is_idle(written) and not (self.fences and poses(written))

    def clears(self, error: ToolError, beside: str) -> bool:
        """Whether an error may leave as it is, and a JSON text beside it: one look that says no when in doubt."""
        texts = self._texts(error)
        if texts is None:
            return False
        whole = " ".join(texts)
        return whole.isprintable() and self.hides_nothing(f"{whole} {beside}")

    def text(self, text: str, name: str = "") -> str:
        """One text as it may leave, standing under `name`."""
        if name and text.lower() not in _SAYS_NOTHING and self.redact.secret_name(name):
            return self.redact.mask
        if not self.fences:
            return self.plain(text)
        for _ in range(_ROUNDS):
            told = self._fenced(text)
            if told == text:
                break
            # A quotation may make a name of what was none, and a mask a quotation.
            text = told
        return text

    def plain(self, text: str) -> str:
        """The same for people who read logs and traces: without secrets and tricks, of a length, in its own lines."""
        longest = min(_LONGEST, max(_SHORTEST, self.max_chars))
        if self._room is not None:
            if self._room[0] < 0:
                return f"…({len(text)} characters cut)…" if text else ""
            self._room[0] -= min(len(text), longest) + _EACH
        if self._echoes is not None and len(text) > self._echoes.shortest:
            cleaned = partial(self._clean, longest=longest)
            return self._echoes.told(visible(text), cleaned, self._clean, self.redact.mask)
        return self._clean(text, longest)

    def _clean(self, text: str, longest: int | None = None) -> str:
        if longest is not None and len(text) > longest + 2 * _MARGIN:
            text = self._ends(text, longest)
        return self.redact(visible(text))

    def label(self, text: str) -> str:
        """A name for a line of a log, a span or a metric: on one line, not long, without secrets and tricks."""
        name = " ".join(text[:_LONGEST_LABEL].split())
        return _usual_label(name) if self is DEFAULT else self._labelled(name)

    def _labelled(self, name: str) -> str:
        if name.isascii() and self.redact.is_idle(name):
            return name if name.isprintable() else self.plain(name)
        return self.plain(name)

    def _fenced(self, text: str) -> str:
        if is_fenced(text := visible(text) if len(text) <= _LONGEST else text):
            # Quoted before, its masks too: they must not look like something to mask.
            return quoted(self.plain(text[len(OPEN) : -len(CLOSE)].replace(_QUOTED_MASK, MASK)))
        return fence(self.plain(text))

    def _texts(self, error: ToolError) -> list[str] | None:
        """All texts of an error, if there is nothing to do for what they stand under, or for how long they are."""
        if self.secret_paths and (error.fields or error.patch):
            return None
        if self._misnamed(error):
            return None
        texts: list[str] = []
        names: list[str] = []
        _collect(error._given, texts, names)
        if any(map(self.redact.secret_name if self.redact.names else is_secret_name, names)):
            return None
        if self._echoes is not None and any(len(text) > _LONGEST_QUOTED for text in texts):
            return None
        # At most two characters each in JSON, and some for the structure; whatever could be more is counted exactly.
        room = 2 * sum(map(len, texts)) + 26 * len(texts) + 250
        plain = all(map(str.isascii, texts))
        return None if room > self.max_chars or room > self.max_tokens * (4 if plain else 1) else texts

    def _needed(self, error: ToolError) -> bool:
        """Whether there is anything to do, from one look at all texts together."""
        texts = self._texts(error)
        if texts is None:
            return True
        whole = " ".join(texts)
        plain = whole.isascii()
        if not (plain and whole.isprintable()) and needs_cleaning(whole):
            return True
        # Line by line, since a speaker is told by the beginning of a line.
        return not self.redact.is_idle(whole) or (self.fences and poses("\n".join(texts)))

    def _cleaned(self, error: ToolError) -> ToolError:
        given = error._given
        known = tuple(self._sent_secrets(error))
        mine = replace(self.knowing(known) if known else self, _room=[max(_MOST, 4 * self.max_chars)])
        # What says how to go on is looked through first: the rest is what may be too much.
        order = sorted((name for name in given if name not in _NEVER_TEXT), key=_CONTEXT.__contains__)
        changes = {name: mine._part(name, given[name]) for name in order}
        for path in self._misnamed(error):
            sent = changes["sent"]
            is_there = sent is not None and len(path) == 1 and path[0] in sent.arguments
            changes["sent"] = Sent({**sent.arguments, str(path[0]): UNCHANGED}, sent.long) if is_there else None
        changed = {name: value for name, value in changes.items() if not _same(value, given[name])}
        return error.replace(**changed) if changed else error

    def _misnamed(self, error: ToolError) -> list[Path]:
        """Where what was sent for a secret argument stands under a misspelt name, which nobody would take for one."""
        if error.sent is None:
            return []
        renamed = [(change.path, change.to) for change in error.patch if change.to is not None and change.path]
        return [path for path, name in renamed if self.secrets.hides((*path[:-1], name))]

    def _sent_secrets(self, error: ToolError) -> Iterator[str]:
        """What was sent for arguments that hold secrets; the rest of the error may quote it."""
        sent = [(problem.path, problem.sent) for problem in error.fields]
        sent += [(change.path, change.value) for change in error.patch]
        values = [value for path, value in sent if self.secrets.hides(path)]
        given = {} if error.sent is None else error.sent.arguments
        values += [given.get(path[0]) for path in self._misnamed(error) if isinstance(path[0], str)]
        yield from (str(value) for value in values if isinstance(value, (str, int)) and len(str(value)) >= 4)

    def _part(self, name: str, value: Any) -> Any:
        if name in _CALLS and self._echoes is not None:
            # What is to be sent is whole, or it is something else.
            return replace(self, _echoes=None)._part(name, value)
        if name in ("fields", "patch"):
            return [self._field(part.to_dict()) for part in value]
        if name in ("actions", "conflicts"):
            return [self._value(part.to_dict(), "") for part in value]
        if name == "verify":
            return self._value(value.to_dict(), "")
        if name == "sent":
            return self.shown(value)
        if name in ("next_steps", "notes"):
            return [self.text(line) for line in value]
        return self._value(value, "")

    def shown(self, arguments: Mapping[str, Any] | Sent) -> Sent | None:
        """What may be shown of a call's arguments to whoever makes it again; None where their names may not leave.

        A mask would be sent, so what may not be shown is said to stay as it is.
        """
        sent = Sent.of(arguments)
        if sent is None:
            return None
        given = dict(sent.arguments)
        cleaned = self._mask_below(self._map(given, ""), ())
        if cleaned.keys() != given.keys() or any(self.text(name) != name for name in sent.long):
            return None
        return Sent({name: _unmasked(value, cleaned[name]) for name, value in given.items()}, sent.long)

    def _field(self, problem: dict[str, Json]) -> dict[str, Json]:
        """A problem with an argument, where the argument's own name says whether its value may be shown."""
        path = problem.get("path", [])
        cleaned: dict[str, Json] = self._value(problem, "")
        cleaned["path"] = [self.text(part) if isinstance(part, str) else part for part in path]
        for name in ("sent", "value"):
            if name in problem and self.secret_paths:
                cleaned[name] = self._mask_below(cleaned[name], tuple(path))
        if not self.secrets.hides(path):
            return cleaned
        for name in ("sent", "value"):
            if not _says_nothing(problem.get(name)):
                cleaned[name] = self.redact.mask
        if "options" in problem:
            cleaned["options"] = [self.redact.mask]
        for name in ("message", "expected"):
            # The message about a bad value usually quotes it.
            if isinstance(cleaned.get(name), str):
                cleaned[name] = _QUOTED.sub(self.redact.mask, cleaned[name])
        if not _describes(problem.get("expected", "")):
            cleaned["expected"] = self.redact.mask
        return cleaned

    def _mask_below(self, value: Json, path: Path) -> Json:
        """`value` with what the schema calls secret inside it masked."""
        if self.secrets.marks(path):
            return self.redact.mask
        if isinstance(value, dict):
            return {key: self._mask_below(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self._mask_below(item, (*path, index)) for index, item in enumerate(value)]
        return value

    def _value(self, value: Json, name: str) -> Json:
        if isinstance(value, str):
            return self.text(value, name)
        if isinstance(value, dict):
            return self._map(value, name)
        if isinstance(value, list):
            return self._list(value, name)
        if type(value) is int and self.redact.values and str(value) in self.redact.values:
            return self.redact.mask
        if name and value is not None and not isinstance(value, bool) and self.redact.secret_name(name):
            return self.redact.mask if masks_numbers(name) or not is_secret_name(name) else value
        return value

    def _map(self, data: dict[str, Json], name: str) -> dict[str, Json]:
        below = name if name and self.redact.secret_name(name) else ""
        # A pair of name and value is the same as a value under that name.
        titled = next((data[key] for key in _NAME_KEYS if isinstance(data.get(key), str)), "")
        place = data.get("loc")
        if not titled and isinstance(place, list):
            titled = next((part for part in place if isinstance(part, str) and self.redact.secret_name(part)), "")
        cleaned: dict[str, Json] = {}
        for key, item in data.items():
            shown = self.text(key)
            while shown in cleaned:
                shown += "'"
            cleaned[shown] = self._value(item, below or (titled if key in _VALUE_KEYS and titled else key))
        return cleaned

    def _list(self, items: list[Json], name: str) -> list[Json]:
        cleaned = []
        before: Json = None
        for item in items:
            # A flag, or a header as a pair: the name stands in front of its value.
            named = isinstance(before, str) and (before.startswith("-") or len(items) == 2)
            secret = named and isinstance(item, str) and self.redact.secret_name(str(before))
            cleaned.append(self.redact.mask if secret else self._value(item, name))
            before = item
        return cleaned

    def _question(self, question: NeedsInput) -> NeedsInput:
        data = question.to_dict()
        cleaned = self._value(data, "")
        if cleaned != data:
            question = changed_question(question, cleaned)
        return question_within(question, self.max_chars, self.max_tokens)

    def _ends(self, text: str, longest: int) -> str:
        """The beginning and the end of a very long text.

        Each is searched with a margin around it, so that the cut takes no secret's name from its value.
        """
        head = self.redact(visible(text[: longest * 3 // 4 + _MARGIN]))[:-_MARGIN]
        tail = self.redact(visible(text[-(longest // 4 + _MARGIN) :]))[_MARGIN:]
        head = head[: max(head.rfind(" ", -256), head.rfind("\n", -256))] if " " in head[-256:] else head[:-256]
        gap = tail.find(" ", 0, 256)
        tail = tail[gap:] if gap >= 0 else tail[256:]
        return f"{head}{cut_mark(full_length(text) - len(head) - len(tail))}{tail}"


# What JSON shows as it is: no control characters, no escapes.
_PLAIN: Final = bytes(code for code in range(32, 127) if code != ord("\\")) + b"\n"
_CONTEXT: Final = frozenset({"details", "meta", "debug", "conflicts", "notes"})
_QUOTED_MASK: Final = "(redacted)"
_NEVER_TEXT: Final = frozenset({"severity", "strategy", "effect", "kind", "origin", "retry_after", "reset_at"})
_CALLS: Final = frozenset({"patch", "actions", "verify", "sent"})
_NAME_KEYS: Final = ("name", "key", "field", "header", "label")
_VALUE_KEYS: Final = ("value", "input")
_QUOTED: Final = pattern(r"(?<=')[^'\r\n]{1,200}(?=')|(?<=\")[^\"\r\n]{1,200}(?=\")")


# Words that say what a value must be like, rather than which it must be.
_ABOUT_VALUES: Final = pattern(
    r"\b(?:characters?|chars|letters?|digits?|symbols?|strings?|text|least|most|than|length|long|format|valid|pattern|"
    r"match|must|should|number|type|null|empty|bytes|encoded|hex|base64|object|array|list|any|non-empty|required)\b",
    re.IGNORECASE,
)


def _describes(expected: str) -> bool:
    """Whether what was expected of a secret says nothing of the secret itself."""
    return not expected or (
        _ABOUT_VALUES.search(expected) is not None and not any(map(drawn, expected.replace("'", " ").split()))
    )


def _says_nothing(value: Json) -> bool:
    if isinstance(value, str):
        return value.lower() in _SAYS_NOTHING
    return value is None or isinstance(value, bool)


def _collect(data: Mapping[str, Any], texts: list[str], names: list[str]) -> None:
    """Every text in `data`, and every name that something stands under."""
    for value in data.values():
        kind = type(value)
        if kind is str:
            texts.append(value)
        elif kind is dict:
            texts += value
            names += value
            names += [title for key in _NAME_KEYS if type(title := value.get(key)) is str]
            if "loc" in value and type(value["loc"]) is list:
                names += [part for part in value["loc"] if type(part) is str]
            _collect(value, texts, names)
        elif kind is list or kind is tuple:
            for item in value:
                if type(item) is str:
                    texts.append(item)
                    if item.startswith("-") or len(value) == 2:
                        names.append(item)
                elif type(item) is FieldError:
                    names += [part for part in item.path if type(part) is str]
                    texts += (item.message, item.expected or "", item.rule or "", *map(str, item.path))
                    _collect({"": item.sent, "o": list(item.options)}, texts, names)
                elif type(item) is Patch:
                    names += [part for part in item.path if type(part) is str]
                    texts += (item.to or "", *map(str, item.path))
                    _collect({"": item.value}, texts, names)
                elif hasattr(item, "to_dict"):
                    _collect({"": item.to_dict()}, texts, names)
                elif type(item) is dict or type(item) is list:
                    _collect({"": item}, texts, names)
                else:
                    texts.append(_as_long(item))
        elif kind is int:
            texts.append(_as_long(value))
        elif hasattr(value, "to_dict"):
            _collect(value.to_dict(), texts, names)


def _as_long(value: Json) -> str:
    """Something that takes as much room as a number, and holds nothing to find."""
    return "0" * (value.bit_length() // 3) if type(value) is int and value.bit_length() > 64 else ""


def _unmasked(value: Json, cleaned: Json) -> Json:
    """A value, with what had to be cleaned in it said to stay as it is."""
    if isinstance(value, dict) and isinstance(cleaned, dict) and value.keys() == cleaned.keys():
        return {key: _unmasked(item, cleaned[key]) for key, item in value.items()}
    if isinstance(value, list) and isinstance(cleaned, list):
        return [_unmasked(item, other) for item, other in zip(value, cleaned, strict=True)]
    return value if value == cleaned else UNCHANGED


def _same(new: object, old: object) -> bool:
    if isinstance(old, Sent):
        return new == old
    if isinstance(old, tuple):
        return new == [part.to_dict() if hasattr(part, "to_dict") else part for part in old]
    return new == (old.to_dict() if hasattr(old, "to_dict") else old)


DEFAULT: Final = Guard()


@lru_cache(maxsize=1024)
def _usual_label(name: str) -> str:
    # The names of tools and codes are few, and each failure is told of under them in several places.
    return DEFAULT._labelled(name)


def guard(outcome: Outcome) -> Outcome:
    """The outcome as it may leave, by the default rules.

    >>> guard(ToolError("Login failed for postgres://app:hunter2@db/main")).message
    'Login failed for postgres://app:[redacted]@db/main'
    """
    return DEFAULT(outcome)


def shown_arguments(arguments: Mapping[str, Any], schema: object = None) -> Sent | None:
    """What may be shown of a call's arguments by the default rules, and by what a schema calls secret.

    >>> shown_arguments({"id": 7, "token": "k3y-8fj2"}).arguments
    {'id': 7, 'token': '<unchanged>'}
    """
    return replace(DEFAULT, secret_paths=Secrets.of(schema).paths).shown(arguments)


_PIECE: Final = 20_000


def _pieces(text: str) -> Iterator[str]:
    """A long text in pieces of which each is soon looked through, cut where a line or a word ends."""
    start = 0
    while len(text) - start > _PIECE:
        most = start + _PIECE
        end = max(text.rfind("\n", start, most), text.rfind(" ", start, most)) + 1 or most
        yield text[start:end]
        start = end
    yield text[start:]


# Bytes, not words, where it is said of which type they are.
_OPAQUE: Final = frozenset({"data", "blob"})
# What only a schema has: what stands in one under the name of a secret describes it.
_OF_SCHEMAS: Final = frozenset({"type", "$ref", "anyOf", "oneOf", "allOf", "enum"})


_DEEPEST: Final = 100
# No secret that is known by its looks is a shorter word.
_SHORT_NAME: Final = 16


def gathered(members: Iterable[tuple[str, Json]]) -> dict[str, Json]:
    """An object of these names and values. Names that have become the same get a number: no value is lost.

    >>> gathered([("…/a", 1), ("…/a", 2)])
    {'…/a': 1, '…/a 2': 2}
    """
    made: dict[str, Json] = {}
    times: dict[str, int] = {}
    for name, value in members:
        told = name
        while told in made:
            times[name] = times.get(name, 1) + 1
            told = f"{name} {times[name]}"
        made[told] = value
    return made


def _masked_name(name: str, redact: Redactor) -> str:
    is_plain = len(name) < _SHORT_NAME and name.isidentifier() and name not in redact.values
    return name if is_plain else _looked_through(name, redact)


def _looked_through(text: str, redact: Redactor) -> str:
    """A text with the secrets in it masked, also where something stands in them that nobody sees."""
    shown = visible(text)
    told = redact(shown)
    return told if told != shown or shown is text else redact(text)


def masked(value: Json, name: str = "", depth: int = 0, redact: Redactor | None = None) -> Json:
    """A JSON value, such as the blocks of a result, with the secrets in it masked, in names too: by their looks, and by
    the names that they stand under. What lies deeper than anybody would look is left out. `redact` is that of another
    guard than the default."""
    redact = redact or DEFAULT.redact
    if isinstance(value, str):
        if name and not _says_nothing(value) and redact.secret_name(name):
            return redact.mask
        # One that is known may stand on the border of two pieces.
        told = without_values(value, redact.values, redact.mask)
        return "".join([_looked_through(piece, redact) for piece in _pieces(told)])
    if depth >= _DEEPEST and isinstance(value, (Mapping, list, tuple)):
        return "…"
    if isinstance(value, Mapping):
        below = name if name and redact.secret_name(name) and _OF_SCHEMAS.isdisjoint(value) else ""
        titled = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), "")
        opaque = _OPAQUE if isinstance(value.get("mimeType"), str) else ()
        return gathered(
            (
                _masked_name(key, redact),
                part
                if key in opaque and isinstance(part, str)
                else masked(part, below or (titled if key in _VALUE_KEYS else key), depth + 1, redact),
            )
            for key, part in value.items()
        )
    if isinstance(value, (list, tuple)):
        return [masked(part, name, depth + 1, redact) for part in value]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    is_known = is_number and bool(redact.values) and str(value) in redact.values
    is_named = is_number and name != "" and redact.secret_name(name) and masks_numbers(name)
    return redact.mask if is_known or is_named else value


__all__ = ["DEFAULT", "MASK", "UNCHANGED", "Guard", "Secrets", "guard", "masked", "secret_paths", "shown_arguments"]
