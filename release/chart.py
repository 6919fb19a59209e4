"""Make the package of the chart that Helm installs: without Helm, and the same bytes each time."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from release.archives import Entry, archived

if TYPE_CHECKING:
    from collections.abc import Iterator

CHART = Path(__file__).parents[1] / "charts" / "affinity-extender"


ICON = "icon.svg"


def main() -> None:
    """Write the package and its icon into the folder that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, metavar="FOLDER")
    parser.add_argument("--url", default="", help="where the icon will be found, without its name")
    parser.add_argument("--homepage", default="", help="where the project is found")
    flags = parser.parse_args()
    of = yaml.safe_load((CHART / "Chart.yaml").read_text())
    made = {
        f"{of['name']}-{of['version']}.tgz": package(flags.url, flags.homepage),
        f"{of['name']}.svg": (CHART / ICON).read_bytes(),
    }
    flags.output.mkdir(parents=True, exist_ok=True)
    for name, content in made.items():
        (flags.output / name).write_bytes(content)
        print(flags.output / name)  # noqa: T201 - what was made


def package(url: str = "", homepage: str = "") -> bytes:
    """Return the package, with what the link to the manifests leads to.

    Its Chart.yaml says besides where the icon and the project are found.
    """
    added = {"home": homepage, "sources": [homepage]} if homepage else {}
    added |= {"icon": f"{url.rstrip('/')}/{CHART.name}.svg"} if url else {}
    where = yaml.safe_dump(added, sort_keys=False).encode() if added else b""
    return archived(
        Entry(
            f"{CHART.name}/{path.relative_to(CHART)}",
            path.read_bytes() + (where if path == CHART / "Chart.yaml" else b""),
        )
        for path in sorted(_files())
    )


def _files() -> Iterator[Path]:
    for folder, _, names in os.walk(CHART, followlinks=True):
        yield from (Path(folder, name) for name in names)


if __name__ == "__main__":
    main()
