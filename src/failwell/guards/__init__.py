"""What may leave: no secrets, no floods, no tricks. One function for every way out."""

from __future__ import annotations

from .arguments import Secrets, secret_paths
from .fence import CITATION, cited, poses
from .length import shorten
from .outlet import DEFAULT, UNCHANGED, Guard, guard, masked, shown_arguments
from .secrets.redactor import MASK
from .visible import visible

__all__ = [
    "CITATION",
    "DEFAULT",
    "Guard",
    "MASK",
    "Secrets",
    "UNCHANGED",
    "cited",
    "guard",
    "masked",
    "poses",
    "secret_paths",
    "shorten",
    "shown_arguments",
    "visible",
]
