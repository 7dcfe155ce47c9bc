"""What may leave: nothing secret, nothing endless, nothing that is not what it looks like.

The guard stands between every error and every way out. It gives the very same object back when there is nothing to
do, which costs one look at the texts. `masked` does the same for JSON that somebody else has made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import Any, Final, TypeVar, cast

from failwell.model import Json, NeedsInput, Path, SentArguments, ToolError, pattern

from .arguments import Secrets, secret_paths
from .fence import CLOSE, OPEN, fence, is_fenced, poses, quoted
from .known import all_forms, without_values
from .length import (
    MAX_CHARS,
    MAX_TOKENS,
    changed_question,
    cut_mark,
    encode_json,
    ends,
    full_length,
    is_cut,
    question_within,
    within,
)
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
_SHORTEST: Final = 2_000
_MARGIN: Final = 1_000
_MOST: Final = 12_000
_EACH: Final = 50
_ROUNDS: Final = 4
_LONGEST_LABEL: Final = 200
# Of what somebody else has made so much stays, and so much of it is looked through more closely.
_MOST_MASKED: Final = 100_000
_MOST_SEARCHED: Final = 24_000
_PIECE: Final = 5_000


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
        return Secrets(self.secret_paths, self.redact.secret_name, self.redact.mask, self.redact.found)

    def knowing(self, values: Iterable[str]) -> Guard:
        """The same guard, which also masks these values, in each form that programs write them in."""
        return replace(self, redact=replace(self.redact, values=all_forms((*self.redact.values, *values))))

    def hearing(self, arguments: Mapping[str, Any] | None, *, is_plain: bool = False) -> Guard:
        """The same guard for a call with these arguments: the secrets among them are masked wherever they turn up.
        `is_plain` says that no secret is among them."""
        secrets = self.secrets.values(arguments) if arguments and not is_plain else ()
        return self.knowing(secrets) if secrets else self

    @property
    def is_lasting(self) -> bool:
        """Whether it knows of no value in particular, as one does that hears what a call was sent."""
        return not self.redact.values

    def __call__(self, outcome: Outcome) -> Outcome:
        """The outcome as it may leave."""
        if isinstance(outcome, NeedsInput):
            return cast(Outcome, self._question(outcome))
        if self._is_clear(outcome):
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

    def hides_nothing(self, written: str) -> bool:
        """Whether there is nothing to mask in a JSON text, names and all: one look that says no when in doubt."""
        if not written.isascii() or written.encode().translate(None, _PLAIN):
            return False
        return self.redact.is_idle(written) and not (self.fences and poses(written))

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
        return self.redact(visible(self._ends(text, longest * 2 // 3) if len(text) > longest + 2 * _MARGIN else text))

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

    def _is_clear(self, error: ToolError) -> bool:
        """Whether there is nothing to do, from one look at all texts together: no when in doubt."""
        if self.secret_paths and (error.fields or error.patch):
            return False
        texts = _texts(error._given.values())
        # At most two characters each in JSON, and some for the structure; whatever could be more is counted exactly.
        room = 2 * sum(map(len, texts)) + 26 * len(texts) + 250
        # Line by line, since a speaker is told by the beginning of a line.
        whole = "\n".join(texts)
        if room > self.max_chars or room > self.max_tokens * (4 if whole.isascii() else 1) or needs_cleaning(whole):
            return False
        return self.redact.is_idle(whole) and not (self.fences and poses(whole)) and not self._misnamed(error)

    def _cleaned(self, error: ToolError) -> ToolError:
        if error.verify is not None and len(encode_json(error.verify.to_dict())) > self.max_chars:
            # That the effect is not known followed from there being a call that tells.
            error = error.replace(verify=None, effect=error.effect, details={**error.details, "cut": "verify"})
        given = error._given
        known = tuple(self._sent_secrets(error))
        mine = replace(self.knowing(known) if known else self, _room=[max(_MOST, self.max_chars * 3 // 2)])
        # What says how to go on is looked through first: the rest is what may be too much.
        # Of that, names come before lists, and lists before long texts.
        order = sorted((name for name in given if name not in _NEVER_TEXT), key=lambda name: _rank(name, given[name]))
        changes = {name: mine._part(name, given[name]) for name in order}
        for path in self._misnamed(error):
            sent, changes["sent"] = changes["sent"], None
            if sent is not None and len(path) == 1 and path[0] in sent.arguments:
                changes["sent"] = SentArguments({**sent.arguments, str(path[0]): UNCHANGED}, sent.long)
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
        if name in ("fields", "patch"):
            return [self._field(part.to_dict()) for part in value]
        if name == "conflicts":
            return [self._value(part.to_dict()) for part in value]
        if name == "actions":
            # Half an argument is a wrong one: what cannot be told whole is left out.
            parts = [part.to_dict() for part in value]
            return [self._value(part) for part in parts if len(encode_json(part)) <= self.max_chars]
        if name == "verify":
            return self._value(value.to_dict())
        if name == "sent":
            return self.shown(value)
        return self._value([*value] if isinstance(value, tuple) else value)

    def shown(self, arguments: Mapping[str, Any] | SentArguments) -> SentArguments | None:
        """What may be shown of a call's arguments to whoever makes it again; None where their names may not leave.

        A mask would be sent, so what may not be shown is said to stay as it is.
        """
        sent = SentArguments.of(arguments)
        if sent is None:
            return None
        given = dict(sent.arguments)
        cleaned = self._mask_below(self._value(given), ())
        if cleaned.keys() != given.keys() or any(self.text(name) != name for name in sent.long):
            return None
        return SentArguments({name: _unmasked(value, cleaned[name]) for name, value in given.items()}, sent.long)

    def _field(self, problem: dict[str, Json]) -> dict[str, Json]:
        """A problem with an argument, where the argument's own name says whether its value may be shown."""
        path = problem.get("path", [])
        if len(problem.get("options", ())) > _KEPT_OPTIONS:
            problem["options"] = problem["options"][:_KEPT_OPTIONS]
        cleaned: dict[str, Json] = self._value(problem)
        if "options" in problem:
            # Nor is half an option one.
            told = zip(cleaned["options"], problem["options"], strict=False)
            cleaned["options"] = [new for new, old in told if new == old or not is_cut(new)]
        cleaned["path"] = [self.text(part) if isinstance(part, str) else part for part in path]
        for name in ("sent", "value"):
            if name in problem and self.secret_paths:
                cleaned[name] = self._mask_below(cleaned[name], tuple(path))
        if not self.secrets.hides(path):
            return cleaned
        for name in ("sent", "value"):
            if not _says_nothing(problem.get(name)):
                cleaned[name] = self.redact.mask
        # What a schema offers to choose from is public.
        public = problem.get("options", ()) if problem.get("rule") == "enum" else ()
        if "options" in problem and not public:
            cleaned["options"] = [self.redact.mask]
        for name in ("message", "expected"):
            # The message about a bad value usually quotes it.
            if isinstance(words := cleaned.get(name), str):
                bad, mask = problem.get("sent"), self.redact.mask
                is_only = bool(public) and isinstance(bad, str) and bad != "" and bad in words
                cleaned[name] = words.replace(str(bad), mask) if is_only else _QUOTED.sub(mask, words)
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

    def _value(self, value: Json) -> Json:
        return _walk(value, "", self.redact, self.text)

    def _question(self, question: NeedsInput) -> NeedsInput:
        data = question.to_dict()
        cleaned = self._value(data)
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
_QUOTED: Final = pattern(r"(?<=')[^'\r\n]{1,200}(?=')|(?<=\")[^\"\r\n]{1,200}(?=\")")
# Words that say what a value must be like, rather than which it must be.
_ABOUT_VALUES: Final = pattern(
    r"\b(?:characters?|chars|letters?|digits?|symbols?|strings?|text|least|most|than|length|long|format|valid|pattern|"
    r"match|must|should|number|type|null|empty|bytes|encoded|hex|base64|object|array|list|any|non-empty|required)\b",
    re.IGNORECASE,
)


