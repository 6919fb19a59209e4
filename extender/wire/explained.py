"""What is to be explained: a pod, or a workload whose template makes pods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from extender.errors import ObjectError, RequestError
from extender.model.objects import Pod
from extender.model.workload import revision_labels
from extender.wire.decoding import Json, decode
from extender.wire.extender_args import is_null, read_nodes
from extender.wire.manifests import NULL
from extender.wire.objects import PodReader
from extender.wire.workloads import NEW_REVISION, WORKLOADS, read_template

KINDS: Final = frozenset(("Pod", *WORKLOADS))
"""Kinds that can be explained."""


class _Asked(msgspec.Struct):
    kind: str | None = None
    Pod: msgspec.Raw = NULL
    Nodes: msgspec.Raw = NULL
    NodeNames: list[str] | None = None

    @property
    def names(self) -> list[str] | None:
        """Return the nodes asked about, each once and by name; None for all."""
        if self.NodeNames is not None:
            return list(dict.fromkeys(self.NodeNames))
        return None if is_null(self.Nodes) else list(read_nodes(self.Nodes))


_ASKED = msgspec.json.Decoder(_Asked)
_ANY = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True, slots=True)
class Explained:
    """A pod to be explained."""

    pod: Pod
    node_names: Sequence[str] | None = None
    """The nodes asked about, None for all."""


def read_asked(body: bytes, pods: PodReader) -> Explained:
    """Read a manifest, or what filter is asked: {"Pod": ..., "NodeNames": [...]}.

    RequestError for what is no such thing; ObjectError names the field that is broken.
    """
    try:
        asked = decode(_ASKED, body)
    except ObjectError as error:
        raise RequestError(str(error)) from error
    if asked.Pod is not NULL:
        return Explained(read_manifest("Pod", asked.Pod, pods).pod, asked.names)
    if asked.kind not in KINDS:
        raise RequestError(
            f"kind: {(asked.kind or 'none')[:80]!r} is not one of {', '.join(sorted(KINDS))}"
        )
    return read_manifest(asked.kind, body, pods)


def read_manifest(kind: str, raw: Json, pods: PodReader) -> Explained:
    """Read a pod, or a workload's template; ObjectError names the field that is broken.

    Its pods would be a new revision, in the labels that controllers have for that: matchLabelKeys
    may go by these.
    """
    if kind == "Pod":
        # A pod in a manifest may leave its name to the API server.
        return Explained(pods.read(raw, lambda _, prefix: f"{prefix}00000"))
    return Explained(read_template(kind, raw, pods, revision_labels(kind, NEW_REVISION)))


def in_namespace(raw: Json, namespace: str) -> bytes:
    """Return a manifest with this namespace where it names none, as kubectl sends it."""
    manifest = decode(_ANY, raw)
    metadata = decode(_ANY, manifest.get("metadata", b"{}"), "metadata")
    if bytes(metadata.get("namespace", b"null")) in {b"null", b'""'}:
        metadata["namespace"] = msgspec.Raw(msgspec.json.encode(namespace))
        manifest["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    return msgspec.json.encode(manifest)
