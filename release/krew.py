"""Make what krew installs the kubectl plugin from: an archive for each platform, and the manifest.

An archive has the program and its dependencies, pinned by hash: those of pure Python once, compiled
ones for each Python. The `python3` of the machine runs them.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import yaml

from extender import __version__
from release.archives import Entry, archived

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ROOT = Path(__file__).parents[1]
NAME = "affinity"
PROGRAM = f"kubectl-{NAME}"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
ONLY_SERVE_NEEDS = frozenset({"jinja2", "markupsafe", "uvloop", "prometheus_client"})
"""Wheels that are left out: the plugin has no command `serve`."""

SHORT_DESCRIPTION = "Explain why affinity keeps pods waiting"
DESCRIPTION = """\
Says which affinity rules keep a pod from which nodes, which pods are in the way, and what can be
done; where pods would go if you drained nodes, scaled, or rolled out an update; which workloads
have affinity that cannot work; and which placed pods break their rules. It works with any cluster
that you may read, and with a dump of one. It changes nothing.
"""
CAVEATS = f"""\
Needs Python {PYTHONS[0]} to {PYTHONS[-1]} and, on Linux, glibc 2.28 or newer. Begin with:
  kubectl affinity explain POD -n NAMESPACE
"""


@dataclass(frozen=True, slots=True)
class Platform:
    """An operating system and architecture in krew's words, and the wheels that run there."""

    os: str
    arch: str
    wheels: tuple[str, ...]
    """Platforms in the words of pip."""

    @property
    def archive(self) -> str:
        return f"{PROGRAM}-{self.os}-{self.arch}.tar.gz"


PLATFORMS = (
    *(
        Platform(
            "linux",
            arch,
            tuple(
                f"{tag}_{wheels}" for tag in ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
            ),
        )
        for arch, wheels in (("amd64", "x86_64"), ("arm64", "aarch64"))
    ),
    Platform("darwin", "amd64", ("macosx_11_0_x86_64",)),
    Platform("darwin", "arm64", ("macosx_11_0_arm64",)),
)


def main() -> None:
    """Make the archives, and the manifest that says where they will be found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="where the archives will be found, without their names")
    parser.add_argument("--homepage", help="where the project is found")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", metavar="FOLDER")
    flags = parser.parse_args()
    flags.output.mkdir(parents=True, exist_ok=True)
    archives = {each: flags.output / each.archive for each in PLATFORMS}
    for platform, path in archives.items():
        path.write_bytes(archive(platform))
        print(path)  # noqa: T201 - what was made
    path = flags.output / f"{NAME}.yaml"
    path.write_text(text(manifest(archives, flags.url, flags.homepage)))
    print(path)  # noqa: T201


def archive(platform: Platform) -> bytes:
    """Return the archive for a platform; its wheels are downloaded."""
    with TemporaryDirectory() as folder:
        wheels = Path(folder)
        download(platform, wheels)
        build_program(wheels)
        return packed(wheels.glob("*.whl"))


def download(platform: Platform, folder: Path) -> None:
    """Put the pinned wheels for each Python on a platform into a folder."""
    where = [part for tag in platform.wheels for part in ("--platform", tag)]
    pinned = ["--require-hashes", f"--requirement={ROOT / 'requirements.txt'}"]
    for python in PYTHONS:
        wanted = ["--only-binary=:all:", "--no-deps", f"--python-version={python}", *where, *pinned]
        _pip("download", *wanted, f"--dest={folder}")


def build_program(folder: Path) -> None:
    """Put the wheel of this checkout into a folder."""
    _pip("wheel", "--no-deps", "--no-build-isolation", f"--wheel-dir={folder}", str(ROOT))


def _pip(*arguments: str) -> None:
    quietly = ["--quiet", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", *quietly, *arguments], check=True)  # noqa: S603


def packed(wheels: Iterable[Path]) -> bytes:
    """Return an archive with these wheels; the same wheels make the same bytes."""
    launcher = (ROOT / "release" / "plugin_launcher.py").read_bytes()
    return archived(
        (
            Entry(PROGRAM, launcher, 0o755),
            Entry("LICENSE", (ROOT / "LICENSE").read_bytes()),
            *(file for wheel in sorted(wheels) for file in _files(wheel)),
        )
    )


def _files(wheel: Path) -> Iterator[Entry]:
    """Yield the files of a wheel, each with its path in the archive."""
    name, *_, python, abi, _platform = wheel.stem.split("-")
    if name in ONLY_SERVE_NEEDS:
        return
    folder = "all" if abi in {"none", "abi3"} else python
    with ZipFile(wheel) as content:
        for entry in content.infolist():
            if not entry.is_dir():
                yield Entry(f"lib/{folder}/{entry.filename}", content.read(entry))


def manifest(
    archives: Mapping[Platform, Path], url: str, homepage: str | None = None
) -> dict[str, Any]:
    """Return the manifest for archives that will be found below a URL."""
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": NAME},
        "spec": {
            "version": f"v{__version__}",
            **({"homepage": homepage} if homepage else {}),
            "shortDescription": SHORT_DESCRIPTION,
            "description": DESCRIPTION,
            "caveats": CAVEATS,
            "platforms": [
                {
                    "selector": {"matchLabels": {"os": platform.os, "arch": platform.arch}},
                    "uri": f"{url.rstrip('/')}/{path.name}",
                    "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
                    "bin": PROGRAM,
                }
                for platform, path in archives.items()
            ],
        },
    }


def text(manifest: dict[str, Any]) -> str:
    """Write a manifest as YAML, with texts of several lines as they are."""
    return yaml.dump(manifest, Dumper=_Readable, sort_keys=False)


class _Readable(yaml.SafeDumper):
    """Writes lines as lines."""


_Readable.add_representer(
    str,
    lambda dumper, value: dumper.represent_scalar(
        "tag:yaml.org,2002:str", value, style="|" if "\n" in value else None
    ),
)


if __name__ == "__main__":
    main()
