"""Every name of ours that travels in a message, so that nobody has to look for them."""

from __future__ import annotations

from typing import Final

TOOL_ERROR: Final = "io.github.failwell/tool-error"
"""Where the canonical error travels in the `_meta` of a result, and the id of the extension that negotiates it."""
FORMAT: Final = "io.github.failwell/format"
"""Which format a client asked for, and got."""
RAISES: Final = "io.github.failwell/raises"
"""What a tool declares about its failures, in its `_meta`."""
UNDECLARED: Final = "io.github.failwell/undeclared"
"""A code that a tool sends and does not declare."""
IGNORED_ARGUMENTS: Final = "io.github.failwell/ignored-arguments"
"""Arguments that a tool does not have, and that were let pass."""
IDEMPOTENCY_KEY: Final = "io.github.failwell/idempotency-key"
"""By which a server knows that a call is one it has answered already."""
IDEMPOTENCY_INSTANCE: Final = "io.github.failwell/idempotency-instance"
"""Which store of keys a call counts on."""
REPLAYED: Final = "io.github.failwell/replayed"
"""That an answer is the one that was given before."""
ORIGINAL: Final = "io.github.failwell/original"
"""What a server sent, where a client shows something else."""
RESTARTED: Final = "io.github.failwell/restarted"
"""That the server was started anew before it gave this answer."""
ORDER: Final = "io.github.failwell/order"
"""What a scripted server is told to do with a call."""
