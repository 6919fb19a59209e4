"""`python -m extender` is `affinity-extender`."""

from __future__ import annotations

import sys

from affinityctl.cli import main

if __name__ == "__main__":
    sys.exit(main())
