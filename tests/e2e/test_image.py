"""The image is built, and runs as its user where nothing can be written; its parts are listed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from extender import __version__
from tests.deploy.places import ROOT
from tests.deploy.sandbox import GROUP, USER, contained
from tests.deploy.starting import started, until_ready
from tests.missing import missing

CANNOT_BE_HAD = 3
"""What image.sh ends with where no builder is installed, or Debian's packages cannot be fetched."""

PINNED = set(
    re.findall(r"^([a-z0-9-]+)==([^ ]+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
)
_BUILD_TIMEOUT_S = 900
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


@pytest.fixture(scope="module")
def archive() -> Path:
    """Build the image. Without a builder, or a base to build on, this skips; in CI, too."""
    done = subprocess.run(
        [str(ROOT / "release" / "image.sh")],
        capture_output=True,
        text=True,
        check=False,
        timeout=_BUILD_TIMEOUT_S,
    )
    if done.returncode == CANNOT_BE_HAD:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return ROOT / done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def layout(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack the archive into the layout that the OCI describes."""
    folder = tmp_path_factory.mktemp("layout")
    subprocess.run(["tar", "xf", str(archive), "-C", str(folder)], check=True)  # noqa: S607
    return folder


def blob(layout: Path, digest: str) -> Path:
    return layout / "blobs" / digest.replace(":", "/")


def manifest(layout: Path) -> dict[str, Any]:
    (only,) = json.loads((layout / "index.json").read_text())["manifests"]
    found: dict[str, Any] = json.loads(blob(layout, only["digest"]).read_text())
    return found


@pytest.fixture(scope="module")
def config(layout: Path) -> dict[str, Any]:
    """Return what a container is told to run."""
    digest = manifest(layout)["config"]["digest"]
    found: dict[str, Any] = json.loads(blob(layout, digest).read_text())["config"]
    return found


@pytest.fixture(scope="module")
def root(layout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Put the layers on top of each other."""
    folder = tmp_path_factory.mktemp("root")
    folder.chmod(0o755)  # The image's user has to enter it.
    for layer in manifest(layout)["layers"]:
        assert layer["mediaType"] == _LAYER
        path = str(blob(layout, layer["digest"]))
        subprocess.run(["tar", "xzf", path, "-C", str(folder)], check=True)  # noqa: S607
    return folder


def test_it_says_how_it_runs(config: dict[str, Any]) -> None:
    assert config["User"] == f"{USER}:{GROUP}"
    assert config["Entrypoint"] == ["affinity-extender"]
    assert config["Cmd"] == ["serve"]
    assert set(config["ExposedPorts"]) == {"10280/tcp", "10281/tcp"}


def sample(root: Path) -> Path:
    """Return where the image has the sample cluster."""
    pattern = "opt/affinity-extender/lib/python*/site-packages/extender/samples/cluster.yaml"
    (found,) = root.glob(pattern)
    return Path("/", found.relative_to(root))


def assert_it_can_do_little(process: int) -> None:
    status = Path(f"/proc/{process}/status").read_text()
    assert re.search(rf"^Uid:\s+{USER}\s", status, re.MULTILINE)
    for rights in ("CapEff", "CapPrm"):
        assert re.search(rf"^{rights}:\s+0+$", status, re.MULTILINE)
    assert re.search(r"^NoNewPrivs:\s+1$", status, re.MULTILINE)


async def test_it_gets_ready_as_its_user_where_nothing_can_be_written(
    config: dict[str, Any], root: Path
) -> None:
    environ = dict(variable.split("=", 1) for variable in config["Env"])
    arguments = [f"--cluster={sample(root)}", "--mode=replace", "--port=0", "--ops-port=0"]
    command = [*config["Entrypoint"], *config["Cmd"], *arguments]
    async with started(contained(command, root), environ) as program:
        await until_ready(program.operations)
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{program.operations}/livez") as alive,
        ):
            assert alive.status == 200
        assert_it_can_do_little(program.process.pid)
        program.process.terminate()
        assert await program.process.wait() == 0


def test_it_has_the_pinned_packages_and_no_installer(root: Path) -> None:
    folders = root.glob("opt/affinity-extender/lib/python*/site-packages/*.dist-info")
    there = {tuple(folder.stem.rsplit("-", 1)) for folder in folders}
    assert {(name.lower().replace("_", "-"), version) for name, version in there} == {
        ("affinity-extender", __version__),
        *PINNED,
    }


@pytest.mark.long  # It takes the tools of a release.
def test_the_list_of_its_parts_is_what_is_pinned(tmp_path: Path) -> None:
    file = tmp_path / "affinity-extender.cdx.json"
    tool = Path(sys.executable).with_name("cyclonedx-py")
    if not tool.exists():
        missing("cyclonedx-py is not installed beside Python: make release-tools")
    subprocess.run([str(ROOT / "release" / "sbom.sh"), str(tool), str(file)], check=True)
    found = json.loads(file.read_text())
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    assert found["metadata"]["component"]["version"] == __version__
    assert {(one["name"], one["version"]) for one in found["components"]} == PINNED