def _rank(name: str, value: Any) -> tuple[bool, int]:
    is_short = isinstance(value, str) and len(value) <= _LONGEST_LABEL
    return name in _CONTEXT, 0 if is_short else 2 if isinstance(value, str) else 1


def _describes(expected: str) -> bool:
    """Whether what was expected of a secret says nothing of the secret itself."""
    return not expected or (
        _ABOUT_VALUES.search(expected) is not None and not any(map(drawn, expected.replace("'", " ").split()))
    )


def _says_nothing(value: Json) -> bool:
    if isinstance(value, str):
        return value.lower() in _SAYS_NOTHING
    return value is None or isinstance(value, bool)


def _texts(values: Iterable[Any]) -> list[str]:
    """Every text in what an error was given, names too."""
    found: list[str] = []
    left = list(values)
    while left:
        value = left.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            found += ["", *value]
            left += value.values()
        elif isinstance(value, (list, tuple)):
            left += value
        elif hasattr(value, "to_dict"):
            left.append(value.to_dict())
        else:
            # Something that takes as much room, and holds nothing to find.
            found.append("0" * (value.bit_length() // 3) if type(value) is int and value.bit_length() > 64 else "")
    return found


def _unmasked(value: Json, cleaned: Json) -> Json:
    """A value, with what had to be cleaned in it said to stay as it is."""
    if isinstance(value, dict) and isinstance(cleaned, dict) and value.keys() == cleaned.keys():
        return {key: _unmasked(item, cleaned[key]) for key, item in value.items()}
    if isinstance(value, list) and isinstance(cleaned, list):
        return [_unmasked(item, other) for item, other in zip(value, cleaned, strict=True)]
    return value if value == cleaned else UNCHANGED


def _same(new: object, old: object) -> bool:
    if isinstance(old, SentArguments):
        return new == old
    if isinstance(old, tuple):
        return new == [part.to_dict() if hasattr(part, "to_dict") else part for part in old]
    return new == (old.to_dict() if hasattr(old, "to_dict") else old)


DEFAULT: Final = Guard()


@lru_cache(maxsize=1024)
def _usual_label(name: str) -> str:
    # The names of tools and codes are few, and each failure is told of under them in several places.
    return DEFAULT.plain(name)


def guard(outcome: Outcome) -> Outcome:
    """The outcome as it may leave, by the default rules.

    >>> guard(ToolError("Login failed for postgres://app:hunter2@db/main")).message
    'Login failed for postgres://app:[redacted]@db/main'
    """
    return DEFAULT(outcome)


def shown_arguments(arguments: Mapping[str, Any], schema: object = None) -> SentArguments | None:
    """What may be shown of a call's arguments by the default rules, and by what a schema calls secret.

    >>> shown_arguments({"id": 7, "token": "k3y-8fj2"}).arguments
    {'id': 7, 'token': '<unchanged>'}
    """
    return replace(DEFAULT, secret_paths=Secrets.of(schema).paths).shown(arguments)


# Where a name is a value itself, and what then stands for its value.
_NAME_KEYS: Final = ("name", "key", "field", "header", "label")
_VALUE_KEYS: Final = ("value", "input")
# Bytes, not words, where it is said of which type they are.
_OPAQUE: Final = frozenset({"data", "blob"})
# What only a schema has: what stands in one under the name of a secret describes it.
_OF_SCHEMAS: Final = frozenset({"type", "$ref", "anyOf", "oneOf", "allOf", "enum"})
_DEEPEST: Final = 100
_MOST_ITEMS: Final = 1_000
_KEPT_ITEMS: Final = 100
_KEPT_OPTIONS: Final = 200
# No secret that is known by its looks is a shorter word.
_SHORT_NAME: Final = 16


def _walk(value: Json, name: str, redact: Redactor, clean: Callable[[str], str], depth: int = 0) -> Json:
    """A JSON value with each text in it cleaned, names too, and masked where it stands under the name of a secret. What
    lies deeper than anybody would look is left out."""
    if isinstance(value, str):
        secret = name and value.lower() not in _SAYS_NOTHING and redact.secret_name(name)
        return redact.mask if secret else clean(value)
    if isinstance(value, (Mapping, list, tuple)) and (depth >= _DEEPEST or len(value) > _MOST_ITEMS):
        if depth >= _DEEPEST:
            return "…"
        # More than an error has room for: a few tell what the rest are like.
        rest = f"{len(value) - _KEPT_ITEMS} more were cut"
        value = (
            {**dict(islice(value.items(), _KEPT_ITEMS)), "…": rest}
            if isinstance(value, Mapping)
            else [*value[:_KEPT_ITEMS], rest]
        )
    if isinstance(value, Mapping):
        below = name if name and redact.secret_name(name) and _OF_SCHEMAS.isdisjoint(value) else ""
        place = value.get("loc")
        titles = [*(value.get(key) for key in _NAME_KEYS), *(place if isinstance(place, list) else ())]
        titled = next((title for title in titles if isinstance(title, str) and redact.secret_name(title)), "")
        opaque = _OPAQUE if isinstance(value.get("mimeType"), str) else ()
        known = redact.values or redact.patterns
        return gathered(
            (
                key if len(key) < _SHORT_NAME and key.isidentifier() and not known else clean(key),
                part
                if key in opaque and isinstance(part, str)
                else _walk(part, below or (titled if titled and key in _VALUE_KEYS else key), redact, clean, depth + 1),
            )
            for key, part in value.items()
        )
    if isinstance(value, (list, tuple)):
        parts, before = [], ""
        for part in value:
            # A flag, or a header as a pair: the name stands in front of its value.
            is_name = before.startswith("-") or (before and " " not in before and len(value) == 2)
            named = isinstance(part, str) and is_name
            under = before if named and redact.secret_name(before) else name
            parts.append(_walk(part, under, redact, clean, depth + 1))
            before = part if isinstance(part, str) else ""
        return parts
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        named = name != "" and redact.secret_name(name) and (masks_numbers(name) or not is_secret_name(name))
        return redact.mask if named or (redact.values and str(value) in redact.values) else value
    return value


def masked(value: Json, redact: Redactor | None = None) -> Json:
    """A JSON value, such as the blocks of a result, with the secrets in it masked, in names too: by their looks, and by
    the names that they stand under. `redact` is that of another guard than the default.

    >>> masked({"user": "ann", "login": ["--token", "k3y-8fj2"], "note": "password=hunter2"})
    {'user': 'ann', 'login': ['--token', '[redacted]'], 'note': 'password=[redacted]'}
    """
    redact = redact or DEFAULT.redact
    by_rules = replace(redact, values=()) if redact.values else redact
    room = [_MOST_MASKED, _MOST_SEARCHED]

    def clean(text: str) -> str:
        if room[0] <= 0:
            return cut_mark(len(text)) if text else ""
        text = ends(text, room[0] // 2)
        room[0] -= len(text) + _EACH
        # One that is known may stand on the border of two pieces.
        return "".join(map(cleaned_piece, _pieces(without_values(text, redact.values, redact.mask))))

    def cleaned_piece(text: str) -> str:
        shown = visible(text)
        if by_rules.is_idle(shown) and (shown is text or by_rules.is_idle(text)):
            return text
        room[1] -= len(text)
        if room[1] < 0:
            return cut_mark(len(text))
        told = by_rules(shown)
        return told if told != shown or shown is text else by_rules(text)

    return _walk(value, "", redact, clean)


def _pieces(text: str) -> Iterator[str]:
    """A long text in pieces of which each is soon looked through, cut where a line or a word ends."""
    start = 0
    while len(text) - start > _PIECE:
        most = start + _PIECE
        end = max(text.rfind("\n", start, most), text.rfind(" ", start, most)) + 1 or most
        yield text[start:end]
        start = end
    yield text[start:]


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
