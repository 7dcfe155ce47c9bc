"""What a failed result had beside its text: it stays where a framework has a place for it.

The first text becomes the one that is told. What that replaces is kept for programs, under `ORIGINAL`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from failwell.formats import keys
from failwell.redact import MASK, all_forms, masked, without_values

from .bridge import failure

ORIGINAL: Final = keys.ORIGINAL
"""The key under which a bridge keeps the blocks of a server's result, where its text says something else."""

Block = Mapping[str, Any]


class Beside(NamedTuple):
    """What goes with a text that was told."""

    blocks: list[dict[str, Any]]
    """The other blocks, as the server sent them, with secrets masked."""
    original: list[dict[str, Any]] | None
    """All of them, where the server's own text says what the new one does not."""


def beside(text: str, blocks: Sequence[Block], secrets: tuple[str, ...] = (), *, in_doubt: bool = False) -> Beside:
    """What of these blocks, which are JSON, goes with the text that takes the place of the first text among them."""
    shown = [masked(unsaid(block, secrets)) for block in blocks]
    first = next((place for place, block in enumerate(shown) if block.get("type") == "text"), None)
    kept = [block for place, block in enumerate(shown) if place != first and not _is_told(text, block, in_doubt)]
    said = str(shown[first].get("text", "")).strip() if first is not None else ""
    return Beside(kept, shown if said not in text else None)


def unsaid(value: Any, secrets: tuple[str, ...]) -> Any:
    """A JSON value in which these texts are masked, in each form that programs write them in."""
    return _without(value, all_forms(secrets)) if secrets else value


def _without(value: Any, forms: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        return without_values(value, forms, MASK)
    if isinstance(value, dict):
        return {_without(name, forms): _without(below, forms) for name, below in value.items()}
    return [_without(below, forms) for below in value] if isinstance(value, list) else value


def _is_told(text: str, block: Block, in_doubt: bool) -> bool:
    """Whether a block only says the same failure again, for programs or in the same words."""
    if block.get("type") != "text":
        return False
    said = str(block.get("text", "")).strip()
    # Of a call that may have been done one step is told: another text of the server might have it made again.
    if said in text or in_doubt:
        return True
    found = failure({"content": [block], "isError": True})
    return found is not None and not getattr(found, "legacy", False)
