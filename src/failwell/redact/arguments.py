"""Which arguments of a call are secret: where they stand, and what was sent there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from failwell.model import UNSET, Json, Path, pattern, plain
from failwell.schema import ANY, BySchema, Schema, cut, decoded, places, step_into, step_of

from .known import without_values
from .looks import plausible
from .redactor import MASK, Redactor
from .secret_names import is_secret_name, is_word_for_secret, masks_numbers
from .secret_parts import lines_of_key, under, unencoded

# A call with more values than this is read as far as it goes, the outermost first.
_MOST_VALUES: Final = 20_000
_MOST_SEARCHED: Final = 500
_LONGEST_SECRET: Final = 10_000
_LONGEST_SAMPLE: Final = 200
# A shorter text is found in others by chance.
_SHORTEST: Final = 4
_KEYS: Final = pattern(r'"([^"]{1,100})"\s*:')

# Where a name is a value itself: `{"name": "API_KEY", "value": …}`.
_TITLES: Final = ("name", "key", "header", "variable")
_TITLED: Final = "value"
# Also what a text is made of, and what styles are; most of that is shorter.
_TOKENS: Final = "tokens"
_SHORTEST_TOKEN: Final = 12

# How a text begins that may be JSON, and what holds nothing.
_OPENING: Final = frozenset("{[ \t\r\n")
_SINGLE: Final = frozenset({int, float, bool, type(None)})

_Paths = Collection[Path]


def secret_paths(schema: Mapping[str, Any]) -> frozenset[Path]:
    """The arguments a JSON Schema calls secret: `format: password` or `writeOnly`. `*` stands for any index or key."""
    return places(schema, _is_secret)


def _is_secret(node: Schema) -> bool:
    return node.get("format") == "password" or node.get("writeOnly") is True


@dataclass(frozen=True, slots=True)
class Secrets:
    """The secret arguments of a tool: those at the paths its schema names, and those whose name says it."""

    paths: frozenset[Path] = frozenset()
    is_name: Callable[[str], bool] = is_secret_name
    mask: str = MASK
    find: Callable[[str], Iterable[str]] = Redactor().found

    @classmethod
    def of(cls, schema: object) -> Secrets:
        return _KNOWN(schema) if type(schema) is dict or isinstance(schema, Mapping) else _NAMES_ALONE

    def hides(self, path: Iterable[str | int]) -> bool:
        """Whether the argument at a path is secret, or lies in one that is."""
        path = tuple(path)
        return any(map(self._is_named, path)) or self.marks(path)

    def marks(self, path: Path) -> bool:
        """Whether the schema says so. A name may be a whole path, as some validators write them: `login.phrase`."""
        if not self.paths:
            return False
        return () in _after(self.paths, path) or () in _after(self.paths, tuple(_parted(path)))

    def _is_named(self, step: object) -> bool:
        return isinstance(step, str) and self.is_name(step[-_LONGEST_SAMPLE:])

    def values(self, arguments: object) -> tuple[str, ...]:
        """What was sent as a secret, which is one wherever it turns up."""
        if not self.paths and type(arguments) is dict and all(map(self._is_plain, arguments, arguments.values())):
            return ()
        return tuple(dict.fromkeys(text[:_LONGEST_SECRET] for text in self._sent(arguments)))

    def _is_plain(self, name: object, value: object) -> bool:
        """Whether there is nothing secret under a name, nor below it: the quick answer about most arguments."""
        if type(name) is not str or self._is_named(name):
            return False
        if type(value) is str:
            # One word holds nothing but itself.
            return value.isidentifier() or (value[:1] not in _OPENING and not _may_hold(value))
        return type(value) in _SINGLE

    def _sent(self, arguments: object) -> Iterator[str]:
        waiting: deque[tuple[object, _Paths, str]] = deque([(arguments, self.paths, "")])
        for _ in range(_MOST_VALUES):
            if not waiting:
                return
            value, paths, name = waiting.popleft()
            if name or () in paths:
                yield from _texts(value, () in paths or masks_numbers(name))
                yield from _long_enough(under(name, value)) if isinstance(value, str) else ()
                if isinstance(value, str) and (plain := unencoded(value)) is not None:
                    waiting.append((plain, paths, name))
            if isinstance(value, str):
                yield from _long_enough(self._held(value)) if _may_hold(value) else ()
                # Servers read a JSON text where an object is wanted.
                if (value := decoded(value)) is UNSET:
                    continue
            titled = self._title(value) if type(value) is dict and _TITLED in value else ""
            for step, below in _items(value):
                left = _below(paths, step) if paths else paths
                named = str(step) if self._is_named(step) else titled if step == _TITLED else ""
                waiting.append((below, left, name or named))
                yield from _tokens(below) if type(below) is list and str(step).lower().endswith(_TOKENS) else ()

    def _held(self, text: str) -> Iterator[str]:
        """What a text holds by its own form, whatever it is called: a login, an address, settings, a key."""
        from urllib.parse import unquote

        text = text[:_LONGEST_SECRET]
        for found in self.find(text):
            if is_word_for_secret(found):
                continue
            yield from dict.fromkeys((found, unquote(found)))
            yield from lines_of_key(found)

    def _title(self, value: Mapping[Any, Any]) -> str:
        """The name of a secret that is given beside its value; empty for anything else."""
        titles = (value.get(title) for title in _TITLES)
        return next((title for title in titles if isinstance(title, str) and self._is_named(title)), "")

    def sample(self, value: object, path: Path, depth: int = 0) -> Json:
        """`value` small enough to be kept, and without what is secret in it."""
        if self.hides(path) and value is not None and not isinstance(value, bool):
            return self.mask
        if type(value) is str:
            # Mostly, and asking an abstract class would take longer than the rest.
            return self._words(value, path)
        if isinstance(value, Mapping):
            return self._sampled(value, path, depth) if depth <= 2 else "…"
        if isinstance(value, (list, tuple)):
            if depth > 2 or len(value) > 20:
                return f"array({len(value)})"
            return [self.sample(item, (*path, index), depth + 1) for index, item in enumerate(value)]
        if value is None or isinstance(value, (bool, int, float)):
            return plain(value)
        return self._words(value, path)

    def _words(self, value: object, path: Path) -> str:
        words = cut(value, _LONGEST_SAMPLE)
        return self.mask if self._quotes(words, path) else words

    def _sampled(self, value: Mapping[Any, Any], path: Path, depth: int) -> Json:
        shown = [(key, step_into(value, key)) for key in islice(value, 10)]
        found = {cut(key, 50): self.sample(item, (*path, step_of(key)), depth + 1) for key, item in shown}
        return found | ({"…": f"{len(value) - 10} more"} if len(value) > 10 else {})

    def _quotes(self, words: str, path: Path) -> bool:
        """Whether a text is JSON that names a secret."""
        if words.lstrip()[:1] not in ("{", "["):
            return False
        return bool(_after(self.paths, path)) or any(map(self.is_name, _KEYS.findall(words)))

    def spared(self, words: str, arguments: object) -> str:
        """An author's words, which may quote any of the arguments, or the beginning of one."""
        secrets = sorted(self.values(arguments), key=len, reverse=True)
        return without_values(words, secrets, self.mask)

    def may_hide(self, value: object, path: Path) -> bool:
        """Whether there is a secret in `value`, or so much that nobody can tell."""
        waiting = [(value, path)]
        for _ in range(_MOST_SEARCHED):
            if not waiting:
                return False
            each, where = waiting.pop()
            if self.hides(where):
                return True
            waiting += [(item, (*where, step)) for step, item in _items(each)]
        return True


