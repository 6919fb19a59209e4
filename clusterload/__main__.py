"""`python -m clusterload` is `clusterload`."""

from __future__ import annotations

import sys

from clusterload.cli import main

if __name__ == "__main__":
    sys.exit(main())
