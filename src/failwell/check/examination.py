"""A server is asked everything there is to ask, advice that it gives is followed, and each answer is judged."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from failwell.model import Nature

from .check_options import CheckOptions
from .conversation import ERAS, LEGACY, MODERN, Conversation, DoesNotStart, Endurance, Waits
from .listing import broken_schema, named_tools
from .observation import Advice, Observation, advice_in, failures
from .probes import ARGUMENTS, FRAMES, TOOLS, Probe, ProbedTool, server_probes, tool_probes
from .report_data import Examined
from .sampler import is_reference
from .target import language_of_text
from .transport import Reply, StdioTransport, Transport, encoded
from .upstream import FAULTS, Upstream

_MOST_SLOW: Final = 2
_MOST_DEATHS_BY_FRAMES: Final = 3
_MOST_DEATHS_BY_TOOL: Final = 2
_MOST_FOLLOWED: Final = 8
_NEWER_TOOLS: Final = 3
"""Of so many tools it is looked whether they fail the same in the newer era."""
_LARGE: Final = 500_000
_LISTING: Final[tuple[str, Mapping[str, Any]]] = ("tools/list", {})

Progress = Callable[[str, int, int], None]
"""Is told what is looked at, how much is done and how much there is."""


class Examination:
    """One server. `known` is what whoever runs this named: its paths are no secrets of the server."""

    def __init__(self, transport: Transport, options: CheckOptions, found: Examined, progress: Progress, known: str):
        self._transport, self._options, self._found = transport, options, found
        self._progress, self._known = progress, known
        self._began = time.monotonic()
        self._patience = Endurance(options.waits, self._began + options.max_time - found.seconds)
        self._deaths = 0
        self._killed: dict[str, int] = {}
        self._roster: dict[str, ProbedTool] = {}
        self._closed: dict[str, str] = {}
        """Tools that are called no more, with the reason."""
        self._followed: dict[str, Observation] = {}
        """The calls that failures proposed, by what they are."""
        self._unknown_tool: Observation | None = None

    def run(self, upstream: Upstream | None = None) -> None:
        """Ask everything; with an upstream, ask the tools of an examined server while what it asks of others fails."""
        try:
            self._run() if upstream is None else self._run_faults(upstream)
        except KeyboardInterrupt:
            # Whoever ends it gets what was seen by then.
            self._found.is_partial = self._found.is_interrupted = True
            self._found.notes.append("Ended before everything was asked.")
        finally:
            self._transport.close()
            self._found.seconds += time.monotonic() - self._began

    def _run(self) -> None:
        talk = self._opened()
        if talk is None:
            return
        self._found.eras.append(talk.era)
        info = talk.opening.get("serverInfo")
        self._found.server = dict(info) if isinstance(info, Mapping) else {}
        self._list(talk)
        if "tools" in talk.capabilities or self._found.tools:
            [self._unknown_tool] = [
                self._asked(talk, probe)
                for probe in server_probes((), {"tools": {}}, modern=True)
                if probe.kind in TOOLS
            ]
        tools = [tool for tool in self._found.tools if tool.is_probed]
        for number, tool in enumerate(tools):
            self._progress(tool.name, number, len(tools))
            if not talk.can_start:
                self._found.left_out += [each.name for each in tools[number:]]
                break
            self._ask_tool(talk, tool)
        self._ask_server(talk)
        if talk.era == LEGACY and self._options.era == "auto" and talk.can_start:
            self._newer(talk.began)
        elif talk.era == MODERN and talk.can_start:
            # Frames that are no requests of this era turn some servers back to the older.
            with suppress(DoesNotStart):
                talk.open()
                self._unsupported(talk)
        hide = self._found.discretion.secrets.text
        facts = {"noise": [*map(hide, self._transport.noise)], "twice": len(self._transport.twice)}
        self._judge(Observation(Probe("session", ""), Reply("answered"), talk.era, facts=facts))
        self._remark()

    def _remark(self) -> None:
        """What whoever reads the score should know of it."""
        say, found = self._found.notes.append, self._found
        for reason in dict.fromkeys(self._closed.values()):
            names = _some(name for name, why in self._closed.items() if why == reason)
            say(f"{names}: {reason}, so no more calls were made.")
        if time.monotonic() >= self._patience.until:
            found.is_partial = True
            say(f"The time was over after {self._options.max_time:.0f} seconds (--max-time): the rest was not asked.")
        elif self._patience.is_over:
            say(f"Given up after {self._patience.unanswered} questions without an answer.")
        if left := set(found.left_out):
            of = len({tool.name for tool in found.tools} | left)
            say(f"{len(left):,} of {of:,} tools were not graded: choose with --tool.")
        if found.probes.keys() - {""} and not found.worked:
            say("No valid call was seen to work: the grade is based on refusals only. Try --examples, --reads, --env.")
        elif not found.probes.keys() - {""} and found.tools:
            say("Nothing could be graded: its tools may write and require nothing. Name those that read with --reads.")
        elif not found.tools and not found.tally.share("harm.starts"):
            say("There is nothing to grade: the server lists no tools, or none that was asked for.")

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
            self._judge(Observation(Probe("start", "initialize"), Reply("answered"), era))
            return talk
        assert problem is not None
        reason = self._found.discretion.line(str(problem))
        self._found.reason = reason
        reply = problem.reply or Reply("ended")
        self._judge(Observation(Probe("start", "initialize"), reply, LEGACY, facts={"reason": reason}))
        return None

    def _list(self, talk: Conversation) -> None:
        found, options = self._found, self._options
        if "tools" not in talk.capabilities:
            found.notes.append("The server declares no tools, so none were looked for.")
            return
        self._progress("listing tools", 0, 0)

        def note(reply: Reply) -> None:
            frame = encoded(talk.request(*_LISTING, 0)).decode()
            self._judge(Observation(Probe("list", *_LISTING), reply, talk.era, frame=frame))

        entries, endless = talk.listed("tools/list", "tools", note)
        listed, odd = named_tools(entries)
        if endless is not None:
            found.notes.append(f"The list of tools has no end: {endless}. What had come by then was looked at.")
        elif odd:
            found.notes.append(f"The list of tools has entries that are none: {'; '.join(odd[:5])}.")
        if broken := [f"{tool['name']} ({why})" for tool in listed if (why := broken_schema(tool.get("inputSchema")))]:
            more = f" and {len(broken) - 12} more" if len(broken) > 12 else ""
            found.notes.append(f"Schemas that cannot be used as they are: {', '.join(broken[:12])}{more}.")
        tools = [ProbedTool.of(tool, allow_writes=options.allow_writes, reads=options.reads) for tool in listed]
        self._roster = {tool.name: tool for tool in tools}
        if unknown := [name for name in options.only if name not in self._roster]:
            found.notes.append(f"None of the tools is named {', '.join(unknown)}.")
        chosen = [tool for tool in tools if not options.only or tool.name in options.only]
        found.tools, rest = chosen[: options.most_tools], chosen[options.most_tools :]
        found.left_out = [tool.name for tool in rest]
        for tool in found.tools:
            probe = Probe("listed", "tools/list", tool=tool.name)
            self._judge(Observation(probe, Reply("answered"), talk.era, tool))

    def _base(self, tool: ProbedTool) -> dict[str, Any] | None:
        return tool.schema.base(self._options.examples.get(tool.name))

    def _ask_tool(self, talk: Conversation, tool: ProbedTool) -> None:
        """Call a tool in all ways that it may be called, follow what its failures propose, and judge all of it."""
        seen: list[Observation] = []
        base: Observation | None = None
        for probe in tool_probes(tool, self._base(tool)):
            each = self._asked(talk, probe, tool, base)
            if probe.kind == "base":
                base = each
                if each.worked:
                    self._found.worked.add(tool.name)
            if probe.kind == "absent" and each.worked and self._is_alike(talk, tool, each):
                each = replace(each, facts={**each.facts, "alike": True})
            if each.failed and self._found.language is None:
                self._found.language = language_of_text(each.text)
            seen.append(each)
            if (reason := self._must_close(each, tool)) is not None:
                self._closed[tool.name] = reason
                break
            if not talk.can_start:
                break
        failed = failures([*seen, *([self._unknown_tool] if self._unknown_tool is not None else [])])
        reads = sum(other.nature in (Nature.READ, Nature.NAMED_READ) for other in self._roster.values())
        facts = {"other_reads": reads - (tool.nature in (Nature.READ, Nature.NAMED_READ))}
        for each in seen:
            each.peers = tuple(peer for peer in failed if peer is not each)
            each.facts = {**each.facts, **facts, "added": None}
            if each.failed and each.tool is not None:
                each.advice = tuple(self._follow(talk, each, advice) for advice in advice_in(each, self._roster))
                if each is base and tool.freely:
                    each.facts = {**each.facts, "added": self._missing(talk, tool, each)}
            self._judge(each)

    def _must_close(self, seen: Observation, tool: ProbedTool) -> str | None:
        """Why a tool is called no more: it ends the server, or hangs, or may write and did not plainly refuse."""
        if seen.died:
            self._killed[tool.name] = self._killed.get(tool.name, 0) + 1
            if self._killed[tool.name] >= _MOST_DEATHS_BY_TOOL:
                return "the server ended with it"
        if seen.reply.state == "silent" and not seen.died:
            return "it does not answer"
        if tool.freely:
            return None
        if seen.worked:
            return "a call that the schema forbids was carried out"
        return None if seen.refuses_arguments else "it may write, and did not plainly refuse wrong arguments"

    def _follow(self, talk: Conversation, seen: Observation, advice: Advice) -> Advice:
        """Make a call that a failure proposes, where it only reads. Whether it gets through is then known."""
        tool = self._roster.get(advice.tool)
        if tool is None or not tool.reads or advice.same or not advice.fits or tool.name in self._closed:
            return advice
        arguments = self._base(tool) if advice.arguments is None else dict(advice.arguments)
        if arguments is None or not tool.schema.fits(arguments):
            return advice
        probe = tool.call("followed", arguments)
        key = json.dumps([tool.name, arguments], sort_keys=True, default=str)
        if key not in self._followed:
            made = sum(name.startswith(json.dumps([tool.name])[:-1]) for name in self._followed)
            if not talk.can_start or made >= _MOST_FOLLOWED:
                return advice
            self._followed[key] = self._asked(talk, probe, tool)
        got = self._followed[key]
        if got.worked or got.asks:
            return replace(advice, works=True)
        if not got.failed or advice.arguments is None:
            return advice
        base_works = seen.base is not None and seen.base.worked
        refused = got.essence == seen.essence or (base_works and not advice.has_holes)
        return replace(advice, works=False if refused else None)

    def _is_alike(self, talk: Conversation, tool: ProbedTool, seen: Observation) -> bool:
        """Whether two things that cannot be there get the same answer, and one that is there another."""
        base, name = seen.base, seen.probe.argument or ""
        if base is None or not base.worked or base.essence == seen.essence or not is_reference(name):
            return False
        if not all(isinstance(each.probe.arguments.get(name), str) for each in (base, seen)):
            # What is counted may be there in any number.
            return False
        other = tool.schema.absent(seen.probe.arguments)
        if other is None or other == base.probe.arguments:
            return False
        again = self._asked(talk, tool.call("again", other), tool)
        return again.worked and again.essence == seen.essence

    def _missing(self, talk: Conversation, tool: ProbedTool, base: Observation) -> str | None:
        """The argument that the schema calls optional, and without which a valid call is refused."""
        given = base.probe.arguments
        for name in [name for name in tool.schema.properties if name not in given and base.mentions(name)][:2]:
            value = tool.schema.sample_or(name, None)
            if value is not None and self._asked(talk, tool.call("added", {**given, name: value}), tool).worked:
                self._found.worked.add(tool.name)
                return name
        return None

    def _asked(
        self,
        talk: Conversation,
        probe: Probe,
        tool: ProbedTool | None = None,
        base: Observation | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> Observation:
        """One probe with its answer; a server that did not survive it is started again."""
        if probe.raw is not None:
            id = talk.fresh_id()
            raw = probe.raw % id if b"%d" in probe.raw else probe.raw
            frame, reply = raw.decode(), talk.send_raw([raw], id)
        else:
            request = talk.request(probe.method, probe.params)
            frame, reply = encoded(request).decode("utf-8", "replace"), talk.send(request)
        name = probe.tool or ""
        self._found.probes[name] = self._found.probes.get(name, 0) + 1
        asked = time.monotonic()
        died = reply.state == "ended" or (reply.state == "silent" and not talk.is_alive())
        if died and reply.state == "silent" and time.monotonic() >= self._patience.until:
            # There was no time left to find out.
            died = False
        if died or (reply.state == "silent" and probe.raw is None):
            self._patience.lost(reply.seconds + time.monotonic() - asked)
        if reply.state == "silent" and probe.raw is None and not died:
            # What came while it was asked whether it lives came late, and not never.
            reply = self._transport.late(request["id"]) or reply
        if reply.size > _LARGE:
            # Answers of a tool are kept until all of them are judged.
            reply = replace(reply, message=_cut(reply.message))
        seen = Observation(probe, reply, talk.era, tool, frame, base, died, {**self._facts, **(facts or {})})
        if died:
            self._deaths += 1
            try:
                talk.open()
            except DoesNotStart as problem:
                talk.starts = 10**6
                self._found.notes.append(f"It could not be started again: {str(problem)[:200]}")
        return seen

    @property
    def _facts(self) -> Mapping[str, Any]:
        return {"known": self._known, "secrets": self._found.discretion.secrets}

    def _judge(self, seen: Observation) -> None:
        seen.facts = {**self._facts, **seen.facts}
        self._found.judge(seen)

    def _spare(self) -> list[ProbedTool]:
        """The tools that may still be called."""
        return [tool for tool in self._found.tools if tool.name not in self._closed]

    def _ask_server(self, talk: Conversation) -> None:
        self._progress("the protocol", 0, 0)
        if self._unknown_tool is not None:
            self._judge(self._unknown_tool)
        modern = talk.era == MODERN
        for probe in server_probes(self._spare(), talk.capabilities, modern=modern):
            if talk.can_start and probe.kind != "unknown_tool":
                self._judge(self._asked(talk, probe))
        deaths = self._deaths
        for probe in FRAMES:
            if talk.can_start and self._deaths - deaths < _MOST_DEATHS_BY_FRAMES:
                self._judge(self._asked(talk, probe))
        if talk.can_start:
            self._same_id(talk)

    def _same_id(self, talk: Conversation) -> None:
        """Two requests under way with one id: each may be answered, or the second refused, but none lost."""
        request = talk.request(*_LISTING)
        twice = len(self._transport.twice)
        reply = self._transport.exchange([encoded(request), encoded(request)], request["id"], 3.0, loose=True)
        asked = time.monotonic()
        alive = talk.is_alive()
        if not alive:
            self._patience.lost(reply.seconds + time.monotonic() - asked)
            talk.starts = 10**6
        # The second answer is no offence here. Over HTTP each has its own.
        many = (reply.state == "answered") + len(self._transport.twice[twice:])
        del self._transport.twice[twice:]
        problem = None if many else "Of two requests with the same id none is answered."
        if many == 1 and isinstance(self._transport, StdioTransport):
            problem = "Of two requests with the same id only one is answered, and whoever sent the other waits."
        frame, probe = encoded(request).decode(), Probe("duplicate_id", *_LISTING)
        self._judge(Observation(probe, reply, talk.era, frame=frame, died=not alive, facts={"problem": problem}))

    def _newer(self, began: float) -> None:
        """The newer era with a server of its own, where it speaks it."""
        waits = Waits(max(10.0, 5 * began), self._options.waits.call)
        talk = Conversation(self._transport, MODERN, waits, self._patience)
        self._progress(f"starting, {MODERN}", 0, 0)
        if self._patience.is_over:
            return
        try:
            talk.open()
        except DoesNotStart:
            return
        self._found.eras.append(MODERN)
        for tool in [tool for tool in self._spare() if tool.schema.required][:_NEWER_TOOLS]:
            probe = next((probe for probe in tool_probes(tool, None) if probe.kind in ARGUMENTS), None)
            if probe is not None and talk.can_start:
                seen = self._asked(talk, probe, tool)
                if (reason := self._must_close(seen, tool)) is not None:
                    self._closed[tool.name] = reason
                # What it says was compared in the older era.
                self._judge(replace(seen, tool=None) if seen.failed else seen)
        for probe in server_probes(self._spare(), talk.capabilities, modern=True):
            if talk.can_start:
                self._judge(self._asked(talk, probe))
        self._unsupported(talk)

    def _unsupported(self, talk: Conversation) -> None:
        """A request of the newer era in a version that never was."""
        request = talk.request(*_LISTING)
        request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "1999-01-01"
        reply, frame = talk.send(request), encoded(request).decode()
        self._judge(Observation(Probe("unsupported_version", *_LISTING), reply, MODERN, frame=frame))

    def _run_faults(self, upstream: Upstream) -> None:
        found = self._found
        self._roster = {tool.name: tool for tool in found.tools}
        talk = Conversation(self._transport, found.eras[0], self._options.waits, self._patience)
        try:
            talk.open()
        except DoesNotStart as problem:
            found.notes.append(f"With a failing upstream it does not start: {str(problem)[:200]}")
            return
        tools = [tool for tool in found.tools if tool.freely and self._base(tool) is not None]
        reached: list[ProbedTool] = []
        lost: dict[str, Observation] = {}
        slow = _MOST_SLOW
        for fault in FAULTS.values():
            if fault.how == "refused":
                upstream.leave()
            for number, tool in enumerate(tools):
                if not talk.can_start or (fault.how == "slow" and slow == 0):
                    break
                if tool not in reached and fault is not next(iter(FAULTS.values())):
                    # It asks nobody.
                    continue
                self._progress(f"{tool.name}, with faults", number, len(tools))
                if tool.nature is Nature.WRITE and tool in reached:
                    # In the old session, a write that has failed may be held.
                    talk.close()
                    talk.starts -= 1
                    with suppress(DoesNotStart):
                        talk.open()
                upstream.fault, before = fault, upstream.reached
                facts = {"fault": fault, "lost": lost.get(tool.name) if not tool.reads else None}
                seen = self._asked(talk, tool.call("fault", self._base(tool) or {}), tool, None, facts)
                if upstream.reached == before and fault.how != "refused":
                    continue
                if tool not in reached:
                    reached.append(tool)
                slow -= fault.how == "slow"
                if fault.how == "cut":
                    lost[tool.name] = seen
                self._judge(seen)
        told = f"{len(reached)} of {len(tools)} tools that may be called asked an upstream, and met its faults."
        found.notes.append(told if reached else "No tool that may be called asked an upstream through the proxy.")


def _some(tools: Iterable[str]) -> str:
    names: Collection[str] = sorted(tools)
    return ", ".join([*names][:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _cut(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return value[:100_000]
    if depth > 12:
        return None
    if isinstance(value, dict):
        return {key: _cut(part, depth + 1) for key, part in list(value.items())[:200]}
    return [_cut(part, depth + 1) for part in value[:200]] if isinstance(value, list) else value
