"""What `make release` makes, as far as it takes neither the network nor minutes."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from release.chart import CHART, package
from release.krew import PLATFORMS
from tests.deploy.places import MANIFESTS, ROOT


def made(*arguments: str, path: str = "/usr/bin:/bin") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments, cwd=ROOT, env={"PATH": path}, capture_output=True, text=True, check=False
    )


def test_the_package_of_the_chart_has_every_file_of_it_and_of_the_manifests() -> None:
    with tarfile.open(fileobj=io.BytesIO(package())) as archive:
        found = {
            member.name: file.read() for member in archive if (file := archive.extractfile(member))
        }
    files = {
        Path(CHART.name, shown, path.relative_to(folder)).as_posix(): path.read_bytes()
        for shown, folder in (("", CHART), ("manifests", MANIFESTS))
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert found == files
    assert package() == package()


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
