"""Pods and workloads that are not in the cluster, out of files that a command line names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

import msgspec

from extender.core.errors import ObjectError
from extender.core.offline import ClusterFileError, objects_in
from extender.core.wire.decoding import Json, decode

T = TypeVar("T")

_ANY = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_manifests(
    path: Path,
    kinds: Collection[str],
    namespace: str,
    read: Callable[[str, bytes], T],
    also: Callable[[str, bytes], object],
) -> tuple[list[T], Counter[str]]:
    """Read the objects of these kinds in a file, and count those of others.

    Those that name no namespace are taken to be in this one. `also` gets all of them.
    ClusterFileError names what is broken.
    """
    found: list[T] = []
    ignored: Counter[str] = Counter()
    for index, (kind, raw) in enumerate(objects_in(path)):
        try:
            placed = _in_namespace(raw, namespace)
            also(kind, placed)
            if kind in kinds:
                found.append(read(kind, placed))
            else:
                ignored[kind] += 1
        except ObjectError as error:
            raise ClusterFileError(f"{path}: object {index} ({kind}): {error}") from error
    return found, ignored


def _in_namespace(raw: Json, namespace: str) -> bytes:
    """Return a manifest with this namespace where it names none, as kubectl sends it."""
    manifest = decode(_ANY, raw)
    metadata = decode(_ANY, manifest.get("metadata", b"{}"), "metadata")
    if bytes(metadata.get("namespace", b"null")) in {b"null", b'""'}:
        metadata["namespace"] = msgspec.Raw(msgspec.json.encode(namespace))
        manifest["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    return msgspec.json.encode(manifest)
