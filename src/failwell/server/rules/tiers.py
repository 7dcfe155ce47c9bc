"""Tiers, capability flags and environments, stated at the tool and checked before it runs (contract 004).

What is not known is not allowed: a flag needs something that has it, and an environment has to have a name.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from failwell.model import Action, ToolError, lines

from .tool_rule import Rule

_MISMATCH: Final = "Forbidden: environment mismatch"
_SLOT: Final = re.compile(r"\{(name|noun|tier|flag)\}")


@dataclass(frozen=True, slots=True)
class Target:
    """What a call is about: its name, the flags that are set on it, and where it belongs.

    `flags` are the names of those set, or a map from name to True or False.
    """

    name: str
    flags: Collection[str] | Mapping[str, bool] = field(default=frozenset(), kw_only=True)
    environment: str | None = field(default=None, kw_only=True)
    noun: str = field(default="device", kw_only=True)

    def __post_init__(self) -> None:
        # A text is one name, and only True is yes: "false" out of a file is not.
        flags = (
            [flag for flag, on in self.flags.items() if on is True] if isinstance(self.flags, Mapping) else self.flags
        )
        object.__setattr__(self, "flags", frozenset([flags] if isinstance(flags, str) else flags))

    def facts(self, **more: object) -> dict[str, object]:
        """The details of an error about it, under the names of the contract: `device_id`, `device_environment`."""
        prefix = self.noun.replace(" ", "_")
        return {f"{prefix}_{name}": value for name, value in {"id": self.name, **more}.items()}


class Safety:
    """What a service, its callers and its targets allow.

    environment: where the service runs. A target of another environment is refused.
    tiers: what the caller may use, or a function of the arguments that knows it; None for everything.
    target: a function of the arguments that finds what the call is about, as a dict: its `name`, the `flags` that are
    set on it (their names, or a map from name to True or False), its `environment`, and as `noun` what it is, if it is
    no device. None if the call is about nothing. If it raises, nothing runs.

    >>> devices = {"dev-lab-01": {"name": "dev-lab-01", "environment": "lab"}}
    >>> safety = Safety(environment="lab", target=lambda arguments: devices[arguments["device_id"]])
    >>> @safety.requires(tier="advanced", flag="allow_advanced_writes")
    ... def reboot(device_id: str) -> str:
    ...     return "done"
    >>> reboot("dev-lab-01")
    Traceback (most recent call last):
    ...
    failwell.model.tool_error.Denied: [PERMISSION] Device 'dev-lab-01' does not allow advanced tier operations
    """

    def __init__(
        self,
        *,
        environment: str | None = None,
        tiers: Collection[str] | Callable[[Mapping[str, Any]], Collection[str]] | None = None,
        target: Callable[[Mapping[str, Any]], Mapping[str, Any] | Target | None] | None = None,
    ) -> None:
        if callable(tiers):
            _check_function("tiers", tiers)
        else:
            _check_names("tiers", tiers)
        if target is not None:
            _check_function("target", target)
        self.environment = environment
        self.tiers = tiers
        self.target = target

    def requires(
        self,
        *,
        tier: str | None = None,
        flag: str | None = None,
        environments: Collection[str] = (),
        title: str | None = None,
        message: str | None = None,
        suggestion: str | None = None,
        next_steps: Iterable[str] = (),
        actions: Iterable[Action | Mapping[str, Any] | str] = (),
    ) -> Rule:
        """The rule for a tool of this tier, which needs this flag, in these environments. Others get `FORBIDDEN`.

        The words are for the most special requirement: the flag, else the tier, else the environments; two rules on a
        tool say both. They may hold `{name}`, `{noun}`, `{tier}` and `{flag}`. An empty suggestion leaves it out.
        """
        _check_names("environments", environments)
        if not (tier or flag or environments or (self.environment and self.target)):
            raise ValueError("This rule would forbid nothing; give it a tier, a flag or environments.")
        words = {
            "title": title,
            "message": message,
            "suggestion": suggestion,
            "next_steps": tuple(next_steps),
            "actions": tuple(actions),
        }
        return _Requirement(self, tier, flag, lines(environments), words)

    def allowed_tiers(self, arguments: Mapping[str, Any]) -> tuple[str, ...] | None:
        """The tiers that the caller may use; None for all."""
        return None if self.tiers is None else lines(self.tiers(arguments) if callable(self.tiers) else self.tiers)

    def find(self, arguments: Mapping[str, Any]) -> Target | None:
        """What the call is about."""
        found = None if self.target is None else self.target(arguments)
        if isinstance(found, Mapping):
            try:
                return Target(**found)
            except TypeError:
                names = ", ".join(each.name for each in fields(Target))
                raise TypeError(f"target has to return a dict with a name; it may have {names}.") from None
        if found is not None and not isinstance(found, Target):
            raise TypeError(f"target has to return a dict or None, not {type(found).__name__}.")
        return found


class _Requirement(Rule):
    codes = ("FORBIDDEN",)

    def __init__(
        self,
        safety: Safety,
        tier: str | None,
        flag: str | None,
        environments: tuple[str, ...],
        words: Mapping[str, Any],
    ) -> None:
        self.safety = safety
        self.tier = tier
        self.flag = flag
        self.environments = environments
        self._words = words
        self._about = "flag" if flag else "tier" if tier else "environment"

    def admit(self, arguments: Mapping[str, Any]) -> None:
        self._check_tier(arguments)
        target = self.safety.find(arguments)
        self._check_environment(target)
        self._check_flag(target)

    def _check_tier(self, arguments: Mapping[str, Any]) -> None:
        allowed = self.safety.allowed_tiers(arguments) if self.tier else None
        if allowed is None or self.tier in allowed:
            return
        names = ", ".join(allowed)
        raise self._refused(
            "tier",
            message=f"The caller may not use the {self.tier} tier; allowed: {names or 'none'}",
            suggestion=f"Use a tool of an allowed tier ({names}), or ask an administrator for access."
            if names
            else "Ask an administrator for access.",
            tier=self.tier,
            details={"allowed_tiers": list(allowed)},
        )

    def _check_environment(self, target: Target | None) -> None:
        ours = self.safety.environment
        theirs = target.environment if target else None
        if target and ours and theirs and ours != theirs:
            raise self._refused(
                "environment",
                target,
                title=_MISMATCH,
                message=f"{_upper(target.noun)} environment '{theirs}' does not match service environment '{ours}'",
                details={**target.facts(environment=theirs), "service_environment": ours},
            )
        if self.environments and (ours or theirs) not in self.environments:
            where = f"this is '{ours or theirs}'" if ours or theirs else "it is not known which one this is"
            raise self._refused(
                "environment",
                target,
                title=_MISMATCH,
                message=f"Allowed only in the environments {', '.join(self.environments)}; {where}",
                details={
                    **(target.facts() if target else {}),
                    **({"service_environment": ours} if ours else {}),
                    "allowed_environments": list(self.environments),
                },
            )

    def _check_flag(self, target: Target | None) -> None:
        if not self.flag:
            return
        if target is None:
            raise ToolError(
                f"Flag '{self.flag}' is required, and nothing is known that has it",
                code="FORBIDDEN",
                tier=self.tier,
                details={"required_flag": self.flag},
            )
        if self.flag in target.flags:
            return
        kind = f"{self.tier} operations" if self.tier else "this"
        raise self._refused(
            "flag",
            target,
            message=f"{_upper(target.noun)} '{target.name}' does not allow {self.tier} tier operations"
            if self.tier
            else f"{_upper(target.noun)} '{target.name}' does not have the flag '{self.flag}'",
            suggestion=f"Enable {kind} by setting {target.noun} flag '{self.flag}=true', "
            f"or use a different {target.noun}.",
            tier=self.tier,
            details={**target.facts(), "required_flag": self.flag},
        )

    def _refused(self, about: str, target: Target | None = None, **said: Any) -> ToolError:
        if about == self._about:
            values = {
                "name": target.name if target else "",
                "noun": target.noun if target else "",
                "tier": self.tier or "",
                "flag": self.flag or "",
            }
            said |= {name: _filled(words, values) for name, words in self._words.items() if words is not None}
        return ToolError(said.pop("message"), code="FORBIDDEN", **said)


def _filled(words: Any, values: Mapping[str, str]) -> Any:
    """The text with its slots filled. Not `str.format`, which stumbles over any other brace."""
    if isinstance(words, tuple):
        return tuple(_filled(each, values) for each in words)
    return _SLOT.sub(lambda slot: values[slot[1]], words) if isinstance(words, str) else words


def _check_names(name: str, value: object) -> None:
    if isinstance(value, str):
        raise ValueError(f"{name} is a collection of names, such as {{{value!r}}}, not one text.")
    if value is not None and not isinstance(value, Collection):
        raise TypeError(f"{name} is a collection of names, not {type(value).__name__}.")


def _check_function(name: str, value: object) -> None:
    if not callable(value) or inspect.iscoroutinefunction(value):
        what = "an async one" if callable(value) else type(value).__name__
        raise TypeError(f"{name} is a plain function of the arguments, not {what}.")


def _upper(noun: str) -> str:
    return noun[:1].upper() + noun[1:]
