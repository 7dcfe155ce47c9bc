"""A server is asked everything there is to ask, and each answer is judged when it comes: nothing is kept of it but what
a finding shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from failwell.formats import keys
from failwell.model import Nature

from .check_options import CheckOptions
from .conversation import ERAS, LEGACY, MODERN, Conversation, DoesNotStart, Endurance, Waits
from .discretion import Discretion
from .examined import Examined
from .findings import Judgements
from .listing import broken_schema, named_tools
from .named_things import Roster
from .observation import Observation
from .probes import WRONG_ARGUMENTS, CheckedSurface, Probe, frame_probes, server_probes, surface, tool_probes
from .raw_wire import Reply, StdioTransport, Transport, encoded
from .rules import RULES
from .upstream import FAULTS, Upstream

_MOST_SILENT: Final = 2
_MOST_SLOW: Final = 2
_MOST_DEATHS_BY_FRAMES: Final = 3
_ECHOED: Final = 3
"""Of so many tools it is looked whether they fail the same in the newer era."""


Progress = Callable[[str, int, int], None]
"""Is told what is looked at, how much is done and how much there is."""


def nobody(what: str, done: int, of: int) -> None:
    """Progress that nobody looks at."""


def examine(
    transport: Transport,
    options: CheckOptions,
    reproduce: Callable[[str, str], str],
    progress: Progress = nobody,
    known: str = "",
    discretion: Discretion | None = None,
) -> Examined:
    """Ask everything, and judge it. `known` is what whoever runs this named: its paths are no secrets of the server."""
    wanted = [rule for rule in RULES.values() if options.wants(rule.id)]
    found = Examined(Judgements(wanted, reproduce, discretion or Discretion()))
    began = time.monotonic()
    try:
        _Examination(transport, options, found, progress, began, known).run()
    finally:
        transport.close()
    found.seconds = time.monotonic() - began
    return found


def examine_faults(
    transport: Transport, upstream: Upstream, options: CheckOptions, found: Examined, progress: Progress, known: str
) -> None:
    """Ask the tools of a server that was examined once more, while what it asks of others fails."""
    began = time.monotonic()
    try:
        _Examination(transport, options, found, progress, began, known).run_faults(upstream)
    finally:
        transport.close()
    found.seconds += time.monotonic() - began


class _Examination:
    def __init__(
        self,
        transport: Transport,
        options: CheckOptions,
        found: Examined,
        progress: Progress,
        began: float,
        known: str,
    ) -> None:
        self._transport, self._options, self._found = transport, options, found
        self._progress, self._until = progress, began + options.most_seconds
        self._deaths = 0
        self._known = known
        self._patience = Endurance(options.waits)
        self._carried_out: set[str] = set()
        """Tools that may write, and that carried out a call which their own schema forbids."""
        self._given_up: set[str] = set()
        """Tools that did not answer."""
        self._locked: set[str] = set()
        """Tools that want credentials before they look at anything else."""

    def run(self) -> None:
        talk = self._opened()
        if talk is None:
            return
        self._found.eras.append(talk.era)
        info = talk.opening.get("serverInfo")
        self._found.server = dict(info) if isinstance(info, Mapping) else {}
        self._list(talk)
        self._ask_tools(talk)
        self._ask_server(talk)
        if talk.era == LEGACY:
            self._old_version(talk)
        elif talk.can_start:
            # Frames that are no requests of this era turn some servers back to the older.
            with suppress(DoesNotStart):
                talk.open()
                self._unsupported(talk)
        if talk.era == LEGACY and self._options.era in ("auto", MODERN):
            self._newer(talk.began)
        hide = self._found.ledger.discretion.secrets.text
        facts = {"noise": [*map(hide, self._transport.noise)], "twice": len(self._transport.twice)}
        self._judge(Observation(Probe("session"), Reply("answered"), talk.era, facts=facts))
        self._remark()

    def _remark(self) -> None:
        """What whoever reads the score should know of it."""
        say = self._found.notes.append
        if self._given_up:
            say(f"{_named(self._given_up)}: no more calls were made, since they are not answered.")
        if self._patience.is_over:
            times, seconds = self._patience.unanswered, self._patience.spent
            say(
                f"Given up after {times} questions without an answer in {seconds:.0f} seconds: "
                "what comes after was not asked."
            )
        if left := set(self._found.left_out):
            of = len({tool.name for tool in self._found.tools} | left)
            hint = f": choose with --tool NAME, or --max-tools {of}" if of > self._options.most_tools else ""
            say(f"{len(left):,} of {of:,} tools were not graded{hint}.")
        if self._locked:
            say(
                f"{_named(self._locked)}: credentials are wanted before anything else, so that it is not graded how "
                "arguments are refused. Give them with --env NAME, or --header for an address."
            )
        if self._carried_out:
            say(f"{_named(self._carried_out)}: a call that the schema forbids was carried out, so no more were made.")
        if not self._found.probed_tools and self._found.lists_tools:
            say(self._nothing())

    def _nothing(self) -> str:
        if not self._found.tools:
            return "There is nothing to grade: the server lists no tools, or none that was asked for."
        return (
            "Nothing could be graded: its tools may write and require nothing. Name those that read with --reads NAME."
        )

    def run_faults(self, upstream: Upstream) -> None:
        era = self._found.eras[0]
        talk = Conversation(self._transport, era, self._options.waits, self._patience)
        try:
            talk.open()
        except DoesNotStart as problem:
            self._found.notes.append(f"With a failing upstream it does not start: {str(problem)[:200]}")
            return
        tools = [tool for tool in self._found.tools if tool.freely]
        slow = _MOST_SLOW
        reached: set[str] = set()
        for number, tool in enumerate(tools):
            base = tool.schema.base(self._options.examples.get(tool.name))
            if base is None or time.monotonic() > self._until:
                continue
            self._progress(f"{tool.name}, with faults", number, len(tools))
            for fault in FAULTS.values():
                if not talk.can_start or (fault.how == "slow" and slow == 0):
                    break
                if tool.name in reached and tool.nature is Nature.WRITE and not self._renewed(talk):
                    return
                upstream.fault = fault
                if not self._faulty(talk, tool, base, upstream):
                    # It asks nobody, or this once not.
                    break
                reached.add(tool.name)
                slow -= fault.how == "slow"
        told = f"{len(reached)} of {len(tools)} tools that may be called asked an upstream, and met its faults."
        self._found.notes.append(told if reached else "No tool that may be called asked an upstream through the proxy.")

    def _renewed(self, talk: Conversation) -> bool:
        """Whether there is a new session: in the old one, a write that has failed may be held."""
        talk.close()
        try:
            talk.open()
        except DoesNotStart as problem:
            self._found.notes.append(f"It did not start again: {str(problem)[:200]}")
            return False
        # It has not died.
        talk.starts -= 1
        return True

    def _faulty(self, talk: Conversation, tool: CheckedSurface, base: Mapping[str, Any], upstream: Upstream) -> bool:
        """Whether a call reached the upstream, which failed; then it is judged."""
        before = upstream.reached
        params = {"name": tool.name, "arguments": dict(base)}
        probe = Probe("fault", params=params, tool=tool.name, note=upstream.fault.name)
        facts = {"fault": upstream.fault, "met": lambda: upstream.reached > before}
        return self._asked(talk, probe, tool, None, facts).facts["met"]() is True

    @property
    def _facts(self) -> Mapping[str, Any]:
        return {"known": self._known, "roster": self._found.roster, **self._given}

    @property
    def _given(self) -> Mapping[str, Any]:
        return {"secrets": self._found.ledger.discretion.secrets}

    def _opened(self) -> Conversation | None:
        """A conversation in the era that was asked for, or in the first that the server speaks."""
        problem: DoesNotStart | None = None
        for era in ERAS if self._options.era == "auto" else (self._options.era,):
            self._progress(f"starting, {era}", 0, 0)
            waits = self._options.waits
            if problem is not None:
                waits = Waits(min(waits.start, 10.0), waits.call)
            talk = Conversation(self._transport, era, waits, self._patience)
            try:
                talk.open()
            except DoesNotStart as caught:
                problem = problem or caught
                continue
            self._judge(Observation(Probe("start"), Reply("answered"), era))
            return talk
        assert problem is not None
        reason = self._found.ledger.discretion.line(str(problem))
        self._found.reason = reason
        reply = problem.reply or Reply("ended")
        self._judge(Observation(Probe("start", "initialize", note=reason), reply, LEGACY, facts=self._given))
        return None

    def _list(self, talk: Conversation) -> None:
        if "tools" not in talk.capabilities:
            self._found.notes.append("The server declares no tools, so none were looked for.")
            return
        self._progress("listing tools", 0, 0)

        def note(reply: Reply) -> None:
            frame = encoded(talk.request("tools/list", {}, 0)).decode()
            self._judge(Observation(Probe("list", "tools/list", {}), reply, talk.era, frame=frame, facts=self._given))

        entries, endless = talk.listed("tools/list", "tools", note)
        listed, odd = named_tools(entries)
        if endless is not None:
            self._found.notes.append(f"The list of tools has no end: {endless}. What had come by then was looked at.")
        elif odd:
            self._found.notes.append(f"The list of tools has entries that are none: {'; '.join(odd[:5])}.")
        if broken := [f"{tool['name']} ({why})" for tool in listed if (why := broken_schema(tool.get("inputSchema")))]:
            more = f" and {len(broken) - 12} more" if len(broken) > 12 else ""
            self._found.notes.append(f"Schemas that cannot be used as they are: {', '.join(broken[:12])}{more}.")
        self._found.roster = Roster(listed)
        options = self._options
        chosen = [tool for tool in listed if not options.only or tool["name"] in options.only]
        known = {tool["name"] for tool in listed}
        if unknown := [name for name in options.only if name not in known]:
            self._found.notes.append(f"None of the tools is named {', '.join(unknown)}.")
        self._compare_with_manifest({str(tool["name"]) for tool in listed})
        self._found.left_out = [str(tool["name"]) for tool in chosen[options.most_tools :]]
        self._found.tools = [
            surface(tool, allow_writes=options.allow_writes, reads=options.reads)
            for tool in chosen[: options.most_tools]
        ]

    def _compare_with_manifest(self, listed: set[str]) -> None:
        if not self._options.declared:
            return
        if strange := listed - self._options.declared.keys():
            self._found.notes.append(f"{_named(strange)}: listed, and not in the manifest.")
        if gone := self._options.declared.keys() - listed:
            self._found.notes.append(f"{_named(gone)}: in the manifest, and not listed.")

    def _ask_tools(self, talk: Conversation) -> None:
        tools = [tool for tool in self._found.tools if tool.is_probed]
        for number, tool in enumerate(tools):
            self._progress(tool.name, number, len(tools))
            if time.monotonic() > self._until or not talk.can_start:
                self._found.left_out += [each.name for each in tools[number:]]
                return
            self._ask_tool(talk, tool)

    def _ask_tool(self, talk: Conversation, tool: CheckedSurface) -> None:
        base: Observation | None = None
        silent = 0
        facts: dict[str, Any] = {"declared": self._declared(tool), "told": None}
        for probe in tool_probes(tool, self._options.examples.get(tool.name)):
            seen = self._asked(talk, probe, tool, base, facts)
            if probe.kind == "missing" and facts["told"] is None:
                facts["told"] = tool.schema.told(seen.text)
            if probe.kind == "base":
                base = seen
            if not tool.freely and seen.worked:
                self._carried_out.add(tool.name)
                return
            if seen.wants_credentials and probe.kind in WRONG_ARGUMENTS:
                self._locked.add(tool.name)
            silent += seen.reply.state == "silent"
            # What may write and says nothing may be doing it.
            if silent and (silent >= _MOST_SILENT or self._patience.is_short or not tool.freely):
                self._given_up.add(tool.name)
                return
            if not talk.can_start:
                return

    def _declared(self, tool: CheckedSurface) -> frozenset[str]:
        """What a tool says that it may send: by the manifest that was given, or else by its own list."""
        if (given := self._options.declared.get(tool.name)) is not None:
            return given
        meta = tool.listed.get("_meta")
        said = meta.get(keys.RAISES) if isinstance(meta, Mapping) else None
        codes = said.get("codes", said) if isinstance(said, Mapping) else said
        found = {str(each.get("code", each) if isinstance(each, Mapping) else each) for each in codes or ()}
        return frozenset(found)

    def _asked(
        self,
        talk: Conversation,
        probe: Probe,
        tool: CheckedSurface | None = None,
        base: Observation | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> Observation:
        """One probe, judged; a server that did not survive it is started again."""
        if probe.raw is not None:
            id = talk.fresh_id()
            raw = probe.raw % id if b"%d" in probe.raw else probe.raw
            frame, reply = raw.decode(), talk.send_raw([raw], id)
        else:
            request = talk.request(probe.method, probe.params)
            frame, reply = encoded(request).decode("utf-8", "replace"), talk.send(request)
        name = probe.tool or SERVER_PROBE
        self._found.probes[name] = self._found.probes.get(name, 0) + 1
        asked = time.monotonic()
        died = reply.state == "ended" or (reply.state == "silent" and not talk.is_alive())
        if died or (reply.state == "silent" and probe.raw is None):
            self._patience.lost(reply.seconds + time.monotonic() - asked)
        if reply.state == "silent" and probe.raw is None and not died:
            # What came while it was asked whether it lives came late, and not never.
            reply = self._transport.late(request["id"]) or reply
        seen = Observation(probe, reply, talk.era, tool, frame, base, died, {**self._facts, **(facts or {})})
        if seen.is_unproven and self._in_vain(talk, seen):
            seen = replace(seen, facts={**seen.facts, "tried_again": True})
        if probe.kind != "fault" or seen.facts["met"]():
            self._judge(seen)
        if died:
            self._deaths += 1
            try:
                talk.open()
            except DoesNotStart as problem:
                talk.starts = 10**6
                self._found.notes.append(f"It could not be started again: {str(problem)[:200]}")
        return seen

    def _in_vain(self, talk: Conversation, seen: Observation) -> bool:
        """Whether a call of what is not there fails as before, while one of what is there works. Only of reads."""
        tool, base = seen.tool, seen.base
        works = base.probe.arguments if base is not None and base.worked else seen.facts.get("told")
        if tool is None or tool.writes or works is None or seen.died:
            return False
        looks = []
        for arguments in (works, seen.probe.arguments):
            probe = Probe("again", params={"name": tool.name, "arguments": dict(arguments)}, tool=tool.name)
            looks.append(Observation(probe, talk.send(talk.request(probe.method, probe.params)), talk.era, tool))
            self._found.probes[tool.name] += 1
        return looks[0].worked and looks[1].failed and looks[1].text == seen.text

    def _ask_server(self, talk: Conversation) -> None:
        self._progress("the protocol", 0, 0)
        modern = talk.era == MODERN
        for probe in server_probes(self._spare(), talk.capabilities, modern=modern):
            if talk.can_start:
                self._asked(talk, probe)
        deaths = self._deaths
        for probe in frame_probes(modern=modern):
            if talk.can_start and self._deaths - deaths < _MOST_DEATHS_BY_FRAMES:
                self._asked(talk, probe)
        if talk.can_start:
            self._same_id(talk)

    def _spare(self) -> list[CheckedSurface]:
        """The tools, but for those that have carried out what they should have refused: they are called no more."""
        return [tool for tool in self._found.tools if tool.name not in self._carried_out]

    def _same_id(self, talk: Conversation) -> None:
        """Two requests under way with one id: each may be answered, or the second refused, but none lost."""
        request = talk.request(*_LISTING)
        twice = len(self._transport.twice)
        reply = self._transport.exchange([encoded(request), encoded(request)], request["id"], 3.0, loose=True)
        asked = time.monotonic()
        alive = talk.is_alive()
        if not alive:
            self._patience.lost(reply.seconds + time.monotonic() - asked)
        # The second answer is no offence here. Over HTTP each has its own.
        many = (reply.state == "answered") + len(self._transport.twice[twice:])
        del self._transport.twice[twice:]
        problem = None if many else "Of two requests with the same id none is answered."
        if many == 1 and isinstance(self._transport, StdioTransport):
            problem = "Of two requests with the same id only one is answered, and whoever sent the other waits."
        probe = Probe("duplicate_id", *_LISTING)
        frame = encoded(request).decode()
        self._judge(
            Observation(probe, reply, talk.era, frame=frame, died=not alive, facts={**self._given, "problem": problem})
        )
        if not alive:
            talk.starts = 10**6

    def _old_version(self, talk: Conversation) -> None:
        """A handshake in a version that never was, with a server of its own."""
        if self._patience.is_over:
            return
        again = Conversation(self._transport, LEGACY, self._options.waits, self._patience)
        try:
            self._transport.open()
        except Exception:
            return
        params = {
            "protocolVersion": "1999-01-01",
            "capabilities": {},
            "clientInfo": {"name": "failwell", "version": "1"},
        }
        request = again.request("initialize", params)
        reply = again.send(request, self._options.waits.start)
        self._judge(
            Observation(
                Probe("old_version", "initialize", params),
                reply,
                LEGACY,
                frame=encoded(request).decode(),
                facts=self._given,
            )
        )

    def _newer(self, began: float) -> None:
        """The newer era with a server of its own, where it speaks it."""
        if self._patience.is_over:
            return
        waits = Waits(max(10.0, 5 * began), self._options.waits.call)
        talk = Conversation(self._transport, MODERN, waits, self._patience)
        self._progress(f"starting, {MODERN}", 0, 0)
        try:
            talk.open()
        except DoesNotStart:
            return
        self._found.eras.append(MODERN)
        probed = [tool for tool in self._spare() if tool.schema.required]
        for tool in probed[:_ECHOED]:
            probe = next(tool_probes(tool), None)
            if probe is not None and talk.can_start:
                seen = self._asked(talk, probe, tool)
                if not tool.freely and seen.worked:
                    self._carried_out.add(tool.name)
        for probe in server_probes(self._spare(), talk.capabilities, modern=True):
            if talk.can_start:
                self._asked(talk, probe)
        self._unsupported(talk)

    def _unsupported(self, talk: Conversation) -> None:
        """A request of the newer era in a version that never was."""
        params = {"_meta": {"io.modelcontextprotocol/protocolVersion": "1999-01-01"}}
        request = talk.request("tools/list", {})
        request["params"]["_meta"].update(params["_meta"])
        reply = talk.send(request)
        seen = Observation(
            Probe("unsupported_version", "tools/list", params),
            reply,
            MODERN,
            frame=encoded(request).decode(),
            facts=self._given,
        )
        self._judge(seen)

    def _judge(self, seen: Observation) -> None:
        self._found.ledger.judge(seen)


def _named(tools: Collection[str]) -> str:
    """Some of them by name."""
    names = sorted(tools)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


SERVER_PROBE: Final = ""
_LISTING: Final[tuple[str, Mapping[str, Any]]] = ("tools/list", {})
