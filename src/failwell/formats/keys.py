"""Every name of ours that travels in a message, so that nobody has to look for them."""

from __future__ import annotations

from typing import Final

TOOL_ERROR: Final = "io.github.failwell/tool-error"
"""Where the canonical error travels in the `_meta` of a result, and the id of the extension that negotiates it."""
FORMAT: Final = "io.github.failwell/format"
"""Which format a client asked for, and got."""
RAISES: Final = "io.github.failwell/raises"
"""What a tool declares about its failures, in its `_meta`."""
IGNORED_ARGUMENTS: Final = "io.github.failwell/ignored-arguments"
"""Arguments that a tool does not have, and that were let pass."""
IDEMPOTENCY_KEY: Final = "io.github.failwell/idempotency-key"
"""By which a server knows that a call is one it has answered already."""
IDEMPOTENCY_INSTANCE: Final = "io.github.failwell/idempotency-instance"
"""Which store of keys a call counts on."""
IDEMPOTENCY_FIRST: Final = "io.github.failwell/idempotency-first"
"""That no call with this key can have been begun by anybody."""
REPLAYED: Final = "io.github.failwell/replayed"
"""That an answer is the one that was given before."""
ORIGINAL: Final = "io.github.failwell/original"
"""What a server sent, where a client shows something else."""
CALL: Final = "io.github.failwell/call"
"""By which everybody who sees a call knows it: the session, the call, and the number of the attempt."""
ORDER: Final = "io.github.failwell/order"
"""What a scripted server is told to do with a call."""
