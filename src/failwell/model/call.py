"""What a call is: a tool and its arguments. Two calls are the same call if both are the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any


def fingerprint(tool: str, arguments: Mapping[str, Any]) -> str:
    """The same text for the same call, whatever the order of its arguments, and another one for any other call.

    It holds nothing that was sent, so it can be kept.

    >>> fingerprint("pay", {"id": 7, "amount": 5}) == fingerprint("pay", {"amount": 5, "id": 7})
    True
    """
    try:
        written = json.dumps([tool, arguments], sort_keys=True, default=repr, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        written = f"{tool} {arguments!r}"
    return blake2b(written.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()
