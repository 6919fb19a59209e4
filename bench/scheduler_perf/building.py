"""The benchmark's program: upstream's package, pinned, and the little around it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.controlplane.binaries import KUBERNETES, kept_from
from tests.e2e.controlplane.gobuild import kubernetes_module, run_go, staging_replacements
from tests.e2e.controlplane.toolchain import find_go

if TYPE_CHECKING:
    from collections.abc import Callable

    Report = Callable[[str], None]

_HERE = Path(__file__).parent
_PINNED = ("go.mod", "go.sum")
PROGRAM = "scheduler_perf.test"


def program(report: Report) -> Path:
    """Return the benchmark as a command, compiled from the modules that are pinned here."""
    sources = [_HERE / name for name in _PINNED] + sorted(_HERE.rglob("*.go"))

    def compile_it(go: Path, scratch: Path, product: Path) -> None:
        folder = scratch / "scheduler_perf"
        shutil.copytree(_HERE, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        _compile(go, folder, product, report, "readonly")

    return Path(kept_from(f"scheduler-perf-{KUBERNETES}", sources, compile_it, report)[PROGRAM])


def pin(go: Path, scratch: Path, report: Report) -> None:
    """Write go.mod and go.sum for the Kubernetes release of today."""
    folder = scratch / "scheduler_perf"
    shutil.copytree(_HERE, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__", *_PINNED))
    lines = ["module scheduler_perf", "go 1.26.0", f"require k8s.io/kubernetes v{KUBERNETES}"]
    lines += [f"replace {line}" for line in staging_replacements(go, scratch, KUBERNETES)]
    (folder / "go.mod").write_text("\n".join(lines) + "\n")
    _compile(go, folder, scratch, report, "mod")
    for name in _PINNED:
        shutil.copy(folder / name, _HERE / name)


def upstream(cache: Path, report: Report) -> Path:
    """Return the folder of upstream's benchmark, with its test cases and templates."""
    cache.mkdir(parents=True, exist_ok=True)
    module = kubernetes_module(find_go(cache, report), cache, KUBERNETES)
    return module / "test" / "integration" / "scheduler_perf"


def _compile(go: Path, folder: Path, product: Path, report: Report, mode: str) -> None:
    command = [str(go), "test", "-c", "-vet=off", "-trimpath", f"-mod={mode}"]
    command += ["-o", str(product / PROGRAM), "."]
    run_go(command, folder, f"scheduler_perf of Kubernetes {KUBERNETES}", report)
