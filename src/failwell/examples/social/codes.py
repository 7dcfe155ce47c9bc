"""What each part of the server can fail with, and the errors whose text is always the same."""

from __future__ import annotations

import sqlite3
from typing import Final

import failwell as fw

S = fw.catalogs.Social

# Wrong arguments, and a crash, for which the closed set has no better word.
ANY: Final = (S.validation_error, S.serialization_error)
DB: Final = (S.db_error,)
LLM: Final = (S.llm_error, S.llm_not_configured)
X: Final = (
    *(S.x_rate_limited, S.x_auth_expired, S.x_forbidden, S.x_account_restricted),
    *(S.x_network_error, S.x_not_configured, S.x_api_error, S.invalid_input),
)
POLICY: Final = (
    *(S.policy_error, S.policy_denied_blocked, S.policy_denied_rate_limited),
    *(S.policy_denied_hard_rule, S.policy_denied_user_rule),
)
MEDIA: Final = (S.unsupported_media_type, S.file_read_error, S.media_upload_error)


def x_not_configured() -> fw.ToolError:
    advice = "Ask the user to set SOCIAL_TOKEN."
    return S.x_not_configured("There is no token for X.", suggestion=advice, effect="none")


def llm_not_configured() -> fw.ToolError:
    advice = "Ask the user to set SOCIAL_LLM_KEY."
    return S.llm_not_configured("No language model is set up.", suggestion=advice, effect="none")


def validation_error(**problems: str) -> fw.ToolError:
    return S.validation_error("The arguments break a rule.", fields=list(problems.items()))


def db_error(exc: sqlite3.Error) -> fw.ToolError:
    """Nothing of the database's own text, which quotes statements and values; but whether it may have written."""
    return S.db_error(
        "The database did not do what it was asked.",
        suggestion="Wait a few seconds, then make the same call again.",
        effect=fw.wrap(exc).effect,
        cause=exc,
    )


TABLE: Final = fw.classify.Table(fw.classify.DEFAULT)
TABLE.maps(sqlite3.Error)(db_error)
