"""An archive of an image in the layout of the OCI, read and unpacked without a container engine."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.deploy.places import ROOT

PINNED = set(
    re.findall(r"^([a-z0-9-]+)==([^ ]+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
)
"""What the program needs to run, by name and version."""
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


@dataclass(frozen=True, slots=True)
class Image:
    """What a container of it sees."""

    config: dict[str, Any]
    """What it is told to run, and how."""
    root: Path
    """Its layers, on top of each other."""

    @property
    def packages(self) -> Path:
        """Where the program is."""
        (found,) = self.root.glob("opt/affinity-extender/lib/python*/site-packages")
        return found

    @property
    def sample(self) -> Path:
        """Where a container has the sample cluster."""
        return Path("/", (self.packages / "extender/samples/cluster.yaml").relative_to(self.root))


def unpacked(archive: Path, folder: Path) -> Image:
    """Unpack an archive into an empty folder."""
    subprocess.run(["tar", "xf", str(archive), "-C", str(folder)], check=True)  # noqa: S607
    (only,) = _read(folder / "index.json")["manifests"]
    manifest = _read(_blob(folder, only))
    root = folder / "root"
    root.mkdir()
    folder.chmod(0o755)  # The image's user has to enter it.
    for layer in manifest["layers"]:
        assert layer["mediaType"] == _LAYER
        path = str(_blob(folder, layer))
        subprocess.run(["tar", "xzf", path, "-C", str(root)], check=True)  # noqa: S607
    return Image(_read(_blob(folder, manifest["config"]))["config"], root)


def _blob(folder: Path, named: dict[str, Any]) -> Path:
    return folder / "blobs" / str(named["digest"]).replace(":", "/")


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found
