"""krew itself takes the manifest, and installs the plugin from the archive for this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from extender import __version__
from tests.deploy.places import SAMPLES
from tests.e2e.controlplane.binaries import kept
from tests.e2e.controlplane.gobuild import build
from tests.e2e.test_release import ARCHIVE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.controlplane.binaries import Binaries

# Makes a release, and builds krew.
pytestmark = pytest.mark.long

KREW = "0.4.4"


@pytest.fixture(scope="module")
def krew(built: Callable[[Callable[[Callable[[str], None]], Binaries]], Binaries]) -> Binaries:
    """Return krew's commands; they are built on the first run."""

    def commands(report: Callable[[str], None]) -> Binaries:
        def compile_them(go: Path, scratch: Path, product: Path) -> None:
            module = "sigs.k8s.io/krew"
            packages = [f"{module}/cmd/{command}" for command in ("krew", "validate-krew-manifest")]
            arguments = ["-o", f"{product}/", *packages]
            folder = scratch / "krew"
            build(go, folder, arguments, report, what="krew", requires=[f"{module} v{KREW}"])

        return kept(f"krew-{KREW}", compile_them, report)

    return built(commands)


def run(*command: str, code: int = 0, **environ: str) -> str:
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        command,
        cwd="/",
        env={"PATH": path, **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_krew_finds_no_fault_with_the_manifest(krew: Binaries, dist: Path) -> None:
    command = krew["validate-krew-manifest"]
    said = run(command, "-skip-install", "-manifest", str(dist / "affinity.yaml"))
    assert "structural validation OK" in said
    assert "all spec.platform[] items are used" in said
    assert "no overlapping spec.platform[].selector" in said


@pytest.fixture(scope="module")
def plugin(krew: Binaries, dist: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Install the plugin into an empty folder, as a user without an index would."""
    home = tmp_path_factory.mktemp("krew")
    install = [f"--manifest={dist / 'affinity.yaml'}", f"--archive={dist / ARCHIVE}"]
    run(krew["krew"], "install", *install, KREW_ROOT=str(home), KREW_NO_UPGRADE_CHECK="1")
    assert list(home.glob("store/affinity/v*/LICENSE"))
    return str(home / "bin" / "kubectl-affinity")


def test_it_says_its_version(plugin: str) -> None:
    assert run(plugin, "version").startswith(f"affinity-extender {__version__} (")


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        pytest.param("explain db-3 -n data", 1, "data/db-3 fits on no node", id="explain"),
        pytest.param(
            "simulate --lose zone=zone-a",
            1,
            "Lose zone=zone-a (3 nodes): 3 pods lost",
            id="simulate",
        ),
        pytest.param("advise", 0, "Take: nothing", id="advise"),
        pytest.param("lint", 1, "2 errors in 22 objects", id="lint"),
        pytest.param("violations", 1, "red/red-0   c2     notEnforced", id="violations"),
        pytest.param("quota", 0, "NAMESPACE   IN SCOPE", id="quota"),
    ],
)
def test_it_answers_from_a_dump(plugin: str, line: str, code: int, said: str) -> None:
    sample = SAMPLES / "cluster.yaml"
    assert said in run(plugin, *line.split(), "--cluster", str(sample), code=code)


def test_it_prints_scripts_for_shells(plugin: str) -> None:
    assert "complete" in run(plugin, "completion", "bash")


def test_it_has_what_asks_a_cluster(plugin: str, tmp_path: Path) -> None:
    nobody = {"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}
    config = {
        "clusters": [nobody],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
        "current-context": "c",
    }
    path = tmp_path / "config"
    path.write_text(json.dumps(config))
    said = run(plugin, "explain", "db-3", code=3, KUBECONFIG=str(path))
    assert "127.0.0.1:9" in said
