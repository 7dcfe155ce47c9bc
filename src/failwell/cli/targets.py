"""What a command line names: somebody's catalogue or server as `module:attribute`, or the address of one."""

from __future__ import annotations

import importlib
import os
import re
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from .io import Stop, read_bytes, stop_on

if TYPE_CHECKING:
    from failwell.manifest import Manifest


def load_object(name: str) -> Any:
    """The object that `module:attribute` names; the module may stand in the current folder."""
    module, _, attribute = name.partition(":")
    # The command is started from its own folder; whoever types a module's name means the one they stand in.
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)
    try:
        # What the module prints while it loads is not part of what the command prints.
        with redirect_stdout(sys.stderr):
            found: Any = importlib.import_module(module)
            for part in attribute.split("."):
                found = getattr(found, part)
    except KeyboardInterrupt:
        raise
    except ModuleNotFoundError as problem:
        if problem.name != module:
            raise Stop(f"cannot load {name}: {problem}") from None
        raise Stop(f"there is no module {module!r}, neither in this folder nor installed") from None
    except (ImportError, AttributeError) as problem:
        raise Stop(f"cannot load {name}: {problem}") from None
    except BaseException as problem:
        # Somebody else's module may do anything at all, even end the program.
        raise Stop(f"cannot load {name}: {type(problem).__name__}: {problem}") from None
    return found


def host_of(url: str) -> str:
    """The host of a server's address; a line about what is wrong with it where there is none."""
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")
    except UnicodeError:
        raise Stop(f"{url} is no address of a server: no host has such a name") from None
    except ValueError as problem:
        raise Stop(f"{url} is no address of a server: {problem}") from None
    # Of an address the parser leaves some of them out, unasked.
    if not url.isprintable() or " " in url:
        raise Stop(f"{url} is no address of a server: there is a space in it, or what cannot be seen")
    if not is_one or parts.hostname is None:
        raise Stop(f"{url} is no address of a server: it begins with http:// or https://")
    return parts.hostname


def load_manifest(path: str) -> Manifest:
    from failwell.manifest import NoManifest, load

    try:
        return load(read_bytes(path).decode())
    except UnicodeDecodeError as problem:
        raise Stop(f"cannot read {path}: {problem}") from None
    except NoManifest as problem:
        raise Stop(f"{path} is no manifest: {problem}") from None


def header_of(given: str) -> tuple[str, str]:
    """The name and the value of a header as it is given, with variables filled in."""
    from failwell.relay import config

    name, colon, value = given.partition(":")
    for variable in re.findall(r"\$\{([A-Za-z_]\w*)\}", value):
        if not os.environ.get(variable):
            raise Stop(f"--header {name!r}: the variable {variable} is not set")
    with stop_on(config.NoServer):
        value = config.filled(value.strip(), os.environ, name)
    if not colon or not value or not config.is_header(name, value):
        raise Stop(f"--header {name!r}: {config.HEADER}, and says something")
    return name, value
