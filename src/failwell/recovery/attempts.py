"""What several attempts at one call have in common: the waits between them, and what they may have done together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from failwell.model import (
    ADVICE,
    ESCAPED,
    IN_DOUBT,
    NOTHING_RAN,
    Effect,
    Kind,
    Nature,
    Strategy,
    ToolError,
    Traits,
    form_of,
    forms,
    is_same_tool,
    words_of,
)

from .missing_things import names_missing
from .validators import names_sent

_NO_REFUSAL: Final = frozenset({Kind.TRANSIENT, Kind.INTERNAL})
_SAY_AGAIN: Final = frozenset({Kind.VALIDATION, Kind.TRANSIENT, Kind.CONFLICT})
_WORST_FIRST: Final = (Effect.DONE, Effect.PARTIAL, Effect.UNKNOWN)

_MADE: Final = (
    "made|done|paid|sent|charged|created|placed|booked|saved|stored|written|transferred|updated|executed"
    "|processed|completed|committed|accepted|submitted|posted|published|deployed|captured|debited"
)
_DONE: Final = f"{_MADE}|deleted|removed|succeeded"
_NEGATED: Final = "no|not|nothing|never|none"
# What somebody says was done before what they complain of: no refusal, whatever it is called.
_DONE_BEFORE: Final = re.compile(
    rf"(?i)\b(?:after|once|although|though|but)\b(?: [\w'-]{{1,30}}){{1,4}}"
    rf" (?:was|were|is|has been|had been|have been) (?:{_DONE})\b"
    rf"|\b(?:{_DONE}|merged|credited|uploaded|successful)\b(?: ?[=:] ?true)?[,;.]? (?:but|however|yet)\b"
    # "charged card, but …"
    rf"|(?:^|[:;.,] )(?:{_DONE})(?: [^\s,;.]{{1,40}}){{1,5}}[,;.]? (?:but|however|yet)\b"
    # "Invoice inv_1 not found. The payment was made."
    rf"|[;.] (?:(?!(?:{_NEGATED}|if|unless|until|make|check|ensure|please|verify|whether)\b)[\w'-]{{1,30}} ){{1,4}}"
    rf"(?:was|were|has been|have been) (?:already )?(?:{_MADE})\b"
)
_STOP: Final = r"(?:[;.,:] |\n| [-\u2013\u2014] | \(| and )"
# The same with nothing between the two but a stop: "Payment sent; the template does not exist". What was sent may also
# be told with what is wrong with it, and what "has been deleted" is why it is not there.
_DONE_FIRST: Final = re.compile(
    r"(?i)(?:[\w.]{1,60}: )?"
    rf"(?!(?:{_NEGATED}|invalid|unsupported|unknown|bad|wrong|malformed|missing|empty|too|if|unless)\b)"
    rf"(?:[\w'#.-]{{1,40}} ){{1,4}}?(?:(?:was |were |has been |have been )(?:{_MADE})"
    rf"|(?<!\bnot )(?<!\bbe )(?<!\bbeen )(?<!\bwas )(?<!\bwere )(?<!\bis )(?<!\bare )(?:{_DONE})){_STOP}\S"
    # "Paid inv_1; …", "Charged inv_1 (…"
    rf"|(?i:{_MADE})(?: [^\s,;.:()]{{1,60}}){{1,4}}?{_STOP}\S"
    # "Paid. …"
    rf"|(?i:{_MADE})[.;] \S"
)


def spread(delay: float, error: ToolError, chance: float) -> float:
    """How long to wait: not earlier than the server says, and not every agent at the same moment; where it says
    nothing, anywhere up to then. `chance` is a number from 0 to 1."""
    if error.retry_after is not None or error.reset_at is not None:
        return delay * (1 + chance / 10)
    # A server that is being started anew takes its time: whoever knocks at once has only used up an attempt.
    return delay * ((1 + chance) / 2 if error.delivery == "never_sent" else chance)


def effect_of(error: ToolError, tool: Traits) -> Effect | None:
    """What a failure says of its call: what was stated, and where it was not, what the tool's nature leaves open.

    Words may come from anywhere inside a tool, after half of its work. A refusal by its meaning says at least that the
    caller has to change something, and that is left as it is: neither done nor not done.
    """
    if error.standing != "quoted" or (error.effect is not None and not _is_hearsay(error)):
        return error.effect
    # Whoever names a time does not refuse: a proxy that says "locked, try in 7 seconds" may have passed the call on.
    refuses = error.kind not in _NO_REFUSAL and error.retry_after is None and error.reset_at is None
    if refuses and not has_escaped(error) and not _is_of_done(error.message):
        return None
    if form_of(error.format).relayed:
        # A server that speaks our language has looked at its tool already.
        return None
    return ESCAPED[tool.nature]


# Each of its forms has one of these, and hardly a message has.
_TURNS: Final = re.compile("after|once|though|but|however|yet| (?:was|were|been) ")


@lru_cache(8)
def _is_of_done(message: str) -> bool:
    """Whether somebody says that something was done. Of one failure this is asked again and again."""
    if _DONE_FIRST.match(message):
        return True
    return _TURNS.search(message.lower()) is not None and _DONE_BEFORE.search(message) is not None


def _is_hearsay(error: ToolError) -> bool:
    """Whether only somebody's words say that nothing was done."""
    return error.effect is Effect.NONE and error.delivery not in NOTHING_RAN


