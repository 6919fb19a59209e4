"""The wheels, as they are built for pipx and for the image: each has its programs, and no more."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterable
from pathlib import Path
from zipfile import ZipFile

import pytest

from extender import __version__
from tests.deploy.places import ROOT

SHIPPED = ("extender", "affinityctl")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of the program."""
    return built(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def load_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of clusterload."""
    return built(ROOT / "clusterload", tmp_path_factory.mktemp("load-wheel"))


def built(source: Path, folder: Path) -> Path:
    """Build a wheel with the backend that is installed, without the network."""
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, str(folder)],
        cwd=source,
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    return folder / done.stdout.splitlines()[-1]


def modules(*folders: str) -> set[str]:
    return {
        str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / folder).rglob("*.py")
    }


def files(wheel: Path) -> set[str]:
    """Return what is in a wheel beside what installers read."""
    with ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_what_is_built_again_has_the_same_bytes(
    wheel: Path, load_wheel: Path, tmp_path: Path
) -> None:
    for source, first in ((ROOT, wheel), (ROOT / "clusterload", load_wheel)):
        assert built(source, tmp_path).read_bytes() == first.read_bytes()


def test_every_module_of_the_program_is_in_it_and_neither_tests_nor_load(wheel: Path) -> None:
    assert {name for name in files(wheel) if name.endswith(".py")} == modules(*SHIPPED)
    assert {name.partition("/")[0] for name in files(wheel)} == {*SHIPPED}


def test_every_template_of_the_program_is_in_it(wheel: Path) -> None:
    kinds = (".html", ".css")
    found = {name for name in files(wheel) if name.endswith(kinds)}
    paths = (path for path in (ROOT / "extender").rglob("*") if path.suffix in kinds)
    assert found == {str(path.relative_to(ROOT)) for path in paths}
    assert {Path(name).suffix for name in found} <= {*kinds}


def test_the_load_test_is_a_wheel_of_its_own(load_wheel: Path) -> None:
    assert files(load_wheel) == modules("clusterload")


def test_both_say_where_the_project_is_found_if_that_is_told(
    wheel: Path, load_wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOMEPAGE", "https://example.com")
    for source, first in ((ROOT, wheel), (ROOT / "clusterload", load_wheel)):
        added = {*metadata(built(source, tmp_path))} - {*metadata(first)}
        assert added == {"Project-URL: Homepage, https://example.com"}


def metadata(wheel: Path) -> list[str]:
    """Return the lines of what a wheel says of itself."""
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        return archive.read(name).decode().splitlines()


def test_the_load_test_wants_the_program_of_its_own_version(load_wheel: Path) -> None:
    lines = metadata(load_wheel)
    assert f"Version: {__version__}" in lines
    assert f"Requires-Dist: affinity-extender=={__version__}" in lines


@pytest.fixture(scope="module")
def installed(wheel: Path, load_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheels beside the dependencies of the environment that runs the tests."""
    home = tmp_path_factory.mktemp("pipx")
    return install(home, [wheel, load_wheel], sysconfig.get_path("purelib"))


def install(home: Path, wheels: Iterable[Path], *dependencies: str) -> Path:
    """Install wheels where nothing else is, as pipx does; return the folder of their programs."""
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    flags = (*pip, "--disable-pip-version-check", "--no-deps", "--no-index", "--no-compile")
    said(*flags, *map(str, wheels))
    (here,) = home.glob("lib/python*/site-packages")
    (here / "dependencies.pth").write_text("\n".join(dependencies))
    return home / "bin"


def said(*command: str, code: int = 0) -> str:
    """Run a command in a folder where nothing of ours is, and return what it prints."""
    done = subprocess.run(command, cwd="/", capture_output=True, check=False, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done.stdout


@pytest.mark.parametrize("script", ["affinity-extender", "kubectl-affinity", "clusterload"])
def test_its_programs_say_their_version(installed: Path, script: str) -> None:
    program = "clusterload" if script == "clusterload" else "affinity-extender"
    assert said(str(installed / script), "--version").startswith(f"{program} {__version__} (")


@pytest.mark.parametrize("script", ["affinity-extender", "kubectl-affinity"])
def test_its_programs_explain_a_pod_of_the_sample(installed: Path, script: str) -> None:
    code = "import extender; print(extender.__file__)"
    module = Path(said(str(installed / "python"), "-c", code).strip())
    assert module.is_relative_to(installed.parent), "the one of the wheel"
    sample = module.parent / "samples" / "cluster.yaml"
    explained = [str(installed / script), "explain", "db-3", "-n", "data", "--cluster", str(sample)]
    assert said(*explained, code=1).startswith("data/db-3 fits on no node\n")
