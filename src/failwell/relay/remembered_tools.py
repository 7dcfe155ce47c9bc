"""What the server lists, kept while it is gone: so that no client drops the tools, and every failure can be held
against them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from .messages import with_id
from .request import RelayedRequest

if TYPE_CHECKING:
    from failwell.recovery import Tools

LISTS: Final = frozenset(
    {"tools/list", "resources/list", "resources/templates/list", "prompts/list", "server/discover"}
)
"""Requests that are answered from memory while there is no server."""
_MOST_PAGES: Final = 200
_MOST_TOOLS: Final = 20_000
# Of a list that is older, another server may stand behind the address by now.
_OLD: Final = 1.0


class RememberedTools:
    """The lists of one server as they were last seen."""

    def __init__(self, now: Callable[[], float], **believed: Any) -> None:
        """believed: what is to be believed of the tools, as `Tools` takes it."""
        self._now, self._believed = now, believed
        self._taken_at: float | None = None
        self._tools: Tools | None = None
        self._spoken: tuple[Mapping[str, Any], str] | None = None
        self.known: Mapping[str, Any] = {}
        """The tools by their names."""
        self.is_fresh = False
        """Whether all tools are known, as far as the server told."""
        self.is_hopeless = False
        """Whether it does not tell."""
        self.was_used = False
        """Whether a call was made since: that may have given the server other tools."""
        self.pages: dict[str, bytes] = {}
        """What the server answered, by what it was asked."""
        self._found: dict[str, Any] = {}

    @property
    def tools(self) -> Tools:
        """What they are, as far as that is to be believed: made when the first call asks for it."""
        if self._tools is None:
            from failwell.recovery import Tools

            self._tools = Tools(self.known, **self._believed)
        return self._tools

    def says(self, word: str) -> bool:
        """Whether the tools themselves use a word, in what they are called or in what is said of them: so do their
        failures."""
        if self._spoken is None or self._spoken[0] is not self.known:
            self._spoken = self.known, _written(self.known).lower()
        return word.lower() in self._spoken[1]

    @property
    def is_old(self) -> bool:
        """Whether another server may stand behind the address by now, in whose list a tool is something else."""
        return self._taken_at is None or self._now() - self._taken_at > _OLD

    def answer(self, request: RelayedRequest) -> bytes | None:
        """What the server would answer, by what it answered before."""
        frame = self.pages.get(_page(request.method, request.params))
        return None if frame is None else with_id(frame, None, request.id)

    def learn(self, method: str, params: Mapping[str, Any], frame: bytes, message: Mapping[str, Any] | None) -> None:
        """Keep an answer."""
        if len(self.pages) >= _MOST_PAGES:
            self.pages.clear()
        self.pages[_page(method, params)] = frame
        result = (message or {}).get("result")
        if method == "tools/list" and isinstance(result, Mapping):
            self.page(params.get("cursor"), result)

    def page(self, cursor: object, result: Mapping[str, Any]) -> str | None:
        """Take one page of the tools in; the cursor of the next one."""
        following = self._add(cursor, result)
        if following is None:
            self._taken_at, self.was_used = self._now(), False
        return self._take(following)

    def _add(self, cursor: object, result: Mapping[str, Any]) -> str | None:
        if cursor is None:
            self._found = {}
        listed = result.get("tools")
        for tool in listed if isinstance(listed, list) else ():
            if not isinstance(tool, dict) or not isinstance(tool.get("name"), str) or len(self._found) >= _MOST_TOOLS:
                continue
            if tool["name"] not in self._found or not _is_repeatable(tool):
                self._found[tool["name"]] = tool
        following = result.get("nextCursor")
        return following if isinstance(following, str) and following else None

    def _take(self, following: str | None) -> str | None:
        if following is None:
            self.known, self._tools, self.is_fresh, self.is_hopeless = self._found, None, True, False
        return following

    def changed(self) -> None:
        """The server says that its tools are others by now. What is known of them is better than nothing."""
        self.is_fresh = self.is_hopeless = False
        self.pages = {page: frame for page, frame in self.pages.items() if not page.startswith("tools/list")}

    def has_output_schema(self, tool: str) -> bool:
        found = self.known.get(tool)
        return found is not None and found.get("outputSchema") is not None


def _is_repeatable(tool: Mapping[str, Any]) -> bool:
    """Of two tools by one name: which of them would be called, nobody knows, so what may not be called twice counts."""
    from failwell.model import Traits

    return Traits.of(tool).repeatable


def _page(method: str, params: Mapping[str, Any]) -> str:
    asked = {name: value for name, value in params.items() if name != "_meta"}
    return f"{method} {_written(asked) if asked else ''}"


def same_tools(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return _written(one) == _written(other)


def _written(value: Mapping[str, Any]) -> str:
    return json.dumps(dict(value), ensure_ascii=False, separators=(",", ":"))
