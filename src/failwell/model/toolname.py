"""What a tool's name says: what it does, what it is about, and whether it plainly only reads.

Only a closed list of verbs reads. Whatever else a name holds can take that back, never add to it: `get_next_task` hands
out a task in real servers, and `get_or_create` is two verbs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Final

from .regex import pattern

# As long as MCP lets a name be.
LONGEST: Final = 128

# Not here: `check` (`check_out`, and `check_item` ticks it off), `query` (takes a statement), `export`, `download` and
# `scan` (start a job, or write a file).
READS: Final = (
    *("get", "retrieve", "fetch", "read", "describe", "show", "view", "inspect", "lookup", "list"),
    *("find", "search", "peek", "count"),
)
"""The verbs that read, the ones that tell most about one thing first."""

SEARCHES: Final = frozenset({"find", "search", "lookup"})
_OF_MANY: Final = frozenset({"list", "count", "search"})

_DOES: Final = frozenset(
    """
    create make add insert append prepend upsert write save put set edit update modify alter rename replace remove
    delete destroy drop purge truncate wipe erase flush expire evict invalidate del rm rmdir mkdir mv cp move clone
    merge push rebase revert rollback restore undo redo archive unarchive trash clear clean cleanup reset refresh
    reload rotate renew regenerate generate mint provision allocate acquire send resend reply forward publish
    unpublish broadcast notify submit approve reject accept decline deny confirm complete finish finalize resolve
    reopen close cancel abort terminate kill stop start restart reboot shutdown launch execute exec invoke retry
    rerun replay apply deploy install uninstall upgrade downgrade migrate seed init initialize setup enable disable
    activate deactivate suspend resume pause lock unlock assign unassign grant revoke invite ban unban mute pin
    unpin join register unregister enroll subscribe unsubscribe follow unfollow attach detach mount connect
    disconnect login logout sign mark unmark flag toggle increment incr decrement decr bump increase decrease sync
    upload download import export checkout checkin pay buy sell withdraw capture void settle redeem fulfill ship
    reserve unreserve vote click press fill navigate scroll drag ensure touch rid rebuild reindex recompute
    """.split()
)
"""Verbs that do something wherever they stand in a name: no noun looks like them."""

_HANDS_OUT: Final = frozenset(
    """
    next pop claim dequeue enqueue take receive poll consume lease ack acknowledge nack pull drain shift steal
    updates unread once new temporary temp token tokens credential credentials nonce otp presigned
    """.split()
)
"""Words of queues, and of what is made when it is asked for: reading it twice does not give the same."""

DOES: Final = _DOES | _HANDS_OUT

EITHER: Final = frozenset(
    """
    order post charge refund transfer issue run copy patch book review report comment invoice bill purchase trade
    bid swap deposit payout build test trigger release commit fork tag label branch backup snapshot change request
    call schedule record block switch store stage star like watch link log track map plan open leave default access
    share ticket quote amount express wordpress
    """.split()
)
"""Verbs that are nouns once a reading verb stands before them, and a few nouns that end like a verb."""

# A pull request is a thing, though `pull` is a verb.
_COMPOUNDS: Final = frozenset({("pull", "request"), ("merge", "request"), ("pull", "requests"), ("merge", "requests")})

# `and`, and whatever else lets a second verb follow. Which words are verbs nobody can list: none may follow.
_CONNECTIVES: Final = frozenset("and or then plus also else otherwise if unless until while n".split())
_PARTICLES: Final = frozenset("out in off on up down away back over".split())

_FEED: Final = frozenset("queue queues stream streams".split())
_DOUBTFUL_WITH: Final[Mapping[str, frozenset[str]]] = {
    # What is fetched from a queue is gone from it; to look at queues is something else.
    "get": _FEED,
    "retrieve": _FEED,
    # `git fetch` moves the branches of a remote; a payment that is fetched is collected.
    "fetch": _FEED | set("topic topics git remote remotes origin upstream branch branches payment payments".split()),
    # To read a message marks it as read.
    "read": _FEED
    | set("topic topics message messages email emails mail mails notification notifications inbox".split())
    # A card is read by charging it, or by a machine that waits for one.
    | set("card cards badge nfc rfid barcode fingerprint".split()),
    # To show something to the user is to do something.
    "show": frozenset(
        """notification notifications alert alerts message messages dialog popup toast banner modal window prompt form
        menu overlay tooltip image picture slide screen page tab ui widget keyboard ad ads advert advertisement
        advertisements video movie
        splash hint offer survey""".split()
    ),
}

# What nobody reads: who gets it is given it, by somebody who pays, drives, signs or sends it.
_GIVEN: Final = frozenset(
    """money cash loan taxi cab ride pizza food approval consent clearance signature passcode voucher haircut
    groceries""".split()
)

# What a verb of a container may be followed by; anything else that is one and not many is offered for sale: `list_nft`.
_LISTED_SINGLY: Final = frozenset(
    "directory dir folder bucket tree children people media data metadata info history content all inventory".split()
)

_SMALL: Final = frozenset("a an the all my me own by id ids per via using".split())
_PREPOSITIONS: Final = frozenset("to from in on for with of at into onto as by per via using under within".split())
_ATTRIBUTES: Final = frozenset(
    """
    status state title name description priority label labels tag tags assignee assignees settings config
    configuration metadata permission permissions field fields property properties value details detail info data
    history content contents text body read done date time deadline
    """.split()
)
"""What is said of a thing, not a thing: `get_order_status` is about orders."""

_WORD: Final = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_NAMESPACE: Final = pattern(r"__|[./:]")
_PLAIN: Final = pattern(rf"[A-Za-z0-9_./:-]{{1,{LONGEST}}}")

_ENDINGS: Final = "s|d|r|rs|ed|er|ers|or|ors|ing|ings|ment|ments|able|ance|als?|(?:l?at)?ions?"
# `template`, `initiative`, `signature`, `shipping`, `market`: what begins like these is mostly something else.
_BEGINS_NOUNS: Final = frozenset("temp init sign ship mark seed exec incr decr once".split())
# `get_nextjob`: a verb written together with its noun. A short verb begins too many words (`address`, `settings`) and
# ends even more.
_HIDDEN: Final = pattern(
    f"(?:{'|'.join(sorted(word for word in DOES - _BEGINS_NOUNS if len(word) > 3))})(?!(?:{_ENDINGS})$).+"
    f"|.+(?:{'|'.join(sorted(word for word in DOES if len(word) > 4))})"
)


@dataclass(frozen=True, slots=True)
class ToolName:
    """A name taken apart. All words are in small letters."""

    words: tuple[str, ...]
    """The words of the whole name, the namespace included."""

    own: tuple[str, ...]
    """The words without the namespace."""

    verb: str | None
    things: tuple[str, ...]
    """What it is about, without small words; the verb where there is nothing else."""

    head: str | None
    """The one of `things` that it is about first of all: the comment in `add_comment_to_issue`."""

    @property
    def is_of_many(self) -> bool:
        """Whether it gives many things: `get_orders`, but not `orders.get`."""
        return self.verb in _OF_MANY or (self.head in self.own and is_plural(self.head or ""))


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, whichever way they are put together.

    >>> words_of("listIssue_comments-v2")
    ('list', 'issue', 'comments', 'v', '2')
    """
    return tuple(word.lower() for word in _WORD.findall(name))


