"""Keep what is built from Go modules in a user cache, one folder for each set of versions.

The cache outlives the checkout. A finished folder appears by a rename, so an interrupted build
leaves nothing to trip over.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.controlplane.gobuild import build, build_kubernetes
from tests.e2e.controlplane.toolchain import GO_BIN, find_go, go_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Report = Callable[[str], None]
    # Compiles into the folder given last; the one before it is for sources and logs.
    Build = Callable[[Path, Path, Path], None]

KUBERNETES = "1.37.2"
"""The release that everything is tested with and measured on."""
NEXT = "1.38.0-beta.0"
"""A release of which the scheduler alone is built; it runs beside the rest of `KUBERNETES`."""
ETCD = "3.6.7"

_COMMANDS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")


@dataclass(frozen=True, slots=True)
class Binaries:
    """The commands of one finished build."""

    folder: Path
    scheduler: str = KUBERNETES
    """The release of the scheduler."""
    rest: Path | None = None
    """Where the commands are that are not in the folder."""

    def __getitem__(self, command: str) -> str:
        file = self.folder / command
        return str(file if self.rest is None or file.exists() else self.rest / command)


def ensure(report: Report, version: str = KUBERNETES) -> Binaries:
    """Return the whole control plane of a release, building it when this machine has none yet."""
    if version == NEXT:
        scheduler = ensure_one("kube-scheduler", version, report)
        return replace(scheduler, scheduler=version, rest=ensure(report).folder)

    def compile_all(go: Path, scratch: Path, product: Path) -> None:
        folder = scratch / "kubernetes"
        build_kubernetes(go, folder, product, report, version=version, commands=_COMMANDS)
        module = "go.etcd.io/etcd/server/v3"
        options = ["-o", str(product / "etcd"), module]
        build(go, scratch / "etcd", options, report, what="etcd", requires=[f"{module} v{ETCD}"])

    name = f"kubernetes-{version}-etcd-{ETCD}"
    return replace(kept(name, compile_all, report, go_for(version)), scheduler=version)


def ensure_one(command: str, version: str, report: Report) -> Binaries:
    """Return one command of another release alone: about three minutes the first time."""

    def compile_one(go: Path, scratch: Path, product: Path) -> None:
        folder = scratch / "kubernetes"
        build_kubernetes(go, folder, product, report, version=version, commands=(command,))

    return kept(f"{command}-{version}", compile_one, report, go_for(version))


def cache_folder() -> Path:
    """Return where built things are kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "affinity-extender"


def kept(name: str, compile_into: Build, report: Report, go: str = GO_BIN) -> Binaries:
    """Return the folder of this name in the cache, compiling what belongs there if need be."""
    cache = cache_folder()
    finished = cache / name
    if not finished.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with _only_one_builder(cache / "build.lock", report):
            if not finished.exists():
                _remove_leftovers(cache)
                _compile(cache, finished, compile_into, report, go)
    return Binaries(finished)


def kept_from(
    family: str,
    sources: Iterable[Path],
    compile_into: Build,
    report: Report,
    go: str = GO_BIN,
) -> Binaries:
    """Return what these sources make; after a change of them it is built anew."""
    digest = hashlib.sha256()
    for file in sources:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())

    def compile_it(go: Path, scratch: Path, product: Path) -> None:
        for older in cache_folder().glob(f"{family}-*"):
            shutil.rmtree(older, ignore_errors=True)
        compile_into(go, scratch, product)

    return kept(f"{family}-{digest.hexdigest()[:12]}", compile_it, report, go)


@contextmanager
def _only_one_builder(path: Path, report: Report) -> Iterator[None]:
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("another run is building: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _remove_leftovers(cache: Path) -> None:
    """Remove build folders of killed runs; only under the lock, so nobody is using them."""
    for folder in cache.glob("building-*"):
        shutil.rmtree(folder, ignore_errors=True)


def _compile(
    cache: Path, finished: Path, compile_into: Build, report: Report, version: str
) -> None:
    go = find_go(cache, report, version)
    report(f"building {finished.name} into {cache}: minutes on two cores, this once")
    with tempfile.TemporaryDirectory(prefix="building-", dir=cache) as scratch:
        product = Path(scratch) / "bin"
        product.mkdir()
        compile_into(go, Path(scratch), product)
        product.rename(finished)
    report(f"built: {finished}")
