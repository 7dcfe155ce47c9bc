"""Where a server is, how it is reached, and whether it is one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.cookiejar import DefaultCookiePolicy
from typing import Final
from urllib.parse import urlsplit

import httpx2

from failwell.model import Effect, ToolError
from failwell.relay.given_secrets import told_address

_LARGEST_REFUSAL: Final = 65_536
_MOST_REDIRECTS: Final = 5
_MOST_COOKIES: Final = 50
_MOST_UNUSED: Final = 200
# Shorter than servers keep idle connections, so that none is used which is about to be closed.
_EXPIRY: Final = 3.0


@dataclass(frozen=True, slots=True)
class RemoteServer:
    """Where a server is, and the headers that it is sent."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As it can be told."""
        return told_address(self.url)

    @property
    def place(self) -> str:
        """By what it is known from others: with what is secret in its path, which may be all that tells two apart."""
        parts = urlsplit(self.url)
        port = f":{parts.port}" if parts.port is not None else ""
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return f"{parts.scheme}://{host}{port}{parts.path}"


def http_client() -> httpx2.AsyncClient:
    """The connections of a relay. How long an answer may take is for the protocol to say."""
    timeout = httpx2.Timeout(None, connect=10.0)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=_MOST_UNUSED, keepalive_expiry=_EXPIRY)
    client = httpx2.AsyncClient(timeout=timeout, limits=limits, follow_redirects=False)
    # All clients in front share the connections, and none of them what a server says to another.
    client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    return client


async def sent(
    client: httpx2.AsyncClient,
    url: str | httpx2.URL,
    method: str,
    headers: Mapping[str, str],
    content: bytes | None = None,
    cookies: httpx2.Cookies | None = None,
    *,
    follow: bool = True,
) -> httpx2.Response:
    """Send a request; redirects are followed, if at all, within the origin, and where they keep what was sent."""
    body = None if content is None else content.rstrip(b"\r\n")
    request = client.build_request(method, url, headers=dict(headers), content=body)
    for _ in range(_MOST_REDIRECTS):
        if cookies:
            cookies.set_cookie_header(request)
        response = await client.send(request, stream=True, follow_redirects=False)
        if cookies is not None and "set-cookie" in response.headers and len(cookies) < _MOST_COOKIES:
            cookies.extract_cookies(response)
        following = response.next_request
        if following is None or not follow or not _is_same_place(request, following):
            break
        await response.aread()
        request = following
    return response


def _is_same_place(sent: httpx2.Request, following: httpx2.Request) -> bool:
    """Whether a redirect keeps what was sent, and leads to where it was sent to or to the same place with TLS."""
    here, there = sent.url, following.url
    if following.method != sent.method or (there.userinfo and there.userinfo != here.userinfo):
        return False
    if (here.scheme, here.host, here.port) == (there.scheme, there.host, there.port):
        return True
    is_upgrade = (here.scheme, there.scheme, here.port, there.port) == ("http", "https", None, None)
    return is_upgrade and here.host == there.host


async def start_of(response: httpx2.Response) -> bytes:
    """What a refusal says, as far as anybody reads it; nothing if it breaks off, since its status is known."""
    length = response.headers.get("content-length", "")
    most = min(int(length), _LARGEST_REFUSAL) if length.isdigit() and len(length) < 10 else _LARGEST_REFUSAL
    body = b""
    if most:
        with suppress(httpx2.RequestError):
            async for part in response.aiter_bytes():
                body += part
                # Not to its end, so that the connection is not used again: who refuses a request without having read it
                # may close it, and a write that is sent into that is one of which nobody knows whether it was done.
                if len(body) >= most:
                    break
    return body[:_LARGEST_REFUSAL]


def redirected(response: httpx2.Response, name: str) -> ToolError:
    following = response.next_request
    where = RemoteServer(str(following.url)).name if following is not None else "elsewhere"
    message = f"{name} leads to {where}, where nothing is sent to. If that is the server, give that address."
    # Whoever is told where to look for the answer may have had it done, and so may a gateway in between.
    return ToolError(message, code="NOT_CONFIGURED", origin="local", delivery="answered", effect=Effect.UNKNOWN)
