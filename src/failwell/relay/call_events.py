"""What whoever watches is told of a call that has ended."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from failwell.model import ToolError
from failwell.observe import Names, emit, event_of, is_tracing, sent_id, trace_call, trace_of
from failwell.recovery import Report, shorten_report
from failwell.redact import DEFAULT

from .request import RelayedRequest

if TYPE_CHECKING:
    from .relay_protocol import RelayProtocol


class CallEvents:
    """The events of the calls of one server's tools."""

    def __init__(self, relay: RelayProtocol) -> None:
        self._relay = relay

    def ended(self, request: RelayedRequest, outcome: Any, *, prevented: bool = False) -> None:
        """A call has ended: tell whoever watches. `prevented` says that it was answered from what was kept."""
        options, session = self._relay.options, self._relay.session
        is_traced = is_tracing()
        if not options.hooks and options.events is None and not is_traced:
            return
        outcome = DEFAULT(outcome) if isinstance(outcome, ToolError) else outcome
        about: dict[str, Any] = {
            "at": self._relay.clock.now(),
            "request_id": request.id if isinstance(request.id, (str, int)) else None,
            "client": session.client_of(request),
            "era": session.era_of(request),
            "format": options.format if isinstance(outcome, ToolError) else None,
            "seat": "relay",
            "server": session.server,
        }
        report = Report(request.tool, {}, calls=1) if request.run is None else request.run.report
        report.seconds = self._relay.clock.monotonic() - request.began
        if options.names is not None:
            about |= self._identity(request, options.names)
            report = shorten_report(report)
        event = event_of(report, outcome, **about)
        if prevented:
            event = replace(event, prevented=True)
        if is_traced:
            trace_call(event, {**request.trace, **request.meta})
        emit(options.hooks if options.events is None else (*options.hooks, options.events), event)

    def _identity(self, request: RelayedRequest, names: Names) -> dict[str, Any]:
        """By what a call is known to whoever keeps events."""
        given = sent_id(request.meta)
        if given is None:
            ids = [f"{names.session}/{key.decode('utf-8', 'replace')}" for key in request.ids]
        else:
            # The id goes with the message, as often as that is sent.
            ids = [given.text if not times else f"{given.text}+{times}" for times in range(len(request.ids))]
        return {
            "session": names.session if given is None else given.session,
            "ids": ids,
            "key": names.key,
            "sent": request.arguments,
            "trace_id": trace_of(request.meta),
        }
