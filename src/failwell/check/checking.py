"""One check, from a target to its report; and one frame, from a target to its answer."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Unpack

from failwell.redact import escaped
from failwell.relay import processes

from .check_options import CheckChoices, CheckOptions
from .conversation import ERAS, MODERN, Conversation, DoesNotStart, Waits
from .discretion import Discretion
from .examination import Examination, Progress
from .report_data import CheckReport, Examined
from .rubric import RULES
from .target import CheckTarget, absolute, language_of_command
from .upstream import upstream

_LONGEST: Final = 1_500


def check(
    target: Sequence[str] | str | CheckTarget,
    options: CheckOptions | None = None,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    headers: Mapping[str, str] | None = None,
    progress: Progress = lambda what, done, of: None,
    guarded: bool = False,
    **chosen: Unpack[CheckChoices],
) -> CheckReport:
    """Ask a server everything, and grade how it fails: the report has `score`, `grade`, `findings` and `to_dict()`.

    `target` is a command as a list, or an address. `env` and `cwd` are for a command, which is started in an empty home
    with hardly any environment; `headers` are for an address. The rest are the options of `failwell check`:
    `allow_writes`, `reads`, `examples`, `only` (tools), `skip`, `era`, `max_time`, `faults`, `base_urls`.

    With `guarded`, a second process ends the server where this one is killed, and this one becomes the parent of
    whatever the server leaves behind, and ends it: for a program that starts nothing else meanwhile.
    """
    if not isinstance(target, CheckTarget):
        target = (
            CheckTarget(url=target, headers=headers or {})
            if isinstance(target, str)
            else CheckTarget(tuple(target), env=env or {}, cwd=cwd)
        )
    again, discretion = target.arguments(), Discretion(target.secrets)
    options = options or CheckOptions(**chosen)

    def reproduce(frame: str) -> str:
        if not frame or len(frame) > _LONGEST:
            return f"failwell check {again}"
        return discretion.secrets.text(f"failwell check --send {shlex.quote(escaped(frame))} {again}")

    known = " ".join([*absolute(target.command), *target.env.values(), target.cwd or ""])
    wanted = [rule for rule in RULES.values() if options.wants(rule.id)]
    found = Examined(wanted, reproduce, discretion, language=language_of_command(target.command))
    with _warden(guarded and target.url is None) as warden:
        with target.transport(warden) as transport:
            Examination(transport, options, found, progress, known).run()
        if options.faults and found.reason is None and not found.is_partial:
            if target.url is not None:
                found.notes.append("Faults need a server that is started here: a command after --.")
                return CheckReport(target.name, found)
            with upstream() as failing, target.transport(warden, failing.environment(options.base_urls)) as transport:
                Examination(transport, options, found, progress, known).run(failing)
    return CheckReport(target.name, found)


@contextmanager
def _warden(wanted: bool) -> Iterator[Any]:
    if not wanted or not hasattr(os, "fork"):
        yield None
        return
    warden = processes.Warden(processes.fresh_mark())
    processes.take_in_orphans()
    try:
        yield warden
    finally:
        # Whoever goes on after the check is not to be the parent of strangers.
        processes.take_in_orphans(False)
        warden.dismiss()


def send(target: CheckTarget, frame: str, waits: Waits) -> str:
    """The answer to one frame after the handshake of its era, as it came but for secrets, or what came instead."""
    try:
        value = json.loads(frame)
    except (ValueError, RecursionError):
        value = None
    problem: DoesNotStart | None = None
    discretion = Discretion(target.secrets)
    with target.transport() as transport:
        # A request of the newer era says so itself.
        for era in (MODERN,) if "io.modelcontextprotocol/protocolVersion" in frame else ERAS:
            talk = Conversation(transport, era, waits)
            try:
                talk.open()
            except DoesNotStart as caught:
                problem = problem or caught
                continue
            id = value.get("id") if isinstance(value, dict) else None
            reply = transport.exchange([frame.encode()], id, waits.call, loose=True)
            return discretion.whole(reply.raw) or f"({reply.state} after {reply.seconds:.1f} seconds)"
    return discretion.line(f"(it does not start: {problem})")
