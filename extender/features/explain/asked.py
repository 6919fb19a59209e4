"""Which pod or workload a request is about, and which nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from extender.core.errors import ObjectError, RequestError
from extender.core.model.objects import Pod
from extender.core.wire.decoding import decode
from extender.core.wire.extender_args import is_null, read_nodes
from extender.core.wire.manifests import NULL
from extender.core.wire.objects import PodReader
from extender.diagnosis.wire.explanation import KINDS, read_manifest


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


@dataclass(frozen=True, slots=True)
class AskedPod:
    """A pod to be explained."""

    pod: Pod
    node_names: Sequence[str] | None = None
    """The nodes asked about, None for all."""


def read_asked(body: bytes, pods: PodReader) -> AskedPod:
    """Read a manifest, or what filter is asked: {"Pod": ..., "NodeNames": [...]}.

    RequestError for what is no such thing; ObjectError names the field that is broken.
    """
    try:
        asked = decode(_ASKED, body)
    except ObjectError as error:
        raise RequestError(str(error)) from error
    if asked.Pod is not NULL:
        return AskedPod(read_manifest("Pod", asked.Pod, pods), asked.names)
    if asked.kind not in KINDS:
        raise RequestError(
            f"kind: {(asked.kind or 'none')[:80]!r} is not one of {', '.join(sorted(KINDS))}"
        )
    return AskedPod(read_manifest(asked.kind, body, pods))
