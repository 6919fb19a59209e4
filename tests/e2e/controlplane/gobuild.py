"""Compile Go commands out of published modules: k8s.io/kubernetes with its staging modules."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.controlplane.toolchain import MissingToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Report = Callable[[str], None]

_REPORT_EVERY_S = 15.0
_STAGED = re.compile(r"^\s*(\S+) => \./staging/", re.MULTILINE)
_ELSEWHERE = {
    # It asks for v7.0.1, which the module proxy does not have.
    "1.38.0-beta.0": ("sigs.k8s.io/structured-merge-diff/v7 v7.0.0",),
}


def build_kubernetes(
    go: Path,
    folder: Path,
    product: Path,
    report: Report,
    *,
    version: str,
    commands: Sequence[str],
) -> None:
    """Compile commands of one Kubernetes release into `product`."""
    major, minor, *_ = version.split(".")
    stamp = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
    flags = [f"-X k8s.io/component-base/version.{name}={value}" for name, value in stamp.items()]
    packages = [f"k8s.io/kubernetes/cmd/{command}" for command in commands]
    build(
        go,
        folder,
        ["-ldflags", " ".join(["-s", "-w", *flags]), "-o", f"{product}/", *packages],
        report,
        what=f"Kubernetes {version}",
        requires=[f"k8s.io/kubernetes v{version}"],
        replaces=staging_replacements(go, folder, version),
    )


def staging_replacements(go: Path, folder: Path, version: str) -> list[str]:
    """Return the go.mod lines that put published modules in the place of the staging folders.

    k8s.io/kubernetes is not made to be required: its own go.mod asks for v0.0.0 of each staging
    module and replaces it by a folder. Outside that tree the release of the same number
    (v0.36.3 for v1.36.3) takes the folder's place.
    """
    staged = f"v0.{version.split('.', 1)[1]}"
    modules = _STAGED.findall((kubernetes_module(go, folder, version) / "go.mod").read_text())
    published = [f"{module} {staged}" for module in modules]
    return [
        f"{each.partition(' ')[0]} => {each}" for each in (*published, *_ELSEWHERE.get(version, ()))
    ]


def build(
    go: Path,
    folder: Path,
    arguments: Sequence[str],
    report: Report,
    *,
    what: str,
    requires: Sequence[str],
    replaces: Sequence[str] = (),
    module: str = "controlplane",
    verb: Sequence[str] = ("build", "-v"),
) -> None:
    """Run go build in a module of its own; the end of its output is the error when it fails."""
    folder.mkdir(exist_ok=True)
    lines = [f"module {module}", "go 1.26.0"]
    lines += [f"require {line}" for line in requires]
    lines += [f"replace {line}" for line in replaces]
    (folder / "go.mod").write_text("\n".join(lines) + "\n")
    # -mod=mod lets it complete go.mod and go.sum; -v names each package once it is compiled.
    run_go([str(go), *verb, "-mod=mod", "-trimpath", *arguments], folder, what, report)


def kubernetes_module(go: Path, folder: Path, version: str) -> Path:
    """Return where Go keeps the sources of one Kubernetes release, fetched if need be."""
    folder.mkdir(exist_ok=True)
    command = [str(go), "mod", "download", "-json", f"k8s.io/kubernetes@v{version}"]
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise MissingToolError(f"Go cannot fetch k8s.io/kubernetes: {answer.stdout}{answer.stderr}")
    return Path(json.loads(answer.stdout)["Dir"])


def run_go(command: list[str], folder: Path, what: str, report: Report) -> None:
    """Run what compiles something, reporting how far it is; the end of its output is the error."""
    log = folder / "build.log"
    started = time.monotonic()
    with (
        log.open("w") as output,
        subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | {"CGO_ENABLED": "0"},
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            while not _finished(process, within=_REPORT_EVERY_S):
                lines = log.read_text().splitlines()
                packages = sum(not line.startswith("go: ") for line in lines)
                spent = time.monotonic() - started
                compiled = f"{packages} packages compiled" if packages else "still compiling"
                report(f"{what}: {compiled} after {spent:.0f} s")
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise RuntimeError(f"go build failed for {what}:\n{log.read_text()[-4000:]}")
    report(f"{what}: done after {time.monotonic() - started:.0f} s")


def _finished(process: subprocess.Popen[bytes], *, within: float) -> bool:
    try:
        process.wait(within)
    except subprocess.TimeoutExpired:
        return False
    return True
