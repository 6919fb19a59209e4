"""Build etcd and the Kubernetes control plane from their Go modules, once for each version.

Everything goes into a user cache that outlives the checkout. A finished set is a folder named
after its versions; it appears by a rename, so an interrupted build leaves nothing to trip over.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.controlplane.toolchain import MissingToolError, find_go

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Report = Callable[[str], None]

KUBERNETES = "1.36.3"
ETCD = "3.6.7"

_KUBERNETES_COMMANDS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_REPORT_EVERY_S = 15.0
_STAGED = re.compile(r"^\s*(\S+) => \./staging/", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Binaries:
    """The commands of one finished build."""

    folder: Path

    def __getitem__(self, command: str) -> str:
        return str(self.folder / command)


def cache_folder() -> Path:
    """Return where built things are kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "affinity-extender"


def ensure(report: Report) -> Binaries:
    """Return the binaries, building them when this machine has none yet."""
    cache = cache_folder()
    finished = cache / f"kubernetes-{KUBERNETES}-etcd-{ETCD}"
    if not finished.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with _only_one_builder(cache / "build.lock", report):
            if not finished.exists():
                _remove_leftovers(cache)
                _build(cache, finished, report)
    return Binaries(finished)


@contextmanager
def _only_one_builder(path: Path, report: Report) -> Iterator[None]:
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("another run is building the control plane: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _remove_leftovers(cache: Path) -> None:
    """Remove build folders of killed runs; only under the lock, so nobody is using them."""
    for folder in cache.glob("building-*"):
        shutil.rmtree(folder, ignore_errors=True)


def _build(cache: Path, finished: Path, report: Report) -> None:
    go = find_go(cache, report)
    report(
        f"building Kubernetes {KUBERNETES} and etcd {ETCD} into {cache}: "
        "5 to 10 minutes on two cores, this once"
    )
    with tempfile.TemporaryDirectory(prefix="building-", dir=cache) as scratch:
        product = Path(scratch) / "bin"
        product.mkdir()
        _build_kubernetes(go, Path(scratch) / "kubernetes", product, report)
        _build_etcd(go, Path(scratch) / "etcd", product, report)
        product.rename(finished)
    report(f"the control plane is built: {finished}")


def _build_etcd(go: Path, folder: Path, product: Path, report: Report) -> None:
    module = "go.etcd.io/etcd/server/v3"
    _write_module(folder, requires=[f"{module} v{ETCD}"], replaces=[])
    _compile(go, folder, ["-o", str(product / "etcd"), module], "etcd", report)


def _build_kubernetes(go: Path, folder: Path, product: Path, report: Report) -> None:
    """Compile the commands against the published staging modules.

    k8s.io/kubernetes is not made to be required: its own go.mod asks for v0.0.0 of each staging
    module and replaces it by a folder. Outside that tree the release of the same number
    (v0.36.3 for v1.36.3) takes the folder's place.
    """
    staged = f"v0.{KUBERNETES.split('.', 1)[1]}"
    modules = _STAGED.findall(_go_mod_of_kubernetes(go, folder))
    _write_module(
        folder,
        requires=[f"k8s.io/kubernetes v{KUBERNETES}"],
        replaces=[f"{module} => {module} {staged}" for module in modules],
    )
    major, minor, _ = KUBERNETES.split(".")
    stamp = {"gitVersion": f"v{KUBERNETES}", "gitMajor": major, "gitMinor": minor}
    version = [f"-X k8s.io/component-base/version.{name}={value}" for name, value in stamp.items()]
    packages = [f"k8s.io/kubernetes/cmd/{command}" for command in _KUBERNETES_COMMANDS]
    options = ["-ldflags", " ".join(["-s", "-w", *version]), "-o", f"{product}/"]
    _compile(go, folder, [*options, *packages], "Kubernetes", report)


def _go_mod_of_kubernetes(go: Path, folder: Path) -> str:
    folder.mkdir(exist_ok=True)
    command = [str(go), "mod", "download", "-json", f"k8s.io/kubernetes@v{KUBERNETES}"]
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise MissingToolError(f"Go cannot fetch k8s.io/kubernetes: {answer.stdout}{answer.stderr}")
    return Path(json.loads(answer.stdout)["GoMod"]).read_text()


def _write_module(folder: Path, *, requires: list[str], replaces: list[str]) -> None:
    folder.mkdir(exist_ok=True)
    lines = ["module controlplane", "go 1.26.0"]
    lines += [f"require {line}" for line in requires]
    lines += [f"replace {line}" for line in replaces]
    (folder / "go.mod").write_text("\n".join(lines) + "\n")


def _compile(go: Path, folder: Path, arguments: list[str], what: str, report: Report) -> None:
    """Run go build, reporting how far it is; the end of its output is the error when it fails."""
    # -mod=mod lets it complete go.mod and go.sum; -v names each package once it is compiled.
    command = [str(go), "build", "-mod=mod", "-trimpath", "-v", *arguments]
    environment = os.environ | {"CGO_ENABLED": "0"}
    log = folder / "build.log"
    started = time.monotonic()
    with (
        log.open("w") as output,
        subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT
        ) as build,
    ):
        try:
            while not _finished(build, within=_REPORT_EVERY_S):
                lines = log.read_text().splitlines()
                packages = sum(not line.startswith("go: ") for line in lines)
                spent = time.monotonic() - started
                report(f"{what}: {packages} packages compiled after {spent:.0f} s")
        except BaseException:
            build.kill()
            raise
    if build.returncode:
        raise RuntimeError(f"go build failed for {what}:\n{log.read_text()[-4000:]}")
    report(f"{what}: done after {time.monotonic() - started:.0f} s")


def _finished(build: subprocess.Popen[bytes], *, within: float) -> bool:
    try:
        build.wait(within)
    except subprocess.TimeoutExpired:
        return False
    return True
