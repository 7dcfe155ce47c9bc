"""The web page: it is read, and changes nothing."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from threading import Lock
from typing import Any, Final
from urllib.parse import parse_qs

from failwell.packages import needed

try:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import (
        HTMLResponse,
        JSONResponse,
        PlainTextResponse,
        RedirectResponse,
        Response,
        StreamingResponse,
    )
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
except ImportError as problem:
    raise needed("failwell dashboard", "dashboard", problem) from None

from failwell.observe import BadStore, Reading

from . import markup
from .digest import lost
from .figures import BadTime
from .pages import PAGES, Page, session
from .query import Query

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
_COOKIE: Final = "failwell"
_OPEN: Final = ("/login", "/assets/page.css")
_ASKING: Final = ("GET", "HEAD")
_LOOK: Final = 0.5
_BEAT: Final = 15.0
_FORMS: Final = ("csv", "json")
_LONGEST_FORM: Final = 4_096


class Library:
    """The store, read by one question at a time, and opened again where it was lost."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._reading: Reading | None = None
        self._lock = Lock()

    def ask(self, question: Callable[[Reading], Any]) -> Any:
        """What a question gives. It raises `BadStore`."""
        with self._lock:
            try:
                self._reading = self._reading or Reading.of(self._url)
                return question(self._reading)
            except BadStore:
                self.close()
                raise

    def close(self) -> None:
        if self._reading is not None:
            self._reading.close()
            self._reading = None


