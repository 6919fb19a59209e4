"""What `make release` makes is whole, and installs from nothing but itself."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tarfile
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest
import yaml

from extender import __version__
from release.chart import CHART, ICON, package
from release.provenance import NAME
from tests.deploy.places import OF_WHEELS, PROGRAM_WHEEL, ROOT
from tests.deploy.sandbox import contained
from tests.deploy.test_wheel import built, install, said
from tests.e2e.images import PINNED, unpacked
from tests.unpacking import unpack

if TYPE_CHECKING:
    from pathlib import Path

# Makes a release: downloads what the plugin needs for four platforms, and builds the image.
pytestmark = pytest.mark.long

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
ARCHIVE = f"kubectl-affinity-linux-{ARCHITECTURES.get(platform.machine())}.tar.gz"
HERE = f"cp3{sys.version_info[1]}"
WAITS = ("explain", "db-3", "-n", "data", "--cluster")
SAYS = "data/db-3 fits on no node\n"
WHEELS = {PROGRAM_WHEEL: ROOT, f"clusterload-{OF_WHEELS}-py3-none-any.whl": ROOT / "clusterload"}


def test_the_sums_are_of_all_of_it(dist: Path) -> None:
    check = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    subprocess.run(check, cwd=dist, check=True)
    listed = {line.split()[1] for line in (dist / "SHA256SUMS").read_text().splitlines()}
    about = {"SHA256SUMS", NAME, "cosign.pub", "SHA256SUMS.sig", f"{NAME}.sig"}
    assert listed == {path.name for path in dist.iterdir()} - about
    if (dist / NAME).exists():  # it is not, where files differ from the commit
        told = json.loads((dist / NAME).read_text())
        assert {each["name"] for each in told["subject"]} == listed


@pytest.fixture(scope="module")
def plugin(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack what krew would, for this machine."""
    folder = tmp_path_factory.mktemp("plugin")
    with tarfile.open(dist / ARCHIVE) as archive:
        unpack(archive, folder)
    return folder


def test_the_plugin_brings_all_that_it_needs(plugin: Path) -> None:
    sample = plugin / "lib/all/extender/samples/cluster.yaml"
    # Without what is installed beside this Python.
    command = [sys.executable, "-I", "-S", str(plugin / "kubectl-affinity")]
    assert said(*command, *WAITS, str(sample), code=1).startswith(SAYS)
    assert said(*command, "--version").startswith(f"affinity-extender {__version__} (")


def test_the_wheels_run_beside_what_the_plugin_brings(
    dist: Path, plugin: Path, tmp_path: Path
) -> None:
    wheels = (dist / name for name in WHEELS)
    programs = install(tmp_path, wheels, *(str(plugin / "lib" / each) for each in ("all", HERE)))
    (sample,) = tmp_path.glob("lib/python*/site-packages/extender/samples/cluster.yaml")
    assert said(str(programs / "affinity-extender"), *WAITS, str(sample), code=1).startswith(SAYS)
    assert said(str(programs / "clusterload"), "--version").startswith("clusterload ")


def test_what_is_made_again_has_the_same_bytes(
    dist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = dist / f"affinity-extender-{__version__}.tgz"
    with tarfile.open(path) as archive:
        chart = yaml.safe_load(archive.extractfile("affinity-extender/Chart.yaml") or b"")
    homepage = chart.get("home", "")
    monkeypatch.setenv("HOMEPAGE", homepage)
    for name, source in WHEELS.items():
        assert built(source, tmp_path).read_bytes() == (dist / name).read_bytes(), name
    url, _, icon = chart["icon"].rpartition("/")
    assert (dist / icon).read_bytes() == (CHART / ICON).read_bytes()
    assert path.read_bytes() == package(url, homepage)


def test_the_image_has_the_program_of_the_wheel(dist: Path, tmp_path: Path) -> None:
    image = unpacked(dist / f"affinity-extender-{__version__}.oci.tar", tmp_path)
    program, *_ = image.config["Entrypoint"]
    run = contained(
        [f"/opt/affinity-extender/bin/{program}", *WAITS, str(image.sample)], image.root
    )
    assert said(*run, code=1).startswith(SAYS)
    with ZipFile(dist / PROGRAM_WHEEL) as wheel:
        for name in wheel.namelist():
            if ".dist-info/" not in name:
                assert (image.packages / name).read_bytes() == wheel.read(name), name


@pytest.mark.parametrize(
    ("program", "more"),
    [("affinity-extender", set()), ("clusterload", {("affinity-extender", __version__)})],
)
def test_the_list_of_its_parts_is_what_is_pinned(
    dist: Path, program: str, more: set[tuple[str, str]]
) -> None:
    found = json.loads((dist / f"{program}.cdx.json").read_text())
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    root = found["metadata"]["component"]
    assert (root["name"], root["version"]) == (program, __version__)
    assert {(one["name"], one["version"]) for one in found["components"]} == PINNED | more
