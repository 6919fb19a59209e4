"""The Go programs around the scheduler's own code, built for one Kubernetes release."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.e2e.controlplane.binaries import KUBERNETES, Binaries, kept_from
from tests.e2e.controlplane.gobuild import build, staging_replacements
from tests.e2e.controlplane.toolchain import go_for

Report = Callable[[str], None]

RELEASES = ("1.33.13", "1.34.4", "1.35.4", "1.36.3", KUBERNETES)
"""One release of each minor version whose scheduler is compared with."""
FAST_PATH = "InterPodAffinityHostnameFastPath"
"""Alpha since 1.37: required rules by hostname are looked at node by node."""

_LIBRARY = Path(__file__).with_name("intree")
ANSWER = "answer"


def answering(version: str, report: Report) -> Binaries:
    """Return `answer`, which answers cases, one a line, as this release's plugins do."""
    return program(ANSWER, _LIBRARY / ANSWER, version, report)


def program(name: str, main: Path, version: str, report: Report) -> Binaries:
    """Return a program made of the library in `intree` and one package beside it.

    The first one of a release takes minutes; its packages then stay in Go's own cache.
    """
    sources = sorted(_LIBRARY.glob("*.go")), sorted(main.glob("*.go"))

    def compile_it(go: Path, scratch: Path, product: Path) -> None:
        folder = scratch / "intree"
        (folder / name).mkdir(parents=True)
        for place, files in zip((folder, folder / name), sources, strict=True):
            for file in files:
                shutil.copy(file, place)
        minor = "_".join(version.split(".")[:2])
        build(
            go,
            folder,
            ["-tags", f"kubernetes_{minor}", "-o", f"{product / name}", f"./{name}"],
            report,
            what=f"{name} with Kubernetes {version}",
            requires=[f"k8s.io/kubernetes v{version}"],
            replaces=staging_replacements(go, folder, version),
            module="intree",
        )

    every = [*sources[0], *sources[1]]
    return kept_from(f"{name}-{version}", every, compile_it, report, go_for(version))
