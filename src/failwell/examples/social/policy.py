"""What may be posted, by whom it is decided, and how soon again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel

import failwell as fw
from failwell.server import Rule

from .codes import S
from .store import Store

HOUR: Final = 3600
HARD_RULES: Final = {
    "at most 5 mentions in a post": re.compile(r"(?:@\w.*){6}", re.DOTALL),
    "no card numbers": re.compile(r"\b(?:\d[ -]?){15}\d\b"),
}


class Policy(BaseModel, extra="forbid"):
    """The policy file, which the user may change while the server runs."""

    mode: Literal["autopilot", "composer"] = "autopilot"
    approval: bool = False
    blocked_words: list[str] = ["get rich quick"]
    posts_per_hour: int = 20
    user_rules: dict[str, re.Pattern[str]] = {}

    @classmethod
    def read(cls, path: str | None) -> Policy:
        try:
            return cls.model_validate_json(Path(path).read_bytes()) if path else cls()
        except (OSError, ValueError) as exc:
            text = "The policy cannot be read, so nothing is posted."
            raise S.policy_error(text, suggestion="Ask the user to mend the policy file.", effect="none") from exc

    def asks(self) -> bool:
        """Whether somebody looks at a post first; in the composer mode always."""
        return self.mode == "composer" or self.approval

    def check(self, texts: Sequence[str], store: Store) -> None:
        blocked = {word: re.compile(re.escape(word), re.IGNORECASE) for word in self.blocked_words}
        for code, words, rules in (
            (S.policy_denied_blocked, "The policy blocks posts that say", blocked),
            (S.policy_denied_hard_rule, "It breaks a rule that always holds", HARD_RULES),
            (S.policy_denied_user_rule, "It breaks a rule that the user made", self.user_rules),
        ):
            for name, pattern in rules.items():
                if any(pattern.search(text) for text in texts):
                    raise code(f"{words}: {name}.", policy_decision="denied")
        times = [at for at in store.posts().values() if at > store.clock() - HOUR]
        over = len(times) + len(texts) - self.posts_per_hour
        if over > 0:
            # Free as soon as enough of them are an hour old; never, where the call alone is too much.
            reset = times[over - 1] + HOUR if over <= len(times) else None
            text = f"The policy allows {self.posts_per_hour} posts an hour, and {len(times)} are out."
            raise S.policy_denied_rate_limited(text, policy_decision="denied", reset_at=reset)


class Once(Rule):
    """The same mutation again inside 30 seconds is refused, unless the first one said that it left the rest to do."""

    SECONDS: Final = 30
    codes = ("validation_error",)

    def __init__(self, tool: str, store: Store) -> None:
        self._tool, self._store = tool, store

    @contextmanager
    def held_sync(self, arguments: Mapping[str, Any]) -> Iterator[None]:
        key = json.dumps([self._tool, dict(arguments)], sort_keys=True)
        if wait := ceil(self._store.claim(key, self.SECONDS)):
            text = f"{self._tool} was called with the same arguments less than {self.SECONDS} seconds ago."
            advice = f"If it is meant twice, wait {wait} seconds, then make the same call again."
            raise S.validation_error(text, suggestion=advice, retry_after=wait)
        try:
            yield
        except Exception as exc:
            if fw.classify.operation(exc).effect in ("none", "partial"):
                self._store.forget(key)
            raise
