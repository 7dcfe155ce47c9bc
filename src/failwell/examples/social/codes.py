"""What each part of the server can fail with, and the errors whose text is always the same."""

from __future__ import annotations

import sqlite3
from typing import Final

import failwell as fw

S = fw.catalogs.Social
SOON: Final = 5
LIMIT: Final = 280


def _of(category: str) -> tuple[fw.Code, ...]:
    return tuple(code for code in S if code.category == category)


POLICY: Final = _of("Policy")
MEDIA: Final = _of("Media")
# What a tool can fail with because of what it needs.
NEEDS: Final = {
    "x_client": (*_of("X API"), S.invalid_input, S.not_found),
    "db": _of("Database"),
    "llm": _of("LLM"),
}


def x_not_configured() -> fw.ToolError:
    advice = "Ask the user to set SOCIAL_TOKEN."
    return S.x_not_configured("There is no token for X.", suggestion=advice, effect="none")


def llm_not_configured() -> fw.ToolError:
    advice = "Ask the user to set SOCIAL_LLM_KEY."
    return S.llm_not_configured("No language model is set up.", suggestion=advice, effect="none")


def validation_error(**problems: str) -> fw.ToolError:
    return S.validation_error("The arguments break a rule.", fields=list(problems.items()))


def checked(texts: list[str]) -> list[str]:
    """The texts, if the network takes them."""
    for place, text in enumerate(texts, 1):
        if not text.strip():
            raise validation_error(texts=f"Post {place} must not be empty.")
        if (length := len(text)) > LIMIT:
            text = f"Post {place} has {length} characters, and {LIMIT} are allowed."
            raise S.tweet_too_long(text, suggestion=f"Shorten it by {length - LIMIT}, then call again.")
    return texts


def db_error(exc: sqlite3.Error) -> fw.ToolError:
    """Nothing of the database's own text, which quotes statements and values; but whether it may have written."""
    effect = fw.classify.operation(exc).effect
    return S.db_error("The database did not do what it was asked.", retry_after=SOON, effect=effect, cause=exc)


# Tools let the exceptions of the database pass; the server reads them by this row.
TABLE: Final = fw.classify.table()
TABLE.maps(sqlite3.Error)(db_error)
