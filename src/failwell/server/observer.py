"""Who is told of each call of a server, and what: counters, spans, hooks and the stores of events; and the log lines of
frameworks, made safe, which print exceptions as they come."""

from __future__ import annotations

import json
import logging
import os
import traceback
from datetime import UTC, datetime
from typing import Any, Final
from weakref import WeakKeyDictionary

from failwell.model import ToolError
from failwell.observe import (
    SESSION_HEADER,
    CallEvent,
    Hook,
    Names,
    Stats,
    count_failure,
    current_trace,
    emit,
    hook_of,
    inherited_session,
    keyed_fingerprint,
    mark_failure,
    sent_id,
    session_in,
    trace_of,
)
from failwell.readers import chain, exc_summary
from failwell.redact import Guard, Secrets

from .declared_failures import codes_of
from .options import Options
from .served_call import ServedCall, ToolInfo, connection_of, current

_MOST_SENT: Final = 1_000
# How the names of the frameworks' loggers begin. FastMCP 2.12 puts its own name before that of the module.
_FRAMEWORKS: Final = frozenset({"mcp", "fastmcp", "docket"})
# What 1.x writes about every request, and a success should not pay for.
_HARMLESS: Final = "Processing request of type %s"
# What FastMCP writes about a tool that raised.
_TOLD_TWICE: Final = "Error calling tool "
# Pydantic's words for an argument, or a key, that there is not.
_UNEXPECTED: Final = frozenset({"unexpected_keyword_argument", "extra_forbidden"})


class Observer:
    """Counts the calls of one server, and tells its hooks of them."""

    def __init__(self, options: Options) -> None:
        self.stats = Stats()
        self.server: str | None = None
        """The name of the server."""
        self._options = options
        self._hooks: tuple[Hook, ...] = tuple(map(hook_of, options.hooks))
        # A store's key, so that the same call has the same fingerprint whoever tells of it.
        self._names = Names.of(next((hook for hook in self._hooks if hasattr(hook, "key")), None))
        self._relayed = inherited_session() if self._hooks else None
        self._sessions: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._sent: dict[str, int] = {}

    def succeeded(self, call: ServedCall, **more: Any) -> None:
        """A call worked."""
        self.stats.add(call.counted, call.seconds)
        if self._hooks:
            self._emit(call, None, ok=True, **more)

    def ended(
        self, call: ServedCall, tool: ToolInfo, error: ToolError | None, *, asked: bool = False, prevented: bool = False
    ) -> None:
        """A call ended, and that was no success. The error has been redacted."""
        self.stats.add(call.counted, call.seconds, not asked, error, asked)
        if call.in_span:
            mark_failure(error, tool=call.counted, action=tool.action, asked=asked)
        elif not asked:
            count_failure(error, tool=call.counted)
        if self._hooks:
            more: dict[str, Any] = {"asked": asked, "action": tool.action, "prevented": prevented}
            if error is not None and (codes := codes_of(tool.function, error)) is not None:
                more["declares"], more["declared"] = codes
            self._emit(call, error, ok=asked, **more)

    def _emit(self, call: ServedCall, error: ToolError | None, *, ok: bool, **more: Any) -> None:
        meta = call.params.get("_meta")
        given, relayed = sent_id(meta), self._relayed
        peer = getattr(call.request, "request", None)
        headers = getattr(peer, "headers", None)
        if relayed is None and headers is not None:
            # The session of the relay that has sent this over HTTP, where it keeps events.
            relayed = session_in(headers.get(SESSION_HEADER))
        call_id = None
        if given is not None:
            # A relay that makes a call again sends the message as it came, with the same id.
            times = self._sent.pop(given.text, -1) + 1
            self._sent[given.text] = times
            if len(self._sent) > _MOST_SENT:
                del self._sent[next(iter(self._sent))]
            call_id = f"{given.text}+{times}" if times else given.text
        elif relayed is not None:
            call_id = f"{relayed}/{json.dumps(call.request.request_id)}"
        event = CallEvent(
            tool=call.counted,
            ok=ok,
            seconds=call.seconds,
            at=datetime.now(UTC),
            error=error,
            request_id=call.request.request_id,
            correlation_id=None if error is None else error.correlation_id,
            client=call.client_name,
            era=call.era,
            format=call.wanted_format()[0] or self._options.form,
            seat="server",
            session=given.session if given is not None else relayed or self._session(call, peer),
            call_id=call_id,
            fingerprint=keyed_fingerprint(call.tool, call.arguments, self._names.key),
            server=self.server,
            trace_id=trace_of(meta) or current_trace(),
            **more,
        )
        emit(self._hooks, event)

    def _session(self, call: ServedCall, peer: Any) -> str:
        if peer is None:
            # Over stdio a process has one client.
            return self._names.session
        connection = connection_of(call.request)
        if getattr(connection, "session_id", None) is not None:
            try:
                return self._sessions.setdefault(connection, os.urandom(8).hex())
            except TypeError:
                pass
        # HTTP without sessions, where each call is a connection of its own: whoever calls, as far as they can be told
        # apart, without saying who it is.
        headers = getattr(peer, "headers", None) or {}
        said = [headers.get(name) for name in ("mcp-session-id", "authorization", "user-agent")]
        host = getattr(getattr(peer, "client", None), "host", None)
        return keyed_fingerprint("", {"said": said, "host": host, "client": call.client_name}, self._names.key)


