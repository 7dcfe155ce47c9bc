"""Who is told of each call of a server, and by what the call is known to them."""

from __future__ import annotations

import json
import os
from typing import Any, Final
from weakref import WeakKeyDictionary

from failwell.observe import (
    SESSION_HEADER,
    CallEvent,
    Hook,
    Names,
    current_trace,
    emit,
    hook_of,
    inherited_session,
    keyed_fingerprint,
    sent_id,
    session_in,
    trace_of,
)

from .options import Options
from .served_call import ServedCall

_MOST_SENT: Final = 1_000


class Watchers:
    """The hooks of one server, and the store of its events."""

    def __init__(self, options: Options) -> None:
        self._hooks: tuple[Hook, ...] = tuple(map(hook_of, options.hooks))
        self.are_there = bool(self._hooks)
        """Whether anybody watches."""
        # A store's key, so that the same call has the same fingerprint whoever tells of it.
        self._names = Names.of(next((hook for hook in self._hooks if hasattr(hook, "key")), None))
        self._relayed = inherited_session() if self._hooks else None
        self._sessions: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._sent: dict[str, int] = {}
        self.server: str | None = None
        """The name of the server; set by its adapter."""

    def tell(self, event: CallEvent) -> None:
        emit(self._hooks, event)

    def identity(self, call: ServedCall) -> dict[str, Any]:
        """By what a call is known again."""
        meta = call.sent_meta
        given = sent_id(meta)
        text, size = keyed_fingerprint(call.tool, call.arguments, self._names.key)
        call_id = None if given is None else self._numbered(given.text)
        relayed = self._relayed or _relayed(call)
        if given is None and relayed is not None:
            call_id = f"{relayed}/{json.dumps(call.request_id)}"
        return {
            "session": given.session if given is not None else relayed or self._session(call),
            "call_id": call_id,
            "fingerprint": text,
            "size": size,
            "server": self.server,
            "trace_id": trace_of(meta) or current_trace(),
        }

    def _numbered(self, sent: str) -> str:
        """The id that was sent. A relay that makes a call again sends the message as it came, with the same id."""
        times = self._sent.pop(sent, -1) + 1
        self._sent[sent] = times
        if len(self._sent) > _MOST_SENT:
            del self._sent[next(iter(self._sent))]
        return f"{sent}+{times}" if times else sent

    def _session(self, call: ServedCall) -> str:
        peer = getattr(call.request, "request", None)
        if peer is None:
            # Over stdio a process has one client.
            return self._names.session
        connection = call.connection
        if getattr(connection, "session_id", None) is None:
            # HTTP without sessions, where each call is a connection of its own.
            return self._caller(call, peer)
        try:
            return self._sessions.setdefault(connection, os.urandom(8).hex())
        except TypeError:
            return self._caller(call, peer)

    def _caller(self, call: ServedCall, peer: Any) -> str:
        """Whoever calls, as far as they can be told apart, without saying who it is."""
        headers = getattr(peer, "headers", None) or {}
        said = [headers.get(name) for name in ("mcp-session-id", "authorization", "user-agent")]
        host = getattr(getattr(peer, "client", None), "host", None)
        return keyed_fingerprint("", {"said": said, "host": host, "client": call.client_name}, self._names.key).text


def _relayed(call: ServedCall) -> str | None:
    """The session of the relay that has sent this over HTTP, where it keeps events."""
    headers = getattr(getattr(call.request, "request", None), "headers", None)
    return None if headers is None else session_in(headers.get(SESSION_HEADER))
