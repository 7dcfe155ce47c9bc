"""Failures that pass as the server put them, without what must not leave: answers to what is no call, or was given up,
and word of work in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import answers
from .messages import Message, holds_more, read_frame, written
from .request import RelayedRequest

if TYPE_CHECKING:
    from .relay_protocol import RelayProtocol


def passed(
    relay: RelayProtocol, request: RelayedRequest | None, frame: bytes, message: Message
) -> tuple[bytes, Message | None]:
    """Such a failure as it leaves, and its JSON: as the bytes that came where there is nothing to hide in it, and empty
    where it can neither be read nor be answered."""
    try:
        made = _passed(relay, request, frame, message)
    except Exception as problem:
        # Whatever a server sends, all else goes on.
        relay.note(f"an answer could not be read: {type(problem).__name__}", once="unread")
        made = b"" if "method" in message else unread(message)
    return (frame, message) if made is frame else (made, read_frame(made))


def _passed(relay: RelayProtocol, request: RelayedRequest | None, frame: bytes, message: Message) -> bytes:
    if len(frame) > answers.LARGE:
        message = answers.trimmed(message)
    frame, message = without_secrets(relay, request, frame, message)
    return answers.passed(frame, message)


def without_secrets(
    relay: RelayProtocol, request: RelayedRequest | None, frame: bytes, message: Message
) -> tuple[bytes, Message]:
    """A failure without what the server was given as a secret, by us or by the caller, and without what nobody has read
    of it: the very same one where there is nothing of that in it."""
    run = request.run if request is not None else None
    told = relay.secrets.hidden(message, run.secrets_in(relay.listing.tools) if run is not None else ())
    if told is message and not holds_more(frame, message):
        return frame, message
    told = {**told, **answers.identity(message)}
    return written(told), told


def unread(message: Message) -> bytes:
    """The answer in place of one that failed, and that nobody here can read."""
    return answers.error_answer(message.get("id"), "The server says that this failed, in words that cannot be read.")
