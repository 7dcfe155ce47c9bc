"""What each tool is, and how it may fail: for CI, and for whoever reads before they call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from failwell.packages import bring

from .audit import differences as differences
from .audit import markdown as markdown
from .audit import problems as problems
from .entries import Manifest as Manifest
from .entries import NoManifest as NoManifest
from .entries import ToolEntry as ToolEntry
from .entries import load as load

if TYPE_CHECKING:
    from .builder import Recorder
    from .builder import build as build
    from .builder import read_seen as read_seen
    from .origins import ServerTools as ServerTools
    from .origins import of_command as of_command
    from .origins import of_server as of_server
    from .origins import of_url as of_url

# Reading a manifest needs no SDK; making one does.
_LATER: Final = {
    **dict.fromkeys(("Recorder", "build", "read_seen"), ".builder"),
    **dict.fromkeys(("ServerTools", "of_command", "of_server", "of_url"), ".origins"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'failwell.manifest' has no attribute {name!r}")
    value = globals()[name] = getattr(bring(_LATER[name], __name__, "mcp"), name)
    return value


__all__ = ["Recorder"]
# Exported to the other packages of Failwell only; not part of the public API.
_INTERNAL: Final = (
    *("Manifest", "NoManifest", "ServerTools", "ToolEntry", "build", "differences"),
    *("of_command", "of_server", "of_url", "read_seen", "load", "markdown", "problems"),
)
