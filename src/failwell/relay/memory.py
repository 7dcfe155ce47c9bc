"""What is known of a server from its last run, kept per command: so that it need not be started to be listed."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from .messages import read_frame
from .remembered_tools import RememberedTools
from .session import Session


def place_of(
    command: Sequence[str], cwd: str | None, environment: Mapping[str, str], own: Mapping[str, str] | None = None
) -> Path:
    """Where what is known of a command is kept; `own` are the variables that were configured for this server."""
    cache = environment.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    # Another account or database may mean other tools; what stands in everybody's environment changes with each start.
    known = sorted((own or {}).items())
    name = hashlib.sha256(json.dumps([list(command), cwd or os.getcwd(), known]).encode()).hexdigest()[:32]
    return Path(cache) / "failwell" / "wrap" / f"{name}.json"


def recall(place: Path, session: Session, listing: RememberedTools) -> bool:
    """Take in what is kept; whether it is enough to answer for the server."""
    try:
        kept = json.loads(place.read_bytes())
        welcome = base64.b64decode(kept["welcome"]) if kept.get("welcome") else None
        pages = {page: base64.b64decode(frame) for page, frame in kept["pages"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return False
    if welcome is not None:
        session.welcomed(welcome, read_frame(welcome))
    listing.recall(pages)
    for page, frame in pages.items():
        if page.startswith("server/discover"):
            session.discovered(read_frame(frame))
    return bool(listing.known)


def keep(place: Path, session: Session, listing: RememberedTools) -> None:
    """Keep what is known by now. Who cannot, does without."""
    pages: dict[str, Any] = {page: base64.b64encode(frame).decode() for page, frame in listing.pages.items()}
    if not listing.is_fresh or not pages:
        return
    welcome = base64.b64encode(session.welcome).decode() if session.welcome else None
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = place.with_suffix(f".{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as file:
            json.dump({"welcome": welcome, "pages": pages}, file)
        draft.replace(place)
