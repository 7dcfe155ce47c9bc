"""The dashboard on a socket."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Sequence
from ipaddress import ip_address

from failwell.packages import needed

try:
    import uvicorn
except ImportError as problem:
    raise needed("failwell dashboard", "dashboard", problem) from None

from .app import application


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def serve(
    url: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8791,
    token: str | None = None,
    names: Sequence[str] = (),
    store: str = "",
    say: Callable[[str], None] = print,
) -> None:
    """Serve the dashboard of a store until somebody ends it. It raises `OSError` where the port is taken.

    names: further hosts by which it is asked for, as a proxy passes them on. Where others than this machine reach it, a
    token is asked for: the one that is given, or one that is made and said.
    """
    bound = _bound(host, port)
    port = bound.getsockname()[1]
    if not is_loopback(host) and token is None:
        token = secrets.token_urlsafe(24)
        say(f"token: {token}")
    known = {"localhost", "127.0.0.1", "[::1]"} if is_loopback(host) else {host}
    if host in ("0.0.0.0", "::"):
        known |= {"localhost", "127.0.0.1", socket.gethostname().lower()}
    hosts = frozenset({f"{name}:{port}" for name in known} | {name.lower() for name in names})
    if port == 80:
        hosts |= known
    shown = f"[{host}]" if ":" in host else "127.0.0.1" if host == "0.0.0.0" else host
    say(f"http://{shown}:{port}/")
    config = uvicorn.Config(
        application(url, hosts=hosts, token=token, store=store),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    try:
        uvicorn.Server(config).run(sockets=[bound])
    finally:
        bound.close()


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host.strip("[]"), port))
        # Who opens the address as soon as it is said waits, and is not refused.
        bound.listen()
    except BaseException:
        bound.close()
        raise
    return bound