class Admission:
    """Who is let in: those who name the right host, ask and do not tell, and know the token where there is one."""

    def __init__(self, app: ASGIApp, *, hosts: frozenset[str], token: str | None) -> None:
        self._app, self._hosts, self._token = app, hosts, token
        self._cookie = None if token is None else ticket(token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        refusal = self._refusal(request)
        if refusal is not None:
            await refusal(scope, receive, _with_headers(send))
            return
        await self._app(scope, receive, _with_headers(send))

    def _refusal(self, request: Request) -> Response | None:
        # A page of somebody else whose name now leads here has that name as its host.
        if request.headers.get("host", "").lower() not in self._hosts:
            text = "This name is not one of this page's; open it by the address that the command printed."
            return PlainTextResponse(text, 421)
        path = request.url.path
        if request.method not in _ASKING and (request.method, path) != ("POST", "/login"):
            return PlainTextResponse("There is nothing here to change.", 405, {"allow": ", ".join(_ASKING)})
        if self._token is None or path in _OPEN or self._is_known(request):
            return None
        if "text/html" in request.headers.get("accept", ""):
            return RedirectResponse("/login", 303)
        return PlainTextResponse("Send the token as Authorization: Bearer.", 401, {"www-authenticate": "Bearer"})

    def _is_known(self, request: Request) -> bool:
        assert self._token is not None
        assert self._cookie is not None
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _same(given.strip(), self._token):
            return True
        return _same(request.cookies.get(_COOKIE, ""), self._cookie)


def ticket(token: str) -> str:
    """What a browser keeps instead of the token."""
    return hmac.new(token.encode(), b"failwell dashboard", sha256).hexdigest()


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            known = {name for name, _ in message.get("headers", ())}
            more = [(name.encode(), value.encode()) for name, value in _HEADERS.items() if name.encode() not in known]
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return sent


def application(url: str, *, hosts: frozenset[str], token: str | None = None, store: str = "") -> ASGIApp:
    """The dashboard of one store, as an ASGI application.

    hosts: the names with their ports by which it may be asked for. token: what is to be known by whoever asks.
    """
    library = Library(url)
    pages = Pages(library, store, token)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        library.close()

    named = [name for name in PAGES if name]
    routes = [
        Route("/assets/{name}", pages.asset),
        Route("/live", pages.live),
        Route("/login", pages.login, methods=["GET", "POST"]),
        Route("/sessions/{name:path}", pages.session),
        *(Route(f"/{name}.{form}", partial(pages.table, name, form)) for name in named for form in _FORMS),
        *(Route(f"/{name}", partial(pages.page, name), name=name or "overview") for name in PAGES),
    ]
    return Admission(Starlette(routes=routes, lifespan=lifespan), hosts=hosts, token=token)


class Pages:
    """What is answered to each address."""

    def __init__(self, library: Library, store: str, token: str | None) -> None:
        self._library, self._store, self._token = library, store, token

    async def page(self, name: str, request: Request) -> Response:
        return await self._show(request, PAGES[name])

    async def session(self, request: Request) -> Response:
        # PostgreSQL knows no character of this kind.
        name = request.path_params["name"].replace("\0", "\N{REPLACEMENT CHARACTER}")
        return await self._show(request, partial(session, name=name))

    async def table(self, name: str, form: str, request: Request) -> Response:
        """The first table of a page, for programs."""
        try:
            query = Query.of(request.query_params)
            page = await asyncio.to_thread(self._library.ask, lambda reading: PAGES[name](reading, query))
        except BadTime as problem:
            return PlainTextResponse(str(problem), 400)
        except BadStore as problem:
            return PlainTextResponse(str(problem), 503)
        if page is None:
            return PlainTextResponse("It is not in the store, or not any more.", 404)
        table = page.tables[0]
        table.sort(query)
        if form == "json":
            return JSONResponse(table.to_json())
        named = {"content-disposition": f'attachment; filename="{name}.csv"'}
        return Response(table.to_csv(), media_type="text/csv", headers=named)

    async def _show(self, request: Request, make: Callable[[Reading, Query], Page | None]) -> Response:
        try:
            query = Query.of(request.query_params)
            found = await asyncio.to_thread(self._library.ask, partial(_read, make=make, query=query))
        except BadTime as problem:
            return HTMLResponse(markup.message("No such time", str(problem)), 400)
        except BadStore as problem:
            return HTMLResponse(markup.message("The store cannot be read", str(problem), is_waiting=True), 503)
        if found is None:
            return HTMLResponse(markup.message("No events yet", *filling(self._store), is_waiting=True))
        page, offered = found
        if page is None:
            return HTMLResponse(markup.message("Not here", "It is not in the store, or not any more."), 404)
        if request.headers.get("x-part") == "main":
            return HTMLResponse(markup.body(page, query, offered))
        return HTMLResponse(markup.page(page, query, self._store, offered))

    async def asset(self, request: Request) -> Response:
        kinds = {"page.css": "text/css", "page.js": "text/javascript"}
        name = request.path_params["name"]
        if name not in kinds:
            return PlainTextResponse("Not here.", 404)
        return Response(markup.asset(name), media_type=kinds[name], headers={"cache-control": "private, max-age=300"})

    async def login(self, request: Request) -> Response:
        if self._token is None:
            return RedirectResponse("/", 303)
        if request.method in _ASKING:
            return HTMLResponse(markup.login())
        given = b""
        async for chunk in request.stream():
            given += chunk
            if len(given) > _LONGEST_FORM:
                return HTMLResponse(markup.login("That is no token."), 400)
        token = parse_qs(given.decode("utf-8", "replace")).get("token", [""])[0].strip()
        if not _same(token, self._token):
            # Whoever guesses has to be patient.
            await asyncio.sleep(0.5)
            return HTMLResponse(markup.login("That is not the token."), 403)
        answer = RedirectResponse("/", 303)
        is_secure = request.url.scheme == "https"
        answer.set_cookie(_COOKIE, ticket(self._token), httponly=True, samesite="strict", secure=is_secure)
        return answer

    async def live(self, request: Request) -> Response:
        if request.method == "HEAD":
            # There would be no end to what is not sent.
            return Response(media_type="text/event-stream")
        return StreamingResponse(self._news(request), media_type="text/event-stream")

    async def _news(self, request: Request) -> AsyncIterator[str]:
        """How many calls there are, whenever there are more."""
        last: int | None = None
        calls, quiet = 0, 0.0
        yield "retry: 2000\n\n"
        while not await request.is_disconnected():
            try:
                now = await asyncio.to_thread(self._library.ask, lambda reading: reading.last())
            except BadStore:
                now = last
            if last is not None and now is not None and now > last:
                calls += now - last
                quiet = 0.0
                yield f"event: calls\ndata: {json.dumps({'calls': calls})}\n\n"
            elif quiet >= _BEAT:
                quiet = 0.0
                yield ": still here\n\n"
            last = now
            quiet += _LOOK
            await asyncio.sleep(_LOOK)


def _read(
    reading: Reading, make: Callable[[Reading, Query], Page | None], query: Query
) -> tuple[Page | None, dict[str, list[str]]] | None:
    """A page, and what its filters offer; None of an empty store."""
    if reading.extent() is None:
        return None
    page = make(reading, query)
    if page is not None:
        page.notes += lost(reading, query)
    return page, markup.names(reading)


def filling(store: str) -> tuple[str, str]:
    """How an empty store is filled, in words and as code."""
    return (
        "Nothing has been written into this store. Any of these fills it, and the page shows it then:",
        f"failwell wrap --events {store} -- CMD…\n\n"
        f'failwell.server.install(server, hooks=["{store}"])\n\n'
        f'failwell.client.Recovering(client, events="{store}")',
    )