@lru_cache(4096)
def parsed(name: str) -> ToolName:
    """What the parts of a name are.

    >>> parsed("github__add_comment_to_issue")
    ToolName(words=('github', 'add', 'comment', 'to', 'issue'), own=('add', 'comment', 'to', 'issue'), verb='add', \
things=('comment', 'issue'), head='comment')
    """
    parts = [part for part in map(words_of, _NAMESPACE.split(name)) if part]
    own = parts[-1] if parts else ()
    at = _verb_at(own)
    verb = None if at is None else own[at]
    # What follows the verb; `customer_retrieve` and `invoices.get` have it in front.
    about: tuple[str, ...] = own if at is None else own[at + 1 :] or own[:at] or (parts[-2] if len(parts) > 1 else ())
    things = tuple(word for word in about if word not in _SMALL and word not in _PREPOSITIONS and not word.isdigit())
    if not things and verb is not None and verb not in READS:
        things, about = (verb,), (verb,)
    return ToolName(tuple(chain.from_iterable(parts)), own, verb, things, _head(about, things))


def is_named_read(name: str) -> bool:
    """Whether the name alone says plainly that the tool reads.

    >>> [is_named_read(name) for name in ("get_invoice", "invoices.list", "get_or_create_invoice", "get_next_invoice")]
    [True, True, False, False]
    """
    return isinstance(name, str) and _PLAIN.fullmatch(name) is not None and _is_read(name)


