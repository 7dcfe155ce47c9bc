"""A desk whose answers come from somebody else's HTTP server, for what no argument reaches."""

from __future__ import annotations

import http.client
import json
import os
import urllib.error
import urllib.request
from typing import Any, ClassVar, Final, NamedTuple

from desk import LIST, ORDER, PRICE, Desk, Json, Tool, failed, said

UPSTREAM: Final = "BOOKS_URL"
"""The variable that says where the shop is; else a name that only a proxy can resolve."""
_NOWHERE: Final = "http://books.invalid"
_PATIENCE: Final = 1.0


class Told(NamedTuple):
    """What the shop said: a status, or 0 where none came."""

    status: int
    body: str = ""
    wait: str = ""


class Shop(Desk):
    tools: ClassVar[tuple[Tool, ...]] = (LIST, PRICE, ORDER)

    def work(self, tool: Tool, **arguments: Any) -> Json:
        if tool is LIST:
            return super().work(tool)
        told = self.ask(tool, arguments)
        try:
            return (
                said(f"{json.loads(told.body)['price']} in the shop")
                if told.status == 200
                else self.failure(tool, told)
            )
        except (ValueError, LookupError, TypeError):
            return self.failure(tool, told)

    def ask(self, tool: Tool, arguments: Json) -> Told:
        data = None if tool.reads else json.dumps(arguments).encode()
        base = os.environ.get(UPSTREAM, _NOWHERE).rstrip("/")
        request = urllib.request.Request(f"{base}/v1/books/{arguments['book_id']}", data)
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE) as response:
                return Told(response.status, response.read(100_000).decode("utf-8", "replace"))
        except urllib.error.HTTPError as exc:
            with exc:
                return Told(exc.code, exc.read(100_000).decode("utf-8", "replace"), exc.headers.get("Retry-After", ""))
        except (OSError, http.client.HTTPException):
            return Told(0)

    def failure(self, tool: Tool, told: Told) -> Json:
        return failed(f"{self.reason(tool, told)} {self.effect(tool, told)} {self.advice(tool, told)}")

    def reason(self, tool: Tool, told: Told) -> str:
        if told.status == 200:
            return f"{tool.name} failed: the shop answered with something that is no price."
        return f"{tool.name} failed: the shop " + (f"answered {told.status}." if told.status else "did not answer.")

    def doubtful(self, told: Told) -> bool:
        """Whether the shop may have done what it was asked."""
        return told.status in (0, 200) or told.status >= 500

    def effect(self, tool: Tool, told: Told) -> str:
        if not tool.reads and self.doubtful(told):
            return "It is not known whether the order was made: it may have been."
        return "Nothing was done."

    def advice(self, tool: Tool, told: Told) -> str:
        if not tool.reads and self.doubtful(told):
            return "Do not repeat the call. Ask the user to look into the shop's list of orders."
        if told.status in (429, 503):
            return self.pause(told)
        if told.status == 500 or not told.status:
            return "That may pass: call again in a minute, and tell the user if it fails once more."
        if told.status in (401, 403):
            return (
                "The same call would fail again: tell the user that this server's access to the shop must be renewed."
            )
        if told.status == 404:
            return "The same call would fail again: call list_books to see which books there are."
        return "The same call would fail again: tell the user what the shop answered."

    def pause(self, told: Told) -> str:
        return f"Wait {told.wait or 60} seconds, then make the same call again."


class NoPause(Shop):
    """Knows how long to wait, and keeps it to itself."""

    def pause(self, told: Told) -> str:
        return "It has too much to do. Make the same call again later."


class Hopeless(Shop):
    """Says of a failure that passes what one says of those that stay."""

    def advice(self, tool: Tool, told: Told) -> str:
        if tool.reads and (told.status in (0, 429) or told.status >= 500):
            return "The same call would fail again: tell the user what the shop answered."
        return super().advice(tool, told)


class NoEffect(Shop):
    """Says of an order that it failed, and not whether it was made."""

    def effect(self, tool: Tool, told: Told) -> str:
        return "" if not tool.reads else super().effect(tool, told)

    def advice(self, tool: Tool, told: Told) -> str:
        return "The shop has a problem." if not tool.reads and self.doubtful(told) else super().advice(tool, told)


class TryAgain(Shop):
    """Asks for the same call again, though the shop would refuse it for ever."""

    def advice(self, tool: Tool, told: Told) -> str:
        if 400 <= told.status < 500 and told.status != 429:
            return "This is temporary: make the same call again in a moment."
        return super().advice(tool, told)


class PastedBody(Shop):
    """Hands on whatever the shop sent, page and all."""

    def reason(self, tool: Tool, told: Told) -> str:
        return super().reason(tool, told) + f" {told.body}"


class OrderAgain(Shop):
    """Tells the caller to repeat an order that may have been made."""

    def effect(self, tool: Tool, told: Told) -> str:
        return "" if not tool.reads and self.doubtful(told) else super().effect(tool, told)

    def advice(self, tool: Tool, told: Told) -> str:
        if not tool.reads and self.doubtful(told):
            return "Make the same call again."
        return super().advice(tool, told)


class PageAsPrice(Shop):
    """Takes a login page for the answer."""

    def work(self, tool: Tool, **arguments: Any) -> Json:
        if tool is PRICE:
            told = self.ask(tool, arguments)
            return said(told.body) if told.status == 200 else self.failure(tool, told)
        return super().work(tool, **arguments)