def is_undone(outcome: object) -> bool:
    """Whether a server states that the call did nothing, or it was never sent."""
    if not isinstance(outcome, ToolError) or outcome.effect is not Effect.NONE:
        return False
    return outcome.standing == "stated" or outcome.delivery in NOTHING_RAN


def of_this_call(error: ToolError, tool: str) -> ToolError:
    """The error, unless it names another tool: then it is what a server was told that the called one asked, and was
    passed on. Whoever stands in between may have put a name of their own before that of the tool."""
    if error.tool is None or not tool or error.tool == tool:
        return error
    is_whole = error.origin == "peer" and form_of(error.format).relayed
    if not is_whole or is_same_tool(tool, error.tool):
        return error
    return error.replace(standing="quoted", effect=None, format=None, tool=tool)


def has_escaped(error: object) -> bool:
    """Whether it was made of an exception that came out of a function, not of an answer, nor of what carries it."""
    return isinstance(error, ToolError) and error.origin == "local" and error.delivery is None


def in_all(error: ToolError, tool: Traits, earlier: Sequence[ToolError] = ()) -> ToolError:
    """The last failure, with what all attempts together may have done."""
    if tool.reads and not _is_known(error, tool):
        return error if error.effect in (None, Effect.NONE) else error.replace(effect=Effect.NONE, verify=None)
    worst = effect_of(error, tool)
    if others := [failure for failure in earlier if failure is not error]:
        worst = _worst([effect_of(failure, tool) for failure in others], worst)
    if worst is Effect.UNKNOWN and tool.nature is Nature.IDEMPOTENT and error.origin != "local":
        worst = None
    error = error if worst is error.effect else with_effect(error, worst)
    if is_unsure(error, tool):
        error = error.replace(authored=True)
    return error


def _worst(effects: Sequence[Effect | None], last: Effect | None) -> Effect | None:
    """What several attempts may have done together. That nothing was done has to be so of each of them."""
    found = next((worst for worst in _WORST_FIRST if worst is last or worst in effects), None)
    return found or (last if all(effect is Effect.NONE for effect in effects) else None)


def _is_known(error: ToolError, tool: Traits) -> bool:
    """Whether the server itself says what a call of a tool that should only read has done."""
    if error.standing != "stated" or error.effect not in IN_DOUBT:
        return False
    return error.effect is not Effect.UNKNOWN or not tool.told


def is_unsure(error: ToolError, tool: Traits) -> bool:
    """Whether only words say that a write was refused: they stand, and nobody is told to correct it and call again."""
    if error.standing != "quoted" or error.effect is not None or error.patch:
        return False
    if error.sent is not None and error.fields:
        # Held against the server's own list, the arguments are wrong.
        return False
    if error.origin is None:
        # An author's own refusal, made here out of what a function raised on purpose.
        return False
    return error.kind in _SAY_AGAIN and tool.nature in (Nature.WRITE, Nature.UNMARKED)


def is_missing_elsewhere(error: ToolError, tool: Traits, arguments: Mapping[str, Any]) -> bool:
    """Whether only words say that a write found something missing, and not what it was sent: it may have been met in
    the middle of the work."""
    if error.kind is not Kind.NOT_FOUND or error.standing != "quoted" or error.origin != "peer":
        return False
    if tool.nature not in (Nature.WRITE, Nature.UNMARKED) or error.effect is not None:
        return False
    if error.code == "UNKNOWN_TOOL" and names_sent(error.message, {"": tool.name or ""}):
        # Of a tool that is not there at all, nothing was done.
        return False
    # The number of a status is nobody's id.
    words = error.message if error.http_status is None else error.message.replace(str(error.http_status), "")
    return not names_missing(words, tool.name or "", arguments)


def is_wrong_elsewhere(error: ToolError, tool: Traits, arguments: Mapping[str, Any], names: Iterable[str]) -> bool:
    """Whether only words say that a write was given something wrong, and no argument and no value of it: what the tool
    got from somebody else may be."""
    if error.kind is not Kind.VALIDATION or error.origin != "peer" or error.fields or not is_unsure(error, tool):
        return False
    said = {form for word in words_of(error.message) for form in forms(word)}
    known = {form for name in (*names, *arguments) for word in words_of(name) for form in forms(word)}
    return (
        said.isdisjoint(known - _SAYS_LITTLE)
        and said.isdisjoint(_ARGUMENT)
        and not names_sent(error.message, arguments)
    )


# Of the names of arguments, those that stand in any sentence; and what all of them are called.
_SAYS_LITTLE: Final = frozenset("to from of in on at by as is a an the no not for with and or if".split())
_ARGUMENT: Final = frozenset("argument parameter param input property".split())


def is_left_open(error: ToolError) -> bool:
    """Whether it was found, of a write that only somebody's words say was refused, that they are not about the call.

    That is marked by the words being left alone, and by a way out that is not what follows from the kind: to look for
    another one, or to correct the arguments, is none.
    """
    is_marked = error.authored and error.given("strategy") and error.strategy is Strategy.USER_ACTION
    return is_marked and error.standing == "quoted" and error.effect not in IN_DOUBT


def left_open(error: ToolError) -> ToolError:
    return error.replace(authored=True, strategy=Strategy.USER_ACTION)


def with_effect(error: ToolError, effect: Effect | None) -> ToolError:
    # Without a word about it, what follows from the kind would speak.
    advice = dict.fromkeys(ADVICE) if effect in IN_DOUBT and error.standing == "quoted" else {}
    return error.replace(effect=effect, standing=error.standing if effect else "quoted", **advice)