def _of(schema: Schema) -> Secrets:
    try:
        return Secrets(secret_paths(schema))
    except Exception:
        # A schema that cannot be read names no secrets; names still do.
        return _NAMES_ALONE


_NAMES_ALONE: Final = Secrets()
_KNOWN: Final = BySchema(_of)


def _below(paths: _Paths, step: str | int) -> list[Path]:
    """What is left of the paths after a step that they share; one that has ended covers all that lies below."""
    return [path[1:] for path in paths if not path or path[0] == ANY or str(path[0]) == str(step)]


def _after(paths: _Paths, steps: Path) -> list[Path]:
    left = list(paths)
    for step in steps:
        left = _below(left, step)
    return left


def _parted(path: Path) -> Iterator[str | int]:
    for step in path:
        yield from step.split(".") if isinstance(step, str) else (step,)


def _items(value: object) -> Iterator[tuple[str | int, Any]]:
    if type(value) is dict:
        # Nearly always, and asking an abstract class would take longer than the rest.
        yield from ((step_of(key), below) for key, below in islice(value.items(), _MOST_VALUES))
    elif isinstance(value, Mapping):
        yield from ((step_of(key), step_into(value, key)) for key in islice(value, _MOST_VALUES))
    elif isinstance(value, (list, tuple)):
        yield from enumerate(value[:_MOST_VALUES])


def _may_hold(text: str) -> bool:
    return ":" in text or "=" in text or text.startswith(("Bearer ", "bearer ", "-----BEGIN "))


def _long_enough(texts: Iterable[str]) -> Iterator[str]:
    return (text for text in texts if len(text) >= _SHORTEST)


def _tokens(values: list[Any]) -> Iterator[str]:
    """Those of many tokens that may let somebody in, by their looks: a count or a word does not."""
    for value in values[:_MOST_SEARCHED]:
        if isinstance(value, str) and len(value) >= _SHORTEST_TOKEN and plausible(value):
            yield value


def _texts(value: object, numbers: bool) -> Iterator[str]:
    """A secret as it may be quoted. A number is one only where it is meant to be: a count of tokens is none."""
    if isinstance(value, str) and len(value) >= _SHORTEST:
        yield value
    elif numbers and type(value) is int and 1_000 <= abs(value) < 10**30:
        yield str(value)
