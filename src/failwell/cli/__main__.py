"""`python -m failwell.cli`."""

from . import main

raise SystemExit(main())
