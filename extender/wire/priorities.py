"""The answer to prioritize: k8s.io/kube-scheduler/extender/v1.HostPriorityList."""

from __future__ import annotations

import orjson

from extender.cluster.nodes import Nodes
from extender.cluster.topology import picker
from extender.verbs.prioritizing import Scored

EMPTY = b"[]"


class PriorityWriter:
    """Writes scores; the part of each entry that repeats, with the host's name, is kept.

    An answer may name every node of the cluster, and pasting text together costs half of what
    encoding an object for each would.
    """

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._version = -1
        self._names: list[str] = []
        self._heads: list[str] = []

    def write(self, scored: Scored) -> bytes:
        """Write a HostPriorityList; hosts that are left out score 0."""
        if not scored.raw:
            return EMPTY
        if self._version != self._nodes.version:
            self._catch_up()
        tails = {raw: f"{score}}}" if score else "" for raw, score in scored.final.items()}
        heads = picker(scored.numbers)(self._heads)
        entries = [
            head + tails[raw] for head, raw in zip(heads, scored.raw, strict=True) if tails[raw]
        ]
        return f"[{','.join(entries)}]".encode()

    def _catch_up(self) -> None:
        """Write the heads of nodes that are new under their number."""
        kept = len(self._names)
        for number, name in enumerate(self._nodes.names):
            if number >= kept:
                self._names.append(name)
                self._heads.append(_head(name))
            elif self._names[number] is not name:
                self._names[number] = name
                self._heads[number] = _head(name)
        self._version = self._nodes.version


def _head(name: str) -> str:
    return f'{{"Host":{orjson.dumps(name).decode()},"Score":'
