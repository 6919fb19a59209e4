"""`python -m simulation`: many seeds, or one of them again."""

from __future__ import annotations

import sys

from simulation.command import main

if __name__ == "__main__":
    sys.exit(main())
