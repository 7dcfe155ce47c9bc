"""Starts somebody else's server with one line of ours: `python field_launch.py WHERE ENTRY [ARGUMENT ...]`.

WHERE is the server's object (`module:name`), `new module:Class` for one that is made in a function, or `-` for the
server as it is. ENTRY is what its command runs (`module:function`). It runs in the server's own environment.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any


def found(name: str) -> Any:
    module, _, path = name.partition(":")
    value: Any = importlib.import_module(module)
    for part in path.split("."):
        value = getattr(value, part)
    return value


def install_on_new(kind: type) -> None:
    """Have the line added to whatever is made of a class."""
    import failwell.server

    original: Any = kind.__init__

    def made(self: Any, *given: Any, **options: Any) -> None:
        original(self, *given, **options)
        if type(self) is kind:
            failwell.server.install(self)

    kind.__init__ = made  # type: ignore[misc]


def main() -> None:
    where, entry, *arguments = sys.argv[1:]
    sys.argv = [entry.partition(":")[0], *arguments]
    if where.startswith("new "):
        install_on_new(found(where.removeprefix("new ")))
    elif where != "-":
        import failwell.server

        failwell.server.install(found(where))
    started = found(entry)()
    if hasattr(started, "send"):
        import asyncio

        asyncio.run(started)


if __name__ == "__main__":
    main()
