"""What was asked and what came back, opened as far as the rules need it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from failwell.formats import META_KEY, keys
from failwell.model import Kind, NeedsInput, ToolError, find, words_of
from failwell.readers import is_plain_failure, read

from . import vain_repeats, wording
from .probes import UNKNOWN_TOOLS, WRONG_ARGUMENTS, CheckedSurface, Probe
from .raw_wire import Reply
from .sample_arguments import NO_SUCH, is_reference, may_refer
from .upstream import UpstreamFault

_LONGEST_READ: Final = 100_000
# The words of tools that look for any number of things, of which none is as good an answer as many.
_MANY: Final = frozenset("search find list query lookup filter count match browse scan discover suggest all".split())
# What a service answers that no second call mends.
_REFUSALS: Final = frozenset({"401", "403", "404", "409", "422"})
CATEGORIES: Final[Mapping[str, str]] = {
    **dict.fromkeys(WRONG_ARGUMENTS, "arguments"),
    **dict.fromkeys(("unknown_argument", "misspelt_argument"), "names"),
    **dict.fromkeys(UNKNOWN_TOOLS, "tools"),
    "fault": "faults",
}
"""What a probe is about; all others are about what a tool does. Each counts the same, however many probes it has."""


@dataclass(eq=False)
class Observation:
    """One probe with its answer."""

    probe: Probe
    reply: Reply
    era: str
    tool: CheckedSurface | None = None
    frame: str = ""
    """What was sent, as it was sent."""
    base: Observation | None = None
    """The same call with nothing wrong in it."""
    died: bool = False
    """Whether the server was gone, or answered nothing any more, after it."""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return self.probe.kind

    @property
    def category(self) -> str:
        return CATEGORIES.get(self.kind, "doing" if self.probe.tool else "server")

    @property
    def answered(self) -> bool:
        return self.reply.state == "answered" and self.reply.message is not None

    @cached_property
    def result(self) -> Mapping[str, Any] | None:
        found = (self.reply.message or {}).get("result")
        return found if isinstance(found, Mapping) else None

    @cached_property
    def error(self) -> Mapping[str, Any] | None:
        found = (self.reply.message or {}).get("error")
        return found if isinstance(found, Mapping) else None

    @property
    def code(self) -> Any:
        return None if self.error is None else self.error.get("code")

    @cached_property
    def blocks(self) -> tuple[str, ...]:
        """The texts of the answer, each as the model would get it."""
        if self.error is not None:
            return (str(self.error.get("message", "")),)
        content = self.result.get("content") if self.result is not None else None
        found = content if isinstance(content, list) else ()
        return tuple(each["text"] for each in found if isinstance(each, Mapping) and isinstance(each.get("text"), str))

    @cached_property
    def text(self) -> str:
        return "\n".join(self.blocks)[:_LONGEST_READ]

    @property
    def shown(self) -> str:
        """The text as a finding may quote it: what is cut off must not be the half of a secret."""
        given = self.facts.get("secrets")
        return self.text if given is None else str(given.text(self.text))

    @cached_property
    def whole(self) -> str:
        """Everything of the answer that a client gets, as text."""
        found = self.error if self.error is not None else self.result
        return json.dumps(found, ensure_ascii=False, default=str)[:_LONGEST_READ] if found is not None else ""

    @property
    def is_marked(self) -> bool:
        """Whether the answer says by its form that the call failed."""
        return self.error is not None or (self.result is not None and self.result.get("isError") is True)

    @cached_property
    def meaning(self) -> ToolError | None:
        """What the answer tells of a failure, also where its form says that it worked."""
        message = self.reply.message
        if message is None or len(self.reply.raw) > _LONGEST_READ:
            return None
        try:
            found = read(message, observe=True)
        except Exception:
            return None
        return found if isinstance(found, ToolError) and found.is_error else None

    @cached_property
    def asks(self) -> bool:
        """Whether the answer is a question to the user, which is no failure."""
        if self.result is not None and self.result.get("resultType") == "input_required":
            return True
        try:
            return isinstance(read(self.reply.message), NeedsInput)
        except Exception:
            return False

    @property
    def fault(self) -> UpstreamFault | None:
        """How the upstream of the tool failed, where it was made to."""
        found = self.facts.get("fault")
        return found if isinstance(found, UpstreamFault) else None

    @property
    def names_nothing(self) -> bool:
        """Whether the call asks for one thing, and that thing cannot be there. A search may find nothing."""
        if self.tool is None or self.kind not in ("absent", "base"):
            return False
        if self.kind == "base" and NO_SUCH not in self.probe.arguments.values():
            return False
        if not _MANY.isdisjoint(words_of(self.tool.name)):
            return False
        return any(map(is_reference, self.probe.arguments)) or self._is_other_than_base

    @property
    def _is_other_than_base(self) -> bool:
        """Whether a call that works was changed in what may name a thing, and is answered with other words."""
        if self.kind != "absent" or self.base is None or not self.base.worked or self.base.text == self.text:
            return False
        return bool(self.base.text.strip()) and may_refer(self.probe.argument or "")

    @cached_property
    def is_hopeless(self) -> bool:
        """Whether the same call can never work: it is wrong in itself, what it names is not there, or it says so."""
        if self.fault is not None:
            return self.fault.name in _REFUSALS
        if self.kind in WRONG_ARGUMENTS:
            return not self.fails_anyhow
        if self.facts.get("tried_again"):
            return True
        works = self.base is not None and self.base.worked
        told = wording.says_not_there(self.text) or (
            works and any(wording.denies(self.text, sent) for sent in self.probe.expects)
        )
        # A thing that cannot exist may be asked for while its service is away: then nobody knows.
        missing = self.meaning is not None and self.meaning.kind is Kind.NOT_FOUND
        return (self.names_nothing and (missing or told)) or (self.kind == "absent" and works and told)

    @property
    def fails_anyhow(self) -> bool:
        """Whether the call with nothing wrong in it is told as a failure that passes, too."""
        both = (self.meaning, self.base.meaning if self.base is not None and self.base.failed else None)
        return all(each is not None and each.kind is Kind.TRANSIENT for each in both)

    @cached_property
    def is_refused(self) -> bool:
        """Whether the answer itself says that this call is not allowed, or never right: by a code, or in words."""
        if self.meaning is None or self.wants_credentials:
            return False
        code = find(wording.stated_code(self.whole))
        if code is not None:
            return code.kind in (Kind.PERMISSION, Kind.VALIDATION, Kind.NOT_FOUND) and not code.retryable
        return self.meaning.kind is Kind.PERMISSION and (self.meaning.confidence or 0) >= 0.6

    @property
    def shows_call(self) -> bool:
        """Whether the answer shows arguments with which the tool may be called."""
        return self.tool is not None and self.tool.schema.shown(wording.without_sent(self.text)) is not None

    @property
    def shows_value(self) -> bool:
        """Whether the answer quotes a value that the argument may have, of those that the schema lets have few."""
        if self.tool is None or self.tool.schema.fits(self.probe.arguments):
            return False
        name, schema = self.probe.argument or "", self.tool.schema
        if "pattern" not in schema.properties.get(name, {}):
            return False
        quoted = re.findall(r"[\"'`]([^\"'`]{1,60})[\"'`]", self.text[:2_000])
        return any(schema.fits({**self.probe.arguments, name: value}) for value in quoted)

    @property
    def asks_again(self) -> bool:
        """Whether the answer asks, by a flag or by words, for the same call again."""
        return vain_repeats.RETRYABLE.search(self.whole) is not None or vain_repeats.invites_same(self.text)

    @property
    def promises(self) -> bool:
        """Whether the answer says in any way that the same call may work when it is made again."""
        return (
            self.asks_again
            or vain_repeats.promises_passing(self.text)
            or vain_repeats.WAITS.search(self.whole) is not None
        )

    @property
    def is_unproven(self) -> bool:
        """Whether a thing that cannot be there is told as a failure that passes, which may be true."""
        if not self.names_nothing or not self.failed or self.is_hopeless or self.fault is not None:
            return False
        outside = any("://" in str(sent) or "." in str(sent) for sent in self.probe.arguments.values())
        return self.promises and not outside and not vain_repeats.is_limited(self.text)

    @property
    def _says_no(self) -> bool:
        """Whether the answer says in words that there is no such thing, or that an argument is wrong."""
        told = self.base is None or (self.base.worked and self.base.text != self.text)
        if self.kind == "absent" and told and any(wording.denies(self.text, sent) for sent in self.probe.expects):
            return True
        if self.kind in WRONG_ARGUMENTS and self.base is not None and told and self.probe.argument is not None:
            return wording.refuses(self.text, self.probe.argument) and not wording.names(
                self.base.text, (self.probe.argument,)
            )
        return False

    @cached_property
    def is_unmarked_failure(self) -> bool:
        """Whether the call failed, and the answer says by its form that it worked."""
        if self.is_marked or self.result is None or self.asks:
            return False
        if self.names_nothing and (wording.says_not_there(self.text) or wording.is_called_error(self.text)):
            return True
        if self._says_no or wording.flags_failure(self.text):
            return True
        if self.meaning is None:
            return False
        # Where the call must fail, any words that tell of a failure are one; elsewhere only what leaves no doubt.
        due = self.kind in WRONG_ARGUMENTS or self.kind in UNKNOWN_TOOLS or self.kind in ("unknown_argument", "fault")
        told = self.base is None or self.base.text != self.text
        return is_plain_failure(self.meaning, self.result) or (due and told and (self.meaning.confidence or 1) >= 0.5)

    @property
    def failed(self) -> bool:
        return self.is_marked or self.is_unmarked_failure

    @cached_property
    def wants_credentials(self) -> bool:
        """Whether the call failed since nobody is signed in, whatever else is wrong with it."""
        if not self.failed or self.fault is not None or not wording.wants_credentials(self.text):
            return False
        # An argument may be a token, too, and be missing.
        return not wording.mentions(self.text, (self.probe.argument or "", *self.probe.wrong))

    @property
    def worked(self) -> bool:
        return self.result is not None and not self.failed and not self.asks

    @property
    def is_tool_failure(self) -> bool:
        """Whether it is a failed call of a tool, or of one that does not exist."""
        return (
            self.failed and self.probe.method == "tools/call" and (self.tool is not None or self.kind in UNKNOWN_TOOLS)
        )

    @cached_property
    def canonical(self) -> bool:
        meta = self.result.get("_meta") if self.result is not None else None
        return isinstance(meta, Mapping) and META_KEY in meta

    @cached_property
    def ignored(self) -> tuple[str, ...]:
        """The arguments that the answer says were ignored."""
        meta = self.result.get("_meta") if self.result is not None else None
        found = meta.get(keys.IGNORED_ARGUMENTS) if isinstance(meta, Mapping) else None
        return tuple(map(str, found)) if isinstance(found, list) else ()
