"""Lines of a server that are no single message: noise, messages that share a line, arrays, and what cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from .actions import Action
from .glued_lines import LinePart, is_log, parts_of
from .messages import Message, is_message, key_of, outline, read_frame, unread_batch, written
from .request import RelayedRequest
from .said_failures import says_failed
from .traffic import Batch, Traffic

if TYPE_CHECKING:
    from .calls import Calls

# How long a server that writes lines about its answers takes for the answer itself.
_GLUED: Final = 1.0


class OddLines:
    """What is made of them. A message that is found in one goes its way as if it had come alone."""

    def __init__(
        self,
        traffic: Traffic,
        calls: Callable[[], Calls],
        message: Callable[[bytes], list[Action]],
        answered: Callable[[RelayedRequest, bytes, Message | None], None],
    ) -> None:
        self._traffic, self._calls, self._message, self._request_answered = traffic, calls, message, answered
        self._glued: dict[bytes, bytes] = {}
        """Answers that stood behind something else in their lines, by their ids."""

    def heard(self, frame: bytes, message: Any) -> list[Action]:
        """Such a line came; `message` is its JSON, if it is any."""
        if message is None and (parts := parts_of(frame)):
            return self._line(parts)
        if message is None and (message := outline(frame)) is not None:
            return self._outlined(frame, message)
        return self._noise(frame, message)

    def answered(self, key: bytes) -> None:
        """A request has its answer: what stood behind something else is none."""
        self._glued.pop(key, None)

    def server_died(self) -> None:
        """No better answers will come than those that stood behind something else."""
        for key, frame in list(self._glued.items()):
            self._unglue(key, frame)

    def _outlined(self, frame: bytes, message: Message) -> list[Action]:
        """A message that cannot be read, but for its ends."""
        request = self._traffic.pending.pop(key_of(message.get("id")), None) if "method" not in message else None
        if "method" not in message and request is None:
            return self._noise(frame, None)
        if request is not None and request.run is not None and not request.cancelled and "error" in message:
            self._calls().unreadable(request)
        elif request is None:
            self._traffic.tell(frame)
        elif request.run is not None and not request.cancelled:
            self._calls().passed(request, frame)
        elif "error" in message:
            from .passing import unread

            self._request_answered(request, unread(message), None)
        else:
            self._request_answered(request, frame, None)
        return self._traffic.taken()

    def _line(self, parts: list[LinePart]) -> list[Action]:
        """Messages that share their line with each other, or with something else."""
        done: list[Action] = []
        for part in parts:
            if part.frame and part.noise and is_log(part.noise):
                # What is written down from here on is no answer: the answer has a line of its own.
                self._name_noise(part.noise)
                return [*done, *self._traffic.taken()]
            done += self._part(part)
        return done

    def _part(self, part: LinePart) -> list[Action]:
        """A message that shares its line with something else."""
        noise, frame = part
        if noise:
            self._name_noise(noise)
        if not frame:
            return self._traffic.taken()
        if not noise or noise.endswith(b"\r"):
            # A line end is missing; or it stands behind a line that was to be written over, and was.
            return self._message(frame)
        return self._heard_behind_noise(frame, read_frame(frame) or outline(frame) or {})

    def _name_noise(self, noise: bytes) -> None:
        if self._traffic.was_said("glued"):
            return
        from . import failures

        said = self._traffic.said_aside(noise.replace(b"\r", b"\n").decode("utf-8", "replace"))
        words = failures.last_words(said[-500:])
        line = f"{self._traffic.command} writes to stdout what is no message, in the line of one: {words}"
        self._traffic.once("glued", line, loud=True)

    def _heard_behind_noise(self, frame: bytes, message: Message) -> list[Action]:
        """A message that stands behind something else in its line: told from what a server writes down of others'."""
        key = key_of(message.get("id"))
        if "method" not in message and (key in self._traffic.pending or key in self._traffic.own):
            # It may be a line about an answer, and the answer itself is still to come.
            self._glued[key] = frame
            patience = min(_GLUED, (self._traffic.options.timeout or 2 * _GLUED) / 2)
            self._traffic.after(patience, lambda: self._unglue(key, frame))
        return self._traffic.taken()

    def _unglue(self, key: bytes, frame: bytes) -> None:
        """No better answer has come than one that stood behind something else in its line."""
        if self._glued.get(key) is frame:
            self._traffic.out = self._message(self._glued.pop(key))

    def _members(self, frame: bytes, members: list[Any]) -> list[Action]:
        """An array with a failure in it: each of its messages goes its own way, as if it had come alone."""
        pending, parts = self._traffic.pending, unread_batch(frame)
        if len(parts) != len(members):
            # In another encoding.
            parts = [written(each) if type(each) is dict else b"" for each in members]
        keys = {key_of(each["id"]) for each in members if type(each) is dict and "id" in each}
        asked = [key for key in keys if key in pending and pending[key].is_batched]
        # What was asked in one message is answered in one.
        self._traffic.batches.update(dict.fromkeys(asked, Batch(len(asked))))
        return [
            action
            for part, each in zip(parts, members, strict=True)
            if type(each) is dict
            for action in self._message(part)
        ]

    def _noise(self, frame: bytes, message: Any) -> list[Action]:
        if isinstance(message, list) and any(type(each) is dict and says_failed(each) for each in message):
            return self._members(frame, message)
        if isinstance(message, list) and message and all(map(is_message, message)):
            for each in message:
                if "id" in each:
                    self._traffic.pending.pop(key_of(each["id"]), None)
            self._traffic.tell(frame)
        elif type(message) is dict and (request := self._traffic.pending.get(key_of(message.get("id")))) is not None:
            # An answer that says neither how it went nor what failed.
            del self._traffic.pending[request.key]
            if request.run is not None and not request.cancelled:
                self._calls().unreadable(request)
            else:
                self._request_answered(request, frame, message)
        elif frame.strip() and not self._traffic.was_said("noise"):
            from . import failures

            words = failures.last_words(self._traffic.said_aside(frame.decode("utf-8", "replace"))[:500])
            self._traffic.once(
                "noise", f"{self._traffic.command} writes to stdout what is no message: {words}", loud=True
            )
        return self._traffic.taken()
