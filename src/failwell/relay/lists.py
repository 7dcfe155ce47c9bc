"""The list of the tools: asked for where the client does not, and compared after a restart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from .core import RelayCore
from .messages import Message
from .remembered_tools import same_tools
from .session import notification

_TIMEOUT: Final = 5.0
_PATIENCE: Final = 2.0


class Lists:
    """Who asks a server for its tools."""

    def __init__(self, core: RelayCore) -> None:
        self._core = core
        self._is_listing = False
        self._is_renewing = False
        self._waiting: list[Callable[[], None]] = []
        """What goes on once the tools were listed anew."""

    def lost(self) -> None:
        """Whoever was asked is gone."""
        self._is_listing = self._is_renewing = False

    def list(self, cursor: str | None = None) -> None:
        """Ask for the tools, unless somebody does already."""
        if cursor is None and any(each.method == "tools/list" for each in self._core.pending.values()):
            return
        if cursor is None and self._is_listing:
            return
        self._is_listing = True
        asked = self._core.ask(
            "tools/list", {"cursor": cursor} if cursor else None, lambda message: self._page(cursor, message)
        )
        self._core.after(_TIMEOUT, lambda: self._unlisted_in_time(asked))

    def renew(self) -> None:
        """Ask a server that may be another one for what is known of the one before."""
        if not self._is_renewing:
            self._is_renewing, known = True, self._core.listing.known
            self._core.ask("tools/list", None, lambda message: self._compared(known, message))

    def renewed(self, then: Callable[[], None]) -> None:
        """Go on once the tools were listed anew, or after a while without."""
        self._waiting.append(then)
        self.renew()
        self._core.after(_PATIENCE, lambda: self._unlisted_anew(then))

    def _unlisted_anew(self, then: Callable[[], None]) -> None:
        if then in self._waiting:
            self._is_renewing = False
            self._waiting.remove(then)
            then()

    def _page(self, cursor: str | None, message: Message) -> None:
        self._is_listing = False
        if not isinstance(message.get("result"), Mapping):
            self._core.listing.is_hopeless = True
        elif (following := self._core.listing.page(cursor, message["result"])) is not None and following != cursor:
            self.list(following)
            return
        self.listed()

    def _unlisted_in_time(self, asked: bytes) -> None:
        if self._core.own.pop(asked, None) is not None:
            self._is_listing = False
            self._core.listing.is_hopeless = True
            self.listed()

    def listed(self) -> None:
        """The tools are known, or will not be."""
        if not (self._core.listing.is_fresh or self._core.listing.is_hopeless):
            # The client read the first page only.
            if self._core.unlisted:
                self.list()
            return
        for request in list(self._core.unlisted):
            self._core.calls.listed(request)
        renewed, self._waiting = self._waiting, []
        for then in renewed:
            then()

    def _compared(self, known: Mapping[str, Any], message: Message) -> None:
        """A new server may have other tools than the old one had."""
        self._is_renewing = False
        self._page(None, message)
        if self._core.listing.is_fresh and not same_tools(known, self._core.listing.known):
            tools = self._core.session.capabilities.get("tools")
            self._core.listing.changed()
            self._core.listing.is_fresh = True
            if isinstance(tools, Mapping) and tools.get("listChanged"):
                self._core.tell(notification("notifications/tools/list_changed"))
