"""What `make release` makes, as far as it takes neither the network nor minutes."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from extender import __version__
from release.chart import CHART, package
from release.krew import PLATFORMS
from tests.deploy.places import MANIFESTS, ROOT


def made(*arguments: str, path: str = "/usr/bin:/bin") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments, cwd=ROOT, env={"PATH": path}, capture_output=True, text=True, check=False
    )


def unpacked(content: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return {
            member.name: file.read() for member in archive if (file := archive.extractfile(member))
        }


def test_the_package_of_the_chart_has_every_file_of_it_and_of_the_manifests() -> None:
    found = unpacked(package())
    files = {
        Path(CHART.name, shown, path.relative_to(folder)).as_posix(): path.read_bytes()
        for shown, folder in (("", CHART), ("manifests", MANIFESTS))
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert found == files
    assert package() == package()


@pytest.mark.parametrize(
    ("url", "homepage", "added"),
    [
        pytest.param(
            "https://example.com/v1/",
            "",
            {"icon": "https://example.com/v1/affinity-extender.svg"},
            id="where the archives are",
        ),
        pytest.param(
            "",
            "https://example.com",
            {"home": "https://example.com", "sources": ["https://example.com"]},
            id="where the project is",
        ),
    ],
)
def test_the_package_says_where_things_are_found(
    url: str, homepage: str, added: dict[str, Any]
) -> None:
    name = f"{CHART.name}/Chart.yaml"
    plain, found = unpacked(package()), unpacked(package(url, homepage))
    assert yaml.safe_load(found.pop(name)) == yaml.safe_load(plain.pop(name)) | added
    assert found == plain


def test_a_release_says_it_in_the_chart() -> None:
    given = ("URL=https://example.com/v1", "HOMEPAGE=https://example.com")
    told = "--url https://example.com/v1 --homepage https://example.com"
    assert f"release.chart dist {told}\n" in made("make", "--dry-run", "release", *given).stdout


def test_the_icon_lies_beside_the_package(tmp_path: Path) -> None:
    done = made(
        sys.executable, "-m", "release.chart", str(tmp_path), "--url", "https://example.com"
    )
    names = {path.name for path in tmp_path.iterdir()}
    assert done.stdout.split() == [str(tmp_path / name) for name in sorted(names)]
    makefile = (ROOT / "Makefile").read_text().replace("$(VERSION)", __version__)
    assert names <= set(re.findall(r"[\w.-]+", makefile)), "the sums are of them"
    icon = ET.parse(tmp_path / f"{CHART.name}.svg").getroot()  # noqa: S314 - our own
    assert icon.tag == "{http://www.w3.org/2000/svg}svg"


def test_krew_s_archives_are_among_what_the_sums_are_of() -> None:
    makefile = (ROOT / "Makefile").read_text()
    (platforms,) = re.findall(r"foreach platform,([^,]+),kubectl-affinity-", makefile)
    assert [f"kubectl-affinity-{each}.tar.gz" for each in platforms.split()] == [
        each.archive for each in PLATFORMS
    ]


def test_a_release_without_an_address_says_so() -> None:
    done = made("make", "--dry-run", "release")
    assert done.returncode
    assert "URL= is missing: where the archives will be found" in done.stderr


@pytest.mark.parametrize("tool", ["buildah", "mmdebstrap"])
def test_a_machine_that_cannot_build_the_image_says_what_is_missing(
    tmp_path: Path, tool: str
) -> None:
    for name in ("bash", "dirname"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    for name in {"buildah", "mmdebstrap"} - {tool}:
        (tmp_path / name).touch(mode=0o755)
    done = made("release/image.sh", str(tmp_path), path=str(tmp_path))
    assert done.returncode == 3
    assert done.stderr.startswith(f"image.sh: {tool} is not installed (Debian: apt-get install ")
