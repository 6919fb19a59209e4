"""Upstream's own Go tests, copied out of the module of a release, edited, and compiled.

`go test -overlay` does not reach files of the module cache. So the packages are copied into a
module of our own at build time, and only the copies are edited.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.controlplane.binaries import Binaries, kept_from
from tests.e2e.controlplane.gobuild import build, kubernetes_module, staging_replacements
from tests.e2e.controlplane.toolchain import go_for

Report = Callable[[str], None]

_UPSTREAM, _MODULE = "k8s.io/kubernetes/", "upstream/"


@dataclass(frozen=True, slots=True)
class Suite:
    """Packages of k8s.io/kubernetes that are copied, and what is changed in the copies."""

    name: str
    packages: Sequence[str]
    """Paths in the module; those with tests become a command each, `<last part>.test`."""
    edit: Callable[[str, str], str]
    """Change a Go file, given its path in the module and its text."""
    edited_by: str
    """The file with `edit`: when it changes, the suite is built anew."""
    own: Path
    """A Go package of ours, for the copies to import as `upstream/<its name>`."""


def compiled(suite: Suite, version: str, report: Report) -> Binaries:
    """Return the tests of a suite as commands; those of one release take minutes the first time."""

    def compile_it(go: Path, scratch: Path, product: Path) -> None:
        folder = scratch / "upstream"
        upstream = kubernetes_module(go, folder, version)
        for package in suite.packages:
            _copy(suite, upstream, package, folder)
        shutil.copytree(suite.own, folder / suite.own.name)
        tested = [p for p in suite.packages if any((folder / p).glob("*_test.go"))]
        build(
            go,
            folder,
            ["-o", f"{product}/", *(f"./{package}" for package in tested)],
            report,
            what=f"{suite.name} of Kubernetes {version}",
            requires=[f"k8s.io/kubernetes v{version}"],
            replaces=staging_replacements(go, folder, version),
            module="upstream",
            verb=("test", "-c", "-vet=off", "-ldflags=-s -w"),
        )

    sources = [Path(__file__), Path(suite.edited_by), *sorted(suite.own.glob("*.go"))]
    name = f"upstream-{suite.name}-{version}"
    return kept_from(name, sources, compile_it, report, go_for(version))


def _copy(suite: Suite, upstream: Path, package: str, folder: Path) -> None:
    (folder / package).mkdir(parents=True)
    for file in sorted((upstream / package).glob("*.go")):
        text = suite.edit(f"{package}/{file.name}", file.read_text())
        # The copies import each other, not the originals.
        for copied in suite.packages:
            text = text.replace(f'"{_UPSTREAM}{copied}"', f'"{_MODULE}{copied}"')
        (folder / package / file.name).write_text(text)


def with_import(text: str, path: str) -> str:
    before, package, after = text.partition("\npackage ")
    name, newline, body = after.partition("\n")
    return f'{before}{package}{name}{newline}\nimport "{path}"\n{body}'


def replaced(text: str, old: str, new: str) -> str:
    """Replace what has to be there once: otherwise upstream has changed, and so must the edit."""
    if text.count(old) != 1:
        raise ValueError(f"upstream's code has {old!r} {text.count(old)} times, not once")
    return text.replace(old, new)
