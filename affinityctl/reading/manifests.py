"""Pods and workloads that are not in the cluster, out of files that a command line names."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

import msgspec

from affinityctl.reading.sources import SECRET, PassedOver, read_objects
from extender.core.errors import ObjectError
from extender.core.offline import ClusterFileError
from extender.core.wire.decoding import Json, decode

T = TypeVar("T")

_ANY = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_manifests(
    path: Path,
    kinds: Collection[str],
    namespace: str,
    read: Callable[[str, bytes], T],
    also: Callable[[str, bytes], object],
) -> tuple[list[T], PassedOver]:
    """Read the objects of these kinds in a file, and count what else there is.

    Those that name no namespace are taken to be in this one. `also` gets all of them.
    ClusterFileError names what is broken, or says that nothing is of these kinds.
    """
    found: list[T] = []
    passed = PassedOver()
    for each in read_objects(path, passed):
        try:
            if each.kind == SECRET:
                passed.add(SECRET, each.where)
                continue
            placed = _in_namespace(each.content, namespace)
            also(each.kind, placed)
            if each.kind in kinds:
                found.append(read(each.kind, placed))
            else:
                passed.add_object(each)
        except ObjectError as error:
            raise ClusterFileError(f"{each.where} ({each.kind}): {error}") from error
    return found, passed


def _in_namespace(raw: Json, namespace: str) -> bytes:
    """Return a manifest with this namespace where it names none, as kubectl sends it."""
    manifest = decode(_ANY, raw)
    metadata = decode(_ANY, manifest.get("metadata", b"{}"), "metadata")
    if bytes(metadata.get("namespace", b"null")) in {b"null", b'""'}:
        metadata["namespace"] = msgspec.Raw(msgspec.json.encode(namespace))
        manifest["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    return msgspec.json.encode(manifest)
