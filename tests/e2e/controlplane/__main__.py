"""Build the control plane into the user cache: `python -m tests.e2e.controlplane`."""

from __future__ import annotations

import sys

from tests.e2e.controlplane.binaries import ensure
from tests.e2e.controlplane.toolchain import MissingToolError


def main() -> None:
    """Build what is not there yet; where a tool is missing, the tests tell what that means."""
    try:
        ensure(_say)
    except MissingToolError as missing:
        _say(str(missing))


def _say(line: str) -> None:
    sys.stderr.write(f"e2e: {line}\n")


if __name__ == "__main__":
    main()
