"""One control plane for the session; a clean sandbox on it for each test; logs where one fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.asking import InTree, Release, in_tree
from tests.conformance.programs import ANSWER, FAST_PATH, RELEASES, answering
from tests.deploy.places import ROOT
from tests.e2e.controlplane.binaries import KUBERNETES, ensure
from tests.e2e.controlplane.cluster import ControlPlane, control_plane
from tests.e2e.controlplane.credentials import SCHEDULER
from tests.e2e.controlplane.process import tail
from tests.e2e.controlplane.toolchain import MissingToolError
from tests.e2e.extending import EXTENDER
from tests.e2e.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Iterator

    from tests.e2e.controlplane.binaries import Binaries

    Build = Callable[[Callable[[str], None]], Binaries]


_NEWEST = (KUBERNETES, f"{KUBERNETES}+{FAST_PATH}")
_RELEASES = {"newest": _NEWEST, "all": (*RELEASES, _NEWEST[-1])}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run ask for more than a passing one needs."""
    parser.addoption("--repeats", type=int, default=1, help="run each test so many times")
    differential = parser.getgroup("differential")
    differential.addoption("--questions", type=int, default=2000, help="new ones for each release")
    differential.addoption(
        "--releases",
        default=KUBERNETES,
        help="Kubernetes versions, some +Gate; newest; all",
    )
    parser.addoption("--apps", type=int, default=1, help="in test_repair.py, and of so many pods")
    parser.addoption("--replicas", type=int, default=12)
    parser.addoption("--descheduler", help="its program, to be compared with")
    parser.addoption("--release-in", type=Path, help="what make release has made, or it is")
    parser.addoption("--rounds", type=int, default=2, help="of scaling down, in one test")
    parser.addoption("--worlds", type=int, default=4, help="drawn clusters, in test_worlds.py")
    parser.addoption("--older", help="a commit, in test_upgrade.py, in the place of 0.1")
    parser.addoption("--record", action="store_true", help="write what is recorded anew")
    parser.addoption("--kubernetes", default=KUBERNETES, help="the control plane's release")
    differential.addoption("--seed", type=int, help="the one that an earlier run has named")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Repeat each test as often as asked, and for each release that is named."""
    repeats = metafunc.config.getoption("--repeats")
    if repeats > 1:
        metafunc.fixturenames.append("repeat")
        metafunc.parametrize("repeat", range(1, repeats + 1))
    if "release" in metafunc.fixturenames:
        named = metafunc.config.getoption("--releases")
        releases = _RELEASES.get(named) or named.split(",")
        metafunc.parametrize("release", releases, scope="module")


_LOG_FOLDERS = pytest.StashKey["list[Path]"]()


@pytest.fixture(scope="session")
def say(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Return a way to write to the terminal at once, where pytest would capture it."""
    plugins = request.config.pluginmanager
    capture = plugins.getplugin("capturemanager")
    assert capture is not None
    if not plugins.hasplugin("terminalreporter"):  # one of several processes
        return partial(_say_beside, capture)
    terminal = request.config.get_terminal_writer()

    def write(line: str) -> None:
        with capture.global_and_fixture_disabled():
            if terminal.width_of_current_line:
                terminal.line()  # the name of the test that waits for this
            terminal.line(f"e2e: {line}")
            terminal.flush()

    return write


def _say_beside(capture: Any, line: str) -> None:
    with capture.global_and_fixture_disabled():
        sys.stderr.write(f"e2e: {line}\n")


@pytest.fixture(scope="module")
def start(request: pytest.FixtureRequest, say: Callable[[str], None]) -> int:
    """Return the seed of what is drawn: another one each time, unless one is given."""
    given_seed: int | None = request.config.getoption("--seed")
    chosen = int.from_bytes(os.urandom(4)) if given_seed is None else given_seed
    say(f"questions with --seed {chosen}")
    return chosen


@pytest.fixture(scope="session")
def built(say: Callable[[str], None]) -> Callable[[Build], Binaries]:
    """Return what runs a build: it tells how far it is, and skips where a tool is missing."""

    def run(build: Build) -> Binaries:
        try:
            return build(say)
        except MissingToolError as missing:
            if os.environ.get("CI", "").lower() == "true":
                pytest.fail(f"CI must be able to run this: {missing}")
            pytest.skip(str(missing))

    return run


@pytest.fixture(scope="module")
def scheduler(kubernetes: str, built: Callable[[Build], Binaries]) -> Iterator[InTree]:
    """Return the whole scheduler's own plugins, from 1.37 on, built on the first run."""
    with in_tree(Release(kubernetes), built(partial(answering, kubernetes))[ANSWER]) as asked:
        yield asked


@pytest.fixture(scope="session")
def dist(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    say: Callable[[str], None],
) -> Path:
    """Return a folder with all of a release; to make one takes minutes."""
    made: Path | None = request.config.getoption("--release-in")
    if made is not None:
        return made.resolve()
    for tool in ("buildah", "mmdebstrap"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed: make image-tools")
    folder = tmp_path_factory.mktemp("dist")
    say("making a release: some minutes")
    command = ["make", "release", "URL=https://example.com/v1.0.0-rc.1", f"DIST={folder}"]
    environ = {name: of for name, of in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=1800
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def kubernetes(request: pytest.FixtureRequest) -> str:
    """Return the version of the control plane."""
    named: str = request.config.getoption("--kubernetes")
    return named


@pytest.fixture(scope="session")
def binaries(kubernetes: str, built: Callable[[Build], Binaries]) -> Binaries:
    """Return the commands of the control plane, built on the first run."""
    return built(partial(ensure, version=kubernetes))


@pytest.fixture(scope="session")
def cluster(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Return a running control plane."""
    folder = tmp_path_factory.mktemp("control-plane")
    with control_plane(binaries, folder, [SCHEDULER, EXTENDER]) as running:
        yield running


@pytest.fixture
async def sandbox(
    request: pytest.FixtureRequest, cluster: ControlPlane, tmp_path: Path
) -> AsyncIterator[Sandbox]:
    """Return a clean cluster to work on."""
    request.node.stash[_LOG_FOLDERS] = [cluster.folder, tmp_path]
    async with Sandbox.opened(cluster, tmp_path) as opened:
        yield opened


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, Any]:
    """Show the end of every log under a failed test."""
    report = yield
    if report.failed:
        for folder in item.stash.get(_LOG_FOLDERS, []):
            for log in sorted(folder.rglob("*.log")):
                report.sections.append((f"end of {log.name}", tail(log)))
    return report
