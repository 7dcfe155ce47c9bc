"""`python -m failwell`."""

from failwell.cli import main

raise SystemExit(main())
