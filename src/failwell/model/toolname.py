"""What the name of a tool says that it does: it reads, it writes, or the name does not say.

Two closed lists of verbs decide, and the first verb in the name counts, in any order of words: `get_invoice`,
`invoices.list`, `issue-close`. How many names of published servers they tell apart: `tests/model/test_toolname.py`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal

from .regex import pattern

# As long as MCP lets a name be.
LONGEST: Final = 128

READS: Final = frozenset(
    """
    get retrieve fetch read describe show view inspect lookup list find search peek count check analyze analyse validate
    verify explain compare preview browse examine explore discover calculate compute estimate lint detect diagnose
    identify summarize translate classify recommend suggest predict extract exists grep ping
    whoami hget hgetall lrange llen smembers zrange mget
    status info details history log stats health
    """.split()
)
"""Not here: `query` (takes a statement), `export`, `download` and `scan` (start a job, or write a file)."""

WRITES: Final = frozenset(
    """
    next pop claim dequeue enqueue acquire reserve
    create make add insert append upsert write save put set edit update modify rename replace remove delete destroy drop
    purge truncate clear reset del rm mkdir move clone restore undo archive rotate generate
    send resend reply post publish broadcast notify submit approve reject accept decline confirm complete finish
    close reopen cancel abort terminate kill stop start restart reboot shutdown launch execute exec retry rerun install
    uninstall upgrade enable disable activate deactivate suspend pause resume lock unlock assign grant revoke
    invite register subscribe unsubscribe attach detach login logout mark toggle manage configure apply
    push pay buy sell withdraw redeem ship rent place checkin checkout click press fill
    order book charge refund transfer pull merge commit run deploy upload import sync trigger schedule
    """.split()
)

NOUNS: Final = frozenset(
    """
    status info details history log stats health
    place order book charge refund transfer pull merge commit run deploy upload import sync trigger schedule
    """.split()
)
"""Words of the lists that are mostly nouns. They count where no other verb stands, and one that reads only at the end:
`order_create`, `order_status`, but not `log_message`."""

HANDS_OUT: Final = frozenset("next pop claim dequeue enqueue acquire reserve".split())
"""Reading these twice gives two things: they write wherever they stand, as in `get_next_task`."""

_CONNECTIVES: Final = frozenset({"or", "and", "then"})
_WORD: Final = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_NAMESPACE: Final = pattern(r"__|[./:]")


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in small letters, in whichever spelling.

    >>> words_of("listIssue_comments-v2")
    ('list', 'issue', 'comments', 'v', '2')
    """
    return tuple(word.lower() for word in _WORD.findall(name))


def singular(word: str) -> str:
    """The word without the ending of a plural.

    >>> [singular(word) for word in ("invoices", "entries", "boxes", "status", "address")]
    ['invoice', 'entry', 'box', 'status', 'address']
    """
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "zes")) else word[:-1]


@lru_cache(4096)
def nature_of_name(name: str) -> Literal["read", "write"] | None:
    """What a tool of that name does, as far as the name says it.

    >>> [nature_of_name(name) for name in ("invoices_get", "issue-close", "get_or_create", "get_next_task", "weather")]
    ['read', 'write', 'write', 'write', None]
    """
    if len(name) > LONGEST:
        return None
    parts = [words for part in _NAMESPACE.split(name) if (words := words_of(part))]
    if any(not HANDS_OUT.isdisjoint(words) for words in parts):
        return "write"
    # A namespace says less than what stands behind it: `order.list`, `search__delete_index`.
    return next((found for words in reversed(parts) if (found := _nature(words)) is not None), None)


def _nature(words: tuple[str, ...]) -> Literal["read", "write"] | None:
    at = next((at for at, word in enumerate(words) if word in _CONNECTIVES), None)
    if at is not None:
        both = {_nature(words[:at]), _nature(words[at + 1 :])}
        return "write" if "write" in both else "read" if "read" in both else None
    verbs = _verbs(words)
    sure = [verb for verb in verbs if verb not in NOUNS]
    # What is listed or viewed stands in the plural, or has a name: `list_add` is a list that something is added to.
    if sure and words[-2:-1] in (("list",), ("view",)) and sure[-1] == words[-1] and sure[-1] in WRITES:
        return "write"
    if sure:
        return "read" if sure[0] in READS else "write"
    if len(words) > 1 and verbs[-1:] == [words[-1]] and words[-1] in READS:
        return "read"
    return None if WRITES.isdisjoint(verbs) else "write"


def _verbs(words: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    for at, word in enumerate(words):
        # `check_out` and `shut_down` are one verb.
        joined = word + words[at + 1] if at + 1 < len(words) else word
        found += [each for each in (joined, word) if each in READS or each in WRITES][:1]
    return found
