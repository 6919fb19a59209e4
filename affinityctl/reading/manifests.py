"""Pods and workloads that are not in the cluster, out of files that a command line names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from affinityctl.reading.sources import SECRET, PassedOver, Raw, read_objects
from affinityctl.reading.workloads import WorkloadFiles
from extender.core.errors import ObjectError
from extender.core.offline import ClusterFileError
from extender.core.wire.decoding import Json, decode

T = TypeVar("T")

_ANY = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(slots=True)
class Manifests(Generic[T]):
    """The objects of a file: pods and workloads of some kinds, and what is applied with them."""

    path: Path
    found: list[T] = field(default_factory=list)
    passed: PassedOver = field(default_factory=PassedOver)
    _objects: list[tuple[Raw, bool]] = field(default_factory=list)
    """All of them, and whether each is found."""
    _is_applied: bool = False

    def add(self, each: Raw, found: T | None) -> None:
        self._objects.append((each, found is not None))
        if found is not None:
            self.found.append(found)

    def nothing(self) -> str:
        """Say what is there instead, where none is found."""
        for each, _ in self._objects:
            self.passed.add_object(each)
        return str(self.passed)

    def apply(self, cluster: WorkloadFiles, *, verbose: bool = False) -> None:
        """Apply all but what was found to a cluster; say the first time what is passed over.

        ClusterFileError names what is broken.
        """
        for each, is_found in self._objects:
            with _named(each):
                applied = cluster.apply(each.kind, each.content)
            if not (applied or is_found or self._is_applied):
                self.passed.add_object(each)
        if not self._is_applied:
            self.passed.note(self.path, verbose=verbose)
        self._is_applied = True


def read_manifests(
    path: Path, kinds: Collection[str], namespace: str, read: Callable[[str, bytes], T]
) -> Manifests[T]:
    """Read the objects of these kinds in a file, and keep what else there is.

    Those that name no namespace are taken to be in this one. ClusterFileError names what is broken.
    """
    made: Manifests[T] = Manifests(path)
    for each in read_objects(path, made.passed):
        if each.kind == SECRET:
            made.passed.add(SECRET, each.where)
            continue
        with _named(each):
            placed = _in_namespace(each.content, namespace, keep=each.kind in kinds)
            found = read(each.kind, placed) if each.kind in kinds else None
            made.add(each._replace(content=msgspec.Raw(placed)), found)
    return made


@contextmanager
def _named(each: Raw) -> Iterator[None]:
    """Raise what is wrong with an object as ClusterFileError."""
    try:
        yield
    except ObjectError as error:
        raise ClusterFileError(f"{each.where} ({each.kind}): {error}") from error


def _in_namespace(raw: Json, namespace: str, *, keep: bool) -> bytes:
    """Return a manifest with this namespace where it names none, as kubectl sends it.

    Without `keep`, it has no status either: that is for controllers to write.
    """
    manifest = decode(_ANY, raw)
    if not keep:
        manifest.pop("status", None)
    metadata = decode(_ANY, manifest.get("metadata", b"{}"), "metadata")
    if bytes(metadata.get("namespace", b"null")) in {b"null", b'""'}:
        metadata["namespace"] = msgspec.Raw(msgspec.json.encode(namespace))
        manifest["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    return msgspec.json.encode(manifest)
