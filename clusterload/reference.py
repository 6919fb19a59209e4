"""Writes the page of docs/reference/ on clusterload's command line; `make reference` runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from affinityctl.reference import MADE, of_program, write
from clusterload.cli import clusterload

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEAD: Final = (
    "# Command-line reference of clusterload\n\n" + MADE + "Every command and every flag, as "
    "`--help` shows them. [loadtest/README.md](../../loadtest/README.md) shows how to use them. "
    "Source: `clusterload/cli.py`.\n"
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page into the folder that is named."""
    write(pages(), arguments)


def pages() -> dict[str, str]:
    """Return the text of each file by its name."""
    return {"clusterload.md": _HEAD + of_program(clusterload())}


if __name__ == "__main__":
    main()