@lru_cache(4096)
def _is_read(name: str) -> bool:
    known = parsed(name)
    if not known.own or known.own[0] not in READS or acts(known):
        return False
    verb, rest = known.own[0], known.own[1:]
    return not (
        _CONNECTIVES.intersection(known.words)
        or _PARTICLES.intersection(rest[:1] + rest[-1:])
        or _DOUBTFUL_WITH.get(verb, frozenset()).intersection(known.words)
        or any(map(_hides_a_verb, known.words))
        # `get_loan_status` and `list_loans` are about what is there already.
        or (verb in _RECEIVES and rest and rest[-1] in _GIVEN)
        or _ONE_TIME.issubset(rest)
        # `get_invoice_paid` gets it paid; `get_paid_invoices` says which.
        or (verb == "get" and rest and is_done_to(rest[-1]))
        # Of nothing: whatever is asked for, in whichever way, a request that posts, too.
        or known.words in (("fetch",), ("describe",))
        # `read_into_db` puts it there.
        or not _INTO.isdisjoint(rest)
        or (verb == "list" and rest and not _is_plural_noun(rest))
        # The verbs that are nouns themselves: `search_run` runs a search.
        or (verb in ("search", "count") and len(rest) == 1 and rest[0] in EITHER)
    )


def is_done_to(word: str) -> bool:
    """Whether a word is a participle: what was done to something, or is to be."""
    return word in _DONE_TO or (len(word) > 4 and word.endswith("ed") and not word.endswith("eed"))


_INTO: Final = frozenset({"into", "onto"})
_RECEIVES: Final = frozenset({"get", "fetch", "retrieve", "find"})
# A code that is good once is made when it is asked for.
_ONE_TIME: Final = frozenset({"one", "time"})
_DONE_TO: Final = frozenset("paid sent built bought sold drawn written undone rewritten done spent".split())


def acts(name: ToolName) -> bool:
    """Whether a word of the name does something, or hands something out, whatever stands before it."""
    words = name.words
    return any(word in DOES and words[at : at + 2] not in _COMPOUNDS for at, word in enumerate(words))


@lru_cache(4096)
def forms(word: str) -> frozenset[str]:
    """The word and what it may be the plural of.

    >>> sorted(forms("entries"))
    ['entri', 'entrie', 'entries', 'entry']
    """
    found = {word}
    if len(word) > 3 and word.endswith("s"):
        found.add(word[:-1])
        if word.endswith("es"):
            found.add(word[:-2])
        if word.endswith("ies"):
            found.add(word[:-3] + "y")
    return frozenset(found)


def is_plural(word: str) -> bool:
    """Whether the word is one for many."""
    return word in _LISTED_SINGLY or (word.endswith("s") and not word.endswith(("ss", "us", "is")))


@lru_cache(4096)
def _hides_a_verb(word: str) -> bool:
    return forms(word).isdisjoint(EITHER) and _HIDDEN.fullmatch(word) is not None


def _verb_at(words: tuple[str, ...]) -> int | None:
    """Where the verb is. A reading one leads; of the others the sure one counts, wherever it is: `order_create`."""
    if words and words[0] in READS:
        return 0
    for verbs in (DOES, READS, EITHER):
        for at, word in enumerate(words):
            if word in verbs and words[at : at + 2] not in _COMPOUNDS and (verbs is not EITHER or _orders(words, at)):
                return at
    return None


def _orders(words: tuple[str, ...], at: int) -> bool:
    """Whether a word that may be a noun is the verb: not in `order_status`, where nothing is left to be ordered."""
    rest = words[at + 1 :]
    return not _ATTRIBUTES.issuperset(rest) if rest else at == 0


def _head(about: tuple[str, ...], things: tuple[str, ...]) -> str | None:
    """The last thing before a preposition, unless it is only said of another: then that one."""
    before, after = _split(about)
    for side in (reversed([word for word in before if word in things]), [word for word in after if word in things]):
        for word in side:
            if word not in _ATTRIBUTES and not word.endswith("ed"):
                return word
    return things[-1] if things else None


def _split(about: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    at = next((at for at, word in enumerate(about) if word in _PREPOSITIONS), len(about))
    return about[:at], about[at:]


def _is_plural_noun(rest: tuple[str, ...]) -> bool:
    before, _ = _split(rest)
    return bool(before) and is_plural(before[-1])
