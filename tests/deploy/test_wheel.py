"""The wheel, as it is built for the image: both programs are in it."""

from __future__ import annotations

import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.deploy.places import ROOT

FOLDERS = ("extender", "clusterload")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel with the backend that is installed, without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, str(folder)],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    return folder / done.stdout.splitlines()[-1]


def test_every_module_is_in_it(wheel: Path) -> None:
    modules = {
        str(path.relative_to(ROOT)) for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")
    }
    with ZipFile(wheel) as archive:
        assert modules - set(archive.namelist()) == set()


@pytest.mark.parametrize("script", ["affinity-extender", "kubectl-affinity", "clusterload"])
def test_its_programs_start(wheel: Path, script: str, tmp_path: Path) -> None:
    with ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    (entry_points,) = tmp_path.glob("*.dist-info/entry_points.txt")
    scripts = ConfigParser()
    scripts.read(entry_points)
    module, function = scripts["console_scripts"][script].split(":")
    program = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); "
        f"import {module} as found; assert found.__file__.startswith(sys.path[0]); "
        f"sys.exit(found.{function}())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path), "--help"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.startswith(f"usage: {script.replace('kubectl-', 'kubectl ')} [-h]")
