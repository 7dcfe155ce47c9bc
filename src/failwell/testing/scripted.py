"""Runs a scripted server: `python -m failwell.testing.scripted DIR` on stdio, with `--http PORT` on a loopback port.

DIR holds `script.json`; what happens is written to `events.jsonl` beside it. This file is only the command; for Python
there is the function of this name in `failwell.testing`.
"""

from __future__ import annotations

if __name__ == "__main__":
    from .fork_server import main

    main()
