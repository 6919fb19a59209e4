"""What filter plugins say about the nodes of a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from extender.cluster.counts.nodes import AskedNodes
from extender.model.verdict import Reason

Refused: TypeAlias = Sequence[tuple[Reason, Sequence[str]]]
"""The nodes that do not fit, by why."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The nodes that fit, in the order of the request, and the refused ones by reason."""

    fits: AskedNodes
    refused: Refused
