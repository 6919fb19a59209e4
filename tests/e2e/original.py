"""Go programs around Kubernetes' own code, each of a folder here; they answer questions."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.controlplane.binaries import KUBERNETES, kept_from
from tests.e2e.controlplane.gobuild import build, staging_replacements

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.controlplane.binaries import Binaries

    Report = Callable[[str], None]

WHOLE, CLIENT_GO = "k8s.io/kubernetes", "k8s.io/client-go"


def original(
    built: Callable[[Callable[[Report], Binaries]], Binaries], name: str, what: str, module: str
) -> str:
    """Return the program of a folder; by the fixture `built`, a minute or more the first time.

    `module` is what it requires: WHOLE, or one of the modules that are published beside it, of the
    release that is pinned.
    """
    sources = Path(__file__).with_name(name)
    version = KUBERNETES if module == WHOLE else f"0.{KUBERNETES.split('.', 1)[1]}"

    def ensure(report: Report) -> Binaries:
        def compile_it(go: Path, scratch: Path, product: Path) -> None:
            folder = scratch / name
            shutil.copytree(sources, folder)
            build(
                go,
                folder,
                ["-o", str(product / name), "."],
                report,
                what=f"{what} {version}",
                requires=[f"{module} v{version}"],
                replaces=staging_replacements(go, folder, KUBERNETES) if module == WHOLE else (),
                module=name,
            )

        return kept_from(f"{name}-{KUBERNETES}", sorted(sources.iterdir()), compile_it, report)

    return built(ensure)[name]
