"""Lists of node names: decoded and looked up once, though they travel twice."""

from __future__ import annotations

from collections import deque

import msgspec

from extender.cluster.counts.nodes import AskedNodes, Nodes
from extender.model import memory
from extender.wire.decoding import decode

REMEMBERED = 4
"""Answers whose names are remembered. The scheduler works on one pod at a time, so the list of a
prioritize call is nearly always the one that filter answered last; a few more serve a second
scheduler that shares the extender."""

LARGEST = memory.NAME_LISTS // REMEMBERED
PER_NAME = 128
"""Bytes of a name that was decoded, and of its number."""

_NAMES = msgspec.json.Decoder(list[str])


class NameLists:
    """Reads NodeNames; recognises, by its bytes, a list that was just answered."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._recent: deque[tuple[bytes, AskedNodes]] = deque(maxlen=REMEMBERED)

    def read(self, raw: msgspec.Raw) -> AskedNodes:
        """Return the nodes that a JSON list names; ObjectError when it is not such a list."""
        length = len(memoryview(raw))
        for known, asked in self._recent:
            if (
                len(known) == length
                and asked.version == self._nodes.version
                and known == bytes(raw)
            ):
                return asked
        names = decode(_NAMES, raw, "NodeNames")
        return self._nodes.asked(names)

    def remember(self, raw: bytes, asked: AskedNodes) -> None:
        """Keep a list that is about to be answered, as the bytes of the answer have it.

        One that would take more than LARGEST is decoded again when it is asked about.
        """
        if len(raw) + PER_NAME * len(asked.names) <= LARGEST:
            self._recent.appendleft((raw, asked))
