"""What may be posted, by whom it is decided, and how soon again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

import failwell as fw
from failwell.server import Rule

from .codes import S
from .store import Store

HOUR: Final = 3600
HARD_RULES: Final = {
    "at most 5 mentions in a post": re.compile(r"(?:@\w.*){6}", re.DOTALL),
    "no card numbers": re.compile(r"\b(?:\d[ -]?){15}\d\b"),
}


class Settings(BaseModel):
    """The policy file, which the user may change while the server runs."""

    model_config = ConfigDict(extra="forbid")

    mode: Literal["autopilot", "composer"] = "autopilot"
    approval: bool = False
    blocked_words: list[str] = ["get rich quick"]
    posts_per_hour: int = 20
    user_rules: dict[str, re.Pattern[str]] = {}


class Policy:
    def __init__(self, path: str | None, mode: str, approval: bool, store: Store) -> None:
        self._path, self._store = path, store
        self._default = Settings.model_validate({"mode": mode, "approval": approval})

    def settings(self) -> Settings:
        if self._path is None:
            return self._default
        try:
            said = Settings.model_validate_json(Path(self._path).read_bytes())
        except (OSError, ValueError) as exc:
            raise S.policy_error(
                "The policy cannot be read, so nothing is posted.",
                suggestion="Ask the user to mend the policy file.",
                effect="none",
                cause=exc,
            ) from None
        return self._default.model_copy(update=said.model_dump(exclude_unset=True))

    def mode(self) -> str:
        return self.settings().mode

    def approval(self) -> bool:
        """In the composer mode somebody always looks first."""
        settings = self.settings()
        return settings.mode == "composer" or settings.approval

    def check(self, texts: Sequence[str]) -> None:
        settings, whole = self.settings(), "\n".join(texts)
        for word in settings.blocked_words:
            if word.casefold() in whole.casefold():
                raise _denied(S.policy_denied_blocked, f"The policy blocks posts that say {word!r}.")
        for name, pattern in HARD_RULES.items():
            if any(pattern.search(text) for text in texts):
                raise _denied(S.policy_denied_hard_rule, f"It breaks a rule that always holds: {name}.")
        for name, pattern in settings.user_rules.items():
            if pattern.search(whole):
                raise _denied(S.policy_denied_user_rule, f"It breaks a rule that the user made: {name}.")
        times = self._store.times_since(self._store.clock() - HOUR)
        over = len(times) + len(texts) - settings.posts_per_hour
        if over > 0:
            # Free as soon as enough of them are an hour old; never, where the call alone is too much.
            reset = times[over - 1] + HOUR if over <= len(times) else None
            words = f"The policy allows {settings.posts_per_hour} posts an hour, and {len(times)} are out."
            raise _denied(S.policy_denied_rate_limited, words, reset_at=reset)


def _denied(code: fw.Code, message: str, **more: Any) -> fw.ToolError:
    return code(message, policy_decision="denied", **more)


class Once(Rule):
    """The same mutation again inside 30 seconds is refused, unless the first one said that it left the rest to do."""

    SECONDS: Final = 30
    codes = ("validation_error",)

    def __init__(self, tool: str, store: Store) -> None:
        self._tool, self._store = tool, store

    @contextmanager
    def held_sync(self, arguments: Mapping[str, Any]) -> Iterator[None]:
        key = json.dumps([self._tool, dict(arguments)], sort_keys=True)
        if wait := self._store.claim(key, self.SECONDS):
            raise S.validation_error(
                f"{self._tool} was called with the same arguments less than {self.SECONDS} seconds ago.",
                suggestion=f"If it is meant twice, wait {ceil(wait)} seconds, then make the same call again.",
                retry_after=ceil(wait),
            )
        try:
            yield
        except fw.ToolError as error:
            if error.effect in (fw.Effect.NONE, fw.Effect.PARTIAL):
                self._store.forget(key)
            raise
