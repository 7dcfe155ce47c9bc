"""What a web request sent as a secret: from its path, query, headers and cookies, and of its body what was read."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

from failwell.guards import Secrets
from failwell.model import pattern

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

_BODY: Final = "failwell.body"
# More of a body is not kept. A secret that comes later is one that nobody looks for.
_MOST_BYTES: Final = 1_000_000
# Texts under their names in JSON that cannot be read as a whole: it was cut, or is broken.
_PAIR: Final = pattern(r'"([^"\\]{1,100})"\s{0,20}:\s{0,20}("(?:[^"\\]|\\.){0,10000})')
_BOUNDARY: Final = pattern(r'(?i)boundary="?([^";,\s]{1,200})')
_PART_NAME: Final = pattern(r'(?i)[;\s]name="?([^";\r\n]{1,200})')
_FILE: Final = pattern(r"(?i)[;\s]filename\*?=")
_MOST_PARTS: Final = 1_000
# A shorter one is found in other words by chance, and so are these.
_SHORTEST_COOKIE: Final = 4
_SAYS_NOTHING: Final = frozenset("true false none null undefined accepted declined".split())
# What cookies are called that hold a choice of the reader's, by one of the words of the name.
_PLAIN_WORDS: Final = frozenset(
    "theme lang language locale i18n country region currency timezone tz consent colour color darkmode layout fontsize "
    "viewport".split()
)
_WORD: Final = pattern(r"[a-z0-9]{1,40}")


class KeepingBodies:
    """Keeps what an application reads of a request's body, for as long as the request lasts; it reads nothing itself.

    A handler of exceptions gets a request of its own, whose body is gone by then.
    """

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Any) -> None:
        if scope["type"] != "http" or _BODY in scope:
            await self._app(scope, receive, send)
            return
        kept: list[bytes] = []
        scope[_BODY] = kept
        left = _MOST_BYTES

        async def kept_receive() -> Message:
            nonlocal left
            message = await receive()
            if left > 0 and (part := message.get("body")):
                kept.append(part[:left])
                left -= len(part)
            return message

        await self._app(scope, kept_receive, send)


def secrets_sent(request: Any, secrets: Secrets) -> tuple[str, ...]:
    """What a Starlette request sent under secret names, which is a secret wherever it turns up."""
    headers = request.headers
    body = _body(b"".join(request.scope.get(_BODY, ())), headers.get("content-type", ""))
    if isinstance(body, (str, int)):
        # FastAPI takes the body as it is for an endpoint's only argument from there, and that alone has a name.
        field = getattr(request.scope.get("route"), "body_field", None)
        body = {str(getattr(field, "alias", "")): body}
    path = {name: value if isinstance(value, int) else str(value) for name, value in request.path_params.items()}
    query = request.query_params.multi_items()
    # A list, since the name of each would be taken for one of what is in it.
    named = secrets.values([path, _gathered(query), _gathered(headers.items()), dict(request.cookies), body])
    return (*named, *_in_cookies(request.cookies))


def _in_cookies(cookies: Mapping[str, str]) -> Iterator[str]:
    """What was sent in cookies: most let somebody in, and few have a name that says so."""
    for name, value in cookies.items():
        if _PLAIN_WORDS.isdisjoint(_WORD.findall(name.lower())):
            sent = dict.fromkeys((value, unquote(value)))
            yield from (each for each in sent if len(each) >= _SHORTEST_COOKIE and each.lower() not in _SAYS_NOTHING)


def _gathered(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    gathered: dict[str, list[str]] = {}
    for name, value in pairs:
        gathered.setdefault(name, []).append(value)
    return gathered


def _body(body: bytes, content_type: str) -> Any:
    """What stands in a body, by its names. What says nothing of its form is JSON, if anything."""
    if not body:
        return None
    form, text = content_type.partition(";")[0].strip().lower(), body.decode("utf-8", "replace")
    if form == "application/x-www-form-urlencoded":
        return _gathered(parse_qsl(text))
    if form == "multipart/form-data":
        found = _BOUNDARY.search(content_type)
        return _gathered(_parts(text, found[1])) if found is not None else None
    return _json(text)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _gathered((name, _unescaped(value)) for name, value in _PAIR.findall(text))


def _unescaped(quoted: str) -> str:
    try:
        return str(json.loads(f'{quoted}"'))
    except ValueError:
        return quoted[1:]


def _parts(text: str, boundary: str) -> Iterable[tuple[str, str]]:
    """The fields of a form that was sent in parts; files are none."""
    for part in text.split(f"--{boundary}", _MOST_PARTS)[1:]:
        head, _, value = part.partition("\r\n\r\n")
        name = _PART_NAME.search(head)
        if name is not None and _FILE.search(head) is None:
            yield name[1], value.removesuffix("\r\n")
