"""`failwell.read` under the name it had here, with what else the clients ask about an outcome."""

from __future__ import annotations

from failwell.classify.answer import BAD_ANSWER, Http, is_envelope, is_failing, read, text_of

__all__ = ["BAD_ANSWER", "Http", "is_envelope", "is_failing", "read", "text_of"]
