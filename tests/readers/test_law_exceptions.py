"""Laws: nothing makes `classify` raise, and no exception's own text leaves unless its author meant it to."""

from __future__ import annotations

import errno
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import failwell as fw
from failwell.formats import FORMATS
from failwell.readers import classify
from failwell.readers.exceptions.exception_table import SHIPPED

SECRET = "zq7secretzq7"


class Unplanned(Exception):
    pass


class Stateful(Exception):
    """As clients of services make theirs, with anything in the attributes that are looked at."""

    def __init__(self, text: str, **attributes: Any) -> None:
        super().__init__(text)
        self.__dict__.update(attributes)


texts = st.text(max_size=20).map(lambda text: f"{SECRET}{text}{SECRET}")
numbers = st.sampled_from([*errno.errorcode, 0, -1, 10**9])
odd = st.one_of(
    st.none(),
    st.integers(-1, 700),
    st.booleans(),
    texts,
    st.binary(max_size=5),
    st.floats(),
    st.dictionaries(texts, texts, max_size=2),
)
NAMES = [
    "status_code",
    "http_status",
    "status",
    "response",
    "code",
    "errno",
    "reason",
    "os_error",
    "request",
    "orig",
    "sqlstate",
    "details",
]

single = st.one_of(
    st.builds(Unplanned, texts),
    st.sampled_from(
        [RuntimeError, KeyError, TypeError, OSError, ConnectionError, TimeoutError, SystemExit, UserWarning]
    ).flatmap(lambda kind: texts.map(kind)),
    st.builds(OSError, numbers, texts, texts),
    st.dictionaries(st.sampled_from(NAMES), odd, max_size=4).flatmap(
        lambda found: texts.map(lambda text: Stateful(text, **found))
    ),
)


@st.composite
def chains(draw: st.DrawFn) -> BaseException:
    """Exceptions that were raised from and while handling each other, in groups, and in circles."""
    pool: list[BaseException] = draw(st.lists(single, min_size=1, max_size=6))
    for _ in range(draw(st.integers(0, 3))):
        members = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=3))
        pool.append(BaseExceptionGroup(draw(texts), members))
    for exc in pool:
        exc.__cause__ = draw(st.none() | st.sampled_from(pool))
        exc.__context__ = draw(st.none() | st.sampled_from(pool))
        exc.__suppress_context__ = draw(st.booleans())
    return draw(st.sampled_from(pool))


@given(chains())
def test_no_text_of_an_exception_leaves(exc: BaseException) -> None:
    error = classify(exc)
    for name in FORMATS:
        assert SECRET not in fw.render(error, name)
        assert SECRET not in fw.render(error, name, carry=True, guard=None)


def _made(name: str) -> type[Stateful]:
    module, _, qualname = name.rpartition(".")
    return type(qualname, (Stateful,), {"__module__": module, "__qualname__": qualname})


SHIPPED.packages()  # loads the rows
KINDS = {name: _made(name) for name in sorted(name for name in SHIPPED._rows if isinstance(name, str))}
SOME = st.lists(st.sampled_from(sorted(KINDS)), min_size=20, max_size=20, unique=True)
HELD = [*NAMES, "headers", "sqlite_errorname", "constraint_name", "cause"]


@given(SOME, st.dictionaries(st.sampled_from(HELD), odd, max_size=4), texts)
def test_rows_bear_classes_that_only_have_the_name(names: list[str], found: dict[str, Any], text: str) -> None:
    """Another version of a package may keep other things in the same places."""
    for name in names:
        error = classify(KINDS[name](text, **found))
        assert SECRET not in fw.render(error, "canonical", guard=None)
