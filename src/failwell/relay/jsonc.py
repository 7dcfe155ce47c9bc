"""JSON as people keep it in their configuration: with comments and commas too many, read with where everything stands.

So that a file can be changed in one place, and every other byte of it stays.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

_BLANK: Final = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_TEXT: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_BARE: Final = re.compile(r"[^\s,\]}/]+")
_DEEPEST: Final = 50


class NotJson(ValueError):
    """What is wrong with a file, and where."""


@dataclass(slots=True)
class Node:
    """A value, and where it stands in the text."""

    value: Any
    start: int
    end: int
    members: dict[str, Node] = field(default_factory=dict)
    """Of an object: what stands under its names."""
    items: list[Node] = field(default_factory=list)
    """Of a list: what stands in it."""

    def __getitem__(self, name: str) -> Node:
        return self.members[name]

    def get(self, name: str) -> Node | None:
        return self.members.get(name)


def read(text: str) -> Node:
    """The value of a whole text; it raises `NotJson`."""
    reader = _Reader(text)
    node = reader.value(reader.skip(1 if text.startswith("\ufeff") else 0), 0)
    if reader.skip(node.end) < len(text):
        raise reader.problem("something comes after the end", node.end)
    return node


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text

    def problem(self, what: str, place: int) -> NotJson:
        line = self.text.count("\n", 0, place) + 1
        return NotJson(f"{what} in line {line}")

    def skip(self, place: int) -> int:
        found = _BLANK.match(self.text, place)
        return found.end() if found else place

    def value(self, place: int, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self.problem("it is nested too deeply", place)
        sign = self.text[place : place + 1]
        if sign == "{":
            return self._object(place, depth)
        if sign == "[":
            return self._list(place, depth)
        found = _TEXT.match(self.text, place) if sign == '"' else _BARE.match(self.text, place)
        if found is None:
            raise self.problem("a value is missing", place)
        try:
            return Node(json.loads(found[0], strict=False), place, found.end())
        except ValueError:
            raise self.problem(f"{found[0][:20]!r} is no value", place) from None

    def _object(self, start: int, depth: int) -> Node:
        node = Node({}, start, start)
        place = self.skip(start + 1)
        while self.text[place : place + 1] != "}":
            name = _TEXT.match(self.text, place)
            if name is None:
                raise self.problem("a name in quotes is missing", place)
            place = self.skip(name.end())
            if self.text[place : place + 1] != ":":
                raise self.problem("a colon is missing", place)
            member = self.value(self.skip(place + 1), depth + 1)
            key = json.loads(name[0], strict=False)
            node.members[key], node.value[key] = member, member.value
            place = self._after(member.end, "}")
        node.end = place + 1
        return node

    def _list(self, start: int, depth: int) -> Node:
        node = Node([], start, start)
        place = self.skip(start + 1)
        while self.text[place : place + 1] != "]":
            item = self.value(place, depth + 1)
            node.items.append(item)
            node.value.append(item.value)
            place = self._after(item.end, "]")
        node.end = place + 1
        return node

    def _after(self, place: int, closing: str) -> int:
        """Where the next member begins, or what closes them all stands."""
        place = self.skip(place)
        if self.text[place : place + 1] == ",":
            return self.skip(place + 1)
        if self.text[place : place + 1] != closing:
            raise self.problem(f"a comma or {closing} is missing", place)
        return place
