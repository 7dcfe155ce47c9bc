"""What each tool is, and how it may fail: for CI, and for whoever reads before they call.

>>> import failwell.manifest
>>> manifest = failwell.manifest.load('{"version": "1.0", "tools": []}')
>>> failwell.manifest.problems(manifest)
[]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .checking import differences, markdown, problems
from .entries import Manifest, NoManifest, ToolEntry, load

if TYPE_CHECKING:
    from .building import Recorder, build, read_seen
    from .listing import of_command, of_server, of_url

# Reading a manifest needs no SDK; making one does.
_LATER: Final = {
    **dict.fromkeys(("Recorder", "build", "read_seen"), ".building"),
    **dict.fromkeys(("of_command", "of_server", "of_url"), ".listing"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'failwell.manifest' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LATER[name], __name__), name)
    return value


__all__ = [
    "Manifest",
    "NoManifest",
    "Recorder",
    "ToolEntry",
    "build",
    "differences",
    "load",
    "markdown",
    "of_command",
    "of_server",
    "of_url",
    "problems",
    "read_seen",
]
