"""What may leave: no secrets, no floods, no tricks. One function for every way out."""

from __future__ import annotations

from .arguments import Secrets, secret_paths
from .error_guard import DEFAULT, UNCHANGED, Guard, guard, masked, shown_arguments
from .error_guard import gathered as gathered
from .fence import poses
from .known import all_forms as all_forms
from .known import forms_of as forms_of
from .known import without_values as without_values
from .length import shorten
from .looks import drawn as drawn
from .looks import likely as likely
from .looks import plausible as plausible
from .redactor import MASK
from .secret_names import is_ambiguous_name as is_ambiguous_name
from .secret_parts import before_host as before_host
from .secret_parts import is_token as is_token
from .secret_parts import of_basic as of_basic
from .secret_parts import unencoded as unencoded
from .visibility import escaped as escaped
from .visibility import uncoloured as uncoloured
from .visibility import visible

__all__ = [
    "DEFAULT",
    "Guard",
    "MASK",
    "Secrets",
    "UNCHANGED",
    "guard",
    "masked",
    "poses",
    "secret_paths",
    "shorten",
    "shown_arguments",
    "visible",
]
# Exported to the other packages of Failwell only; not part of the public API.
_INTERNAL = (
    "all_forms",
    "before_host",
    "drawn",
    "escaped",
    "forms_of",
    "gathered",
    "is_ambiguous_name",
    "is_token",
    "likely",
    "of_basic",
    "plausible",
    "uncoloured",
    "unencoded",
    "without_values",
)
