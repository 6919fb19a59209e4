"""Make the package of the chart that Helm installs: without Helm, and the same bytes each time."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from release.archives import Entry, archived

if TYPE_CHECKING:
    from collections.abc import Iterator

CHART = Path(__file__).parents[1] / "charts" / "affinity-extender"


def main() -> None:
    """Write the package into the folder that is named."""
    of = yaml.safe_load((CHART / "Chart.yaml").read_text())
    path = Path(sys.argv[1], f"{of['name']}-{of['version']}.tgz")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(package())
    print(path)  # noqa: T201 - what was made


def package() -> bytes:
    """Return the package, with what the link to the manifests leads to."""
    return archived(
        Entry(f"{CHART.name}/{path.relative_to(CHART)}", path.read_bytes())
        for path in sorted(_files())
    )


def _files() -> Iterator[Path]:
    for folder, _, names in os.walk(CHART, followlinks=True):
        yield from (Path(folder, name) for name in names)


if __name__ == "__main__":
    main()
