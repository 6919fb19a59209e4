"""Who would replace a pod, and which taints it tolerates; read only where pods may be evicted."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from extender.model import memory
from extender.model.lru_cache import LruCache
from extender.model.workload import Owner, Tenure
from extender.wire.class_cache import decoded_size
from extender.wire.decoding import decode
from extender.wire.manifests import PodAnnotations
from extender.wire.placement import read_tolerations


class _Reference(msgspec.Struct, gc=False):
    """metav1.OwnerReference."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


_REFERENCES: msgspec.json.Decoder[list[_Reference] | None] = msgspec.json.Decoder(
    list[_Reference] | None
)


class TenureReader:
    """Reads them; pods of one controller share theirs, recognised by their bytes."""

    def __init__(self) -> None:
        self._known: LruCache[tuple[bytes, bytes, str | None], Tenure] = LruCache(memory.TENURES)

    def read(
        self,
        owners: msgspec.Raw,
        tolerations: msgspec.Raw,
        annotations: PodAnnotations | None = None,
    ) -> Tenure:
        """Return what counts of a pod; ObjectError names the field that is broken."""
        keep = None if annotations is None else annotations.keep
        key = (bytes(owners), bytes(tolerations), keep)
        known = self._known.get(key)
        if known is None:
            references = decode(_REFERENCES, key[0], "metadata.ownerReferences") or ()
            owner = next(_controllers(references), None)
            known = Tenure(owner, read_tolerations(key[1]), keep)
            self._known.put(key, known, decoded_size(*key[:2]))
        return known


def _controllers(references: list[_Reference] | tuple[()]) -> Iterator[Owner]:
    for each in references:
        if each.controller:
            # In manifests there is no uid; there the name is as good.
            yield Owner(each.kind, each.name, each.uid or f"{each.kind}/{each.name}")