def mask_framework_logs(guard: Guard) -> None:
    """Mask what the frameworks log in this process.

    By the factory of log records: the filter of a logger does not see the lines of its children.
    """
    make: Any = logging.getLogRecordFactory()
    if getattr(make, "__module__", None) == __name__:
        return

    def make_masked(name: str, level: int, pathname: str, *args: Any, **more: Any) -> logging.LogRecord:
        record: logging.LogRecord = make(name, level, pathname, *args, **more)
        # 1.x writes through the root logger, too, which belongs to others.
        is_sdks = name == "root" and "/mcp/" in pathname.replace("\\", "/")
        if (is_sdks or name.partition(".")[0].lower() in _FRAMEWORKS) and record.msg != _HARMLESS:
            try:
                _mask(record, guard)
            except Exception:
                record.msg, record.args, record.exc_info = "A log line could not be written.", (), None
        return record

    logging.setLogRecordFactory(make_masked)


def _mask(record: logging.LogRecord, guard: Guard) -> None:
    if (call := current.get()) is not None and isinstance(record.msg, str):
        # How it came to that, Failwell's own line says, and the name of a tool is no secret.
        if record.msg.startswith(_TOLD_TWICE):
            record.exc_info = None
        if record.msg == f"{_TOLD_TWICE}{call.tool!r}":
            return
    if isinstance(record.args, tuple):
        record.args = tuple(_mask_inputs(each, guard) if type(each) is list else each for each in record.args)
    record.msg, record.args = guard.plain(record.getMessage()), ()
    if record.exc_info and record.exc_info[1] is not None:
        # As Python prints it, by readers that a `__str__` cannot hold up.
        told = [
            f"Traceback (most recent call last):\n{''.join(traceback.format_tb(each.__traceback__))}{exc_summary(each)}"
            for each in chain(record.exc_info[1])
        ]
        record.exc_text, record.exc_info = guard.plain("\n\nwhich came from\n\n".join(told)), None


def _mask_inputs(problems: list[Any], guard: Guard) -> list[Any]:
    """Pydantic's list of problems, with the input of each as far as it may be shown. In a text nobody could tell any
    more for which argument a list or an object was sent."""
    if not all(type(each) is dict and "input" in each and type(each.get("loc")) is tuple for each in problems):
        return problems
    is_secret = guard.redact.secret_name
    # What nobody takes may be a secret under a misspelt name.
    strange = {each["loc"][-1] for each in problems if each.get("type") in _UNEXPECTED and each["loc"]}
    secrets = Secrets(is_name=lambda name: name in strange or is_secret(name))
    return [{**each, "input": secrets.sample(each["input"], each["loc"])} for each in problems]
