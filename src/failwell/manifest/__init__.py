"""What each tool is, and how it may fail: for CI, and for whoever reads before they call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from failwell.packages import bring

from .entries import Manifest as Manifest
from .entries import NoManifest as NoManifest
from .entries import ToolEntry as ToolEntry
from .entries import differences as differences
from .entries import load as load
from .entries import markdown as markdown
from .entries import problems as problems

if TYPE_CHECKING:
    from .builder import Recorder
    from .builder import ServerTools as ServerTools
    from .builder import build as build
    from .builder import of_command as of_command
    from .builder import of_server as of_server
    from .builder import of_url as of_url
    from .builder import read_seen as read_seen

# Reading a manifest needs no SDK; making one does.
_LATER: Final = ("Recorder", "ServerTools", "build", "of_command", "of_server", "of_url", "read_seen")


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'failwell.manifest' has no attribute {name!r}")
    value = globals()[name] = getattr(bring(".builder", __name__, "mcp"), name)
    return value


__all__ = ["Recorder"]
# Exported to the other packages of Failwell only; not part of the public API.
_INTERNAL: Final = (
    *("Manifest", "NoManifest", "ServerTools", "ToolEntry", "build", "differences"),
    *("of_command", "of_server", "of_url", "read_seen", "load", "markdown", "problems"),
)
