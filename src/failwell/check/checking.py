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
from .conversation import ERAS, Conversation, DoesNotStart, Waits
from .discretion import Discretion
from .examination import Progress, examine, examine_faults, nobody
from .examined import Examined
from .report_data import CheckReport
from .target import CheckTarget, absolute
from .upstream import upstream

_LONGEST: Final = 1_500


def check(
    target: Sequence[str] | str | CheckTarget,
    options: CheckOptions | None = None,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    headers: Mapping[str, str] | None = None,
    progress: Progress = nobody,
    guarded: bool = False,
    **chosen: Unpack[CheckChoices],
) -> CheckReport:
    """Ask a server everything, and grade how it fails: the report has `score`, `grade`, `findings` and `to_dict()`.

    `target` is a command as a list, or an address. `env` and `cwd` are for a command, which is started in an empty home
    with hardly any environment; `headers` are for an address. The rest are the options of `failwell check`:
    `allow_writes`, `reads`, `examples`, `only` (tools), `rules`, `skip`, `era`, `timeout`, `start_timeout`,
    `most_tools`, `most_seconds`, `faults`, `base_urls`.

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
    options = options or CheckOptions.of(chosen)

    def reproduce(frame: str, era: str) -> str:
        if not frame or len(frame) > _LONGEST:
            return f"failwell check {again}"
        return discretion.secrets.text(f"failwell check --era {era} --send {shlex.quote(escaped(frame))} {again}")

    known = " ".join([*absolute(target.command), *target.env.values(), target.cwd or ""])
    with _warden(guarded and target.url is None) as warden:
        with target.transport(warden) as transport:
            found = examine(transport, options, reproduce, progress, known, discretion)
        if options.faults and found.reason is None:
            _with_faults(target, options, found, progress, known, warden)
    return CheckReport(target.name, found)


def _with_faults(
    target: CheckTarget, options: CheckOptions, found: Examined, progress: Progress, known: str, warden: Any
) -> None:
    if target.url is not None:
        found.notes.append("Faults need a server that is started here: a command after --.")
        return
    with upstream() as failing, target.transport(warden, failing.environment(options.base_urls)) as transport:
        examine_faults(transport, failing, options, found, progress, known)


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


def send(target: CheckTarget, frame: str, era: str | None, waits: Waits) -> str:
    """The answer to one frame after the handshake, as it came but for secrets, or what came instead."""
    problem: DoesNotStart | None = None
    discretion = Discretion(target.secrets)
    with target.transport() as transport:
        for each in (era,) if era is not None else ERAS:
            talk = Conversation(transport, each, waits)
            try:
                talk.open()
            except DoesNotStart as caught:
                problem = problem or caught
                continue
            reply = transport.exchange([frame.encode()], _id_of(frame), waits.call, loose=True)
            return discretion.whole(reply.raw) or f"({reply.state} after {reply.seconds:.1f} seconds)"
    return discretion.line(f"(it does not start: {problem})")


def _id_of(frame: str) -> Any:
    try:
        value = json.loads(frame)
    except (ValueError, RecursionError):
        return None
    return value.get("id") if isinstance(value, dict) else None
