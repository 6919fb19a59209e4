"""Configurations in ConfigMaps, as rendered manifests have them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from affinityctl.scheduler.file import KIND as SCHEDULER_KIND
from extender.core.config import KIND as OUR_KIND
from extender.core.errors import ObjectError
from extender.core.offline import objects_of
from extender.core.wire.decoding import Json, decode
from extender.diagnosis.wire.workloads import OwnedMetadata

KIND: Final = "ConfigMap"

_NAMED: Final = re.compile(rf"{OUR_KIND}|{SCHEDULER_KIND}")


class _ConfigMap(msgspec.Struct):
    metadata: OwnedMetadata | None = None
    data: dict[str, Any] | None = None


_CONFIG_MAP = msgspec.json.Decoder(_ConfigMap)


class Mapped(NamedTuple):
    """A configuration in a ConfigMap."""

    name: str
    """Of the ConfigMap, and the key under which it is there."""
    kind: str
    content: msgspec.Raw


def configurations(raw: Json) -> Iterator[Mapped]:
    """Yield the configurations of extenders, and of schedulers that have one.

    What a scheduler without extenders reads is its own business.
    """
    found = decode(_CONFIG_MAP, raw)
    metadata = found.metadata or OwnedMetadata()
    for key, text in (found.data or {}).items():
        if not isinstance(text, str) or _NAMED.search(text) is None:
            continue
        for kind, content in _parsed(text):
            if kind == OUR_KIND or (kind == SCHEDULER_KIND and b'"extenders"' in bytes(content)):
                yield Mapped(f"{metadata.space}/{metadata.name} {key}", kind, content)


def _parsed(text: str) -> Sequence[tuple[str, msgspec.Raw]]:
    try:
        return list(objects_of(text.encode()))
    except ObjectError:  # a script or a page that has one in it
        return ()
