"""Examples in docstrings are shown as code: a prompt is no quotation."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

# From the first prompt to the blank line after it, as doctest reads it.
_EXAMPLE = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


class Doctests(Extension):
    """Puts every doctest of a docstring into a fence."""

    def on_instance(self, *, obj: Object, **given: Any) -> None:
        """Called by griffe for each object that it has read."""
        if obj.docstring is not None and ">>>" in obj.docstring.value:
            obj.docstring.value = _EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", obj.docstring.value)
