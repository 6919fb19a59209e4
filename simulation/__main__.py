"""`python -m simulation`: many seeds, or one of them again."""

from __future__ import annotations

import os
import sys


def _run() -> int:
    if os.environ.get("PYTHONHASHSEED") != "0":
        # Sets of strings iterate by their hashes, which are to be the same each time.
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "simulation", *sys.argv[1:]])  # noqa: S606
    from simulation.command import main  # noqa: PLC0415 - it takes long, and once is enough

    return main()


if __name__ == "__main__":
    sys.exit(_run())
