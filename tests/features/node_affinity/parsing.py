"""What the feature reads of others, for those who give it what is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from extender.core.config import parse_yaml
from extender.features.node_affinity.scheduler import KIND, added_affinity
from extender.features.node_affinity.section import NodeAffinityTerms
from tests.features.node_affinity.example import ON_GPUS

if TYPE_CHECKING:
    from collections.abc import Callable


def _read(raw: bytes) -> None:
    document = parse_yaml(raw.decode(errors="replace"), "scheduler.yaml")
    if isinstance(document, dict):
        added_affinity(document, NodeAffinityTerms)


PARSERS: Final[dict[str, tuple[Callable[[bytes], object], list[Any]]]] = {
    "affinity in a scheduler's file": (
        _read,
        [
            {
                "kind": KIND,
                "profiles": [
                    {"pluginConfig": [{"name": name, "args": {"addedAffinity": ON_GPUS}}]}
                    for name in ("NodeAffinity", "Other")
                ],
            }
        ],
    )
}
