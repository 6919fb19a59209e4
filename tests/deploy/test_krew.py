"""What krew installs the plugin from, as far as nothing has to be downloaded for it."""

from __future__ import annotations

import ast
import hashlib
import io
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import yaml

from extender import __version__
from release.krew import PLATFORMS, PROGRAM, manifest, packed, text
from tests.deploy.places import ROOT, SAMPLES
from tests.unpacking import unpack

URL = "https://example.com/v1.0.0-rc.1/"
LAUNCHER = ROOT / "release" / "plugin_launcher.py"
HERE = f"cp3{sys.version_info[1]}"


def program_wheel(folder: Path) -> Path:
    """Make a wheel of the program."""
    path = folder / "affinity_extender-1-py3-none-any.whl"
    with ZipFile(path, "w") as wheel:
        for package in ("extender", "affinityctl"):
            for file in (ROOT / package).rglob("*"):
                if file.is_file() and "__pycache__" not in file.parts:
                    wheel.write(file, file.relative_to(ROOT))
    return path


def compiled_wheel(folder: Path, python: str) -> Path:
    """Make a wheel that is for one Python."""
    path = folder / f"compiled-1-{python}-{python}-any_machine.whl"
    with ZipFile(path, "w") as wheel:
        wheel.writestr("compiled.py", "")
    return path


def unpacked(archive: bytes, folder: Path) -> Path:
    """Unpack an archive, and return a link to the program, as krew makes one."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as content:
        unpack(content, folder / "store")
    link = folder / PROGRAM
    link.symlink_to(folder / "store" / PROGRAM)
    return link


def run(program: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    found = {"PATH": str(Path(sys.executable).parent), **environ}
    command = [str(program), *arguments]
    return subprocess.run(command, env=found, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the program itself; its dependencies are those of the environment of the tests."""
    wheels, folder = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("krew")
    return unpacked(packed([program_wheel(wheels), compiled_wheel(wheels, HERE)]), folder)


def test_it_explains_a_pod_of_the_sample(installed: Path) -> None:
    line = ["explain", "db-3", "-n", "data", "--cluster", str(SAMPLES / "cluster.yaml")]
    done = run(installed, *line, PYTHONPATH=sysconfig.get_path("purelib"))
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("data/db-3 fits on no node\n")


def test_the_program_is_the_one_of_the_archive(installed: Path) -> None:
    program = installed.parent / "store" / "lib" / "all" / "extender" / "__init__.py"
    original = program.read_text()
    program.write_text(original.replace(__version__, "9.9.9"))
    done = run(installed, "version", PYTHONPATH=sysconfig.get_path("purelib"))
    program.write_text(original)
    assert done.stdout.startswith("affinity-extender 9.9.9 (")


def test_a_python_that_it_is_not_for_says_which_is_needed(tmp_path: Path) -> None:
    program = unpacked(packed([compiled_wheel(tmp_path, "cp398")]), tmp_path)
    done = run(program, "version")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("kubectl-affinity: Python 3.98 to 3.98 is needed, and /")
    assert f" is 3.{sys.version_info[1]}; install one of them, as python3.98" in done.stderr


def test_it_takes_the_newest_python_that_it_is_for(tmp_path: Path) -> None:
    wheels = [compiled_wheel(tmp_path, f"cp3{minor}") for minor in (97, 98, 99)]
    program = unpacked(packed(wheels), tmp_path)
    for minor in (97, 98):
        python = tmp_path / f"python3.{minor}"
        python.write_text('#!/bin/sh\necho "$0" "$@"\n')
        python.chmod(0o755)
    path = os.pathsep.join((str(tmp_path), str(Path(sys.executable).parent), "/bin"))
    done = run(program, "explain", "a b", PATH=path)
    assert done.stdout == f"{tmp_path}/python3.98 {program} explain a b\n"


def test_packages_that_do_not_load_are_said_to(tmp_path: Path) -> None:
    wheel = compiled_wheel(tmp_path, HERE)
    with ZipFile(wheel, "a") as content:
        content.writestr("msgspec.py", "raise ImportError('ELF file version')")
    done = run(unpacked(packed([wheel]), tmp_path), "version")
    assert done.returncode == 3
    assert "cannot be loaded here (ELF file version); install the program with pipx" in done.stderr


def test_an_old_python_can_read_the_launcher() -> None:
    ast.parse(LAUNCHER.read_text(), feature_version=(3, 6))


def test_the_same_wheels_make_the_same_bytes(tmp_path: Path) -> None:
    wheels = [compiled_wheel(tmp_path, python) for python in ("cp311", "cp312")]
    assert packed(wheels) == packed(wheels[::-1])


@pytest.fixture
def written(tmp_path: Path) -> dict[str, Any]:
    """Return the manifest of archives with different contents, as it is read again."""
    archives = {platform: tmp_path / platform.archive for platform in PLATFORMS}
    for platform, path in archives.items():
        path.write_text(str(platform))
    found: dict[str, Any] = yaml.safe_load(text(manifest(archives, URL, "https://example.com")))
    return found


def test_the_manifest_says_where_each_platform_has_its_archive(
    written: dict[str, Any], tmp_path: Path
) -> None:
    assert len(written["spec"]["platforms"]) == 4
    for each in written["spec"]["platforms"]:
        labels = each["selector"]["matchLabels"]
        file = f"kubectl-affinity-{labels['os']}-{labels['arch']}.tar.gz"
        assert each["uri"] == URL + file
        assert each["sha256"] == hashlib.sha256((tmp_path / file).read_bytes()).hexdigest()
        assert each["bin"] == PROGRAM


def test_the_manifest_is_as_krew_wants_it(written: dict[str, Any]) -> None:
    assert written["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2"
    assert (written["kind"], written["metadata"]["name"]) == ("Plugin", "affinity")
    spec = written["spec"]
    assert re.fullmatch(r"v\d+\.\d+\.\d+(-rc\.\d+)?", spec["version"])
    assert len(spec["shortDescription"]) <= 50, "krew's guide for authors"
    assert "\n" not in spec["shortDescription"]
    assert spec["homepage"] == "https://example.com"
    assert max(map(len, text(written).splitlines())) <= 120
