"""How much there may be in what is read, and what it is taken to need in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Of the affinity of a pod in a request; one with more gets an error."""

    entries: int = 8_192
    """Terms, conditions, values and names: 2,000 terms of the usual kind, some tens of milliseconds
    to read."""
    conditions: int = 1_024
    """On labels of nodes: some 40 ms for 5,000 nodes, when first seen. With many values in a
    condition, or many named nodes, it takes no longer."""


OF_REQUESTS: Final = RequestLimits()


@dataclass(frozen=True, slots=True)
class AnnotationLimits:
    """Of the rules in an annotation."""

    size: int = 256 << 10
    """Bytes: the API server stores no more than this in all annotations of an object together."""
    entries: int = 4_096
    """Terms, conditions, values and names: 1,000 terms of the usual kind."""
    conditions: int = 256
    """On labels of nodes, each compared with every node."""
    limits: int = 8
    """Terms with `maxMatchingPods`, for each of which pods are counted."""
    fault: int = 512
    """Characters of what is said about a broken one: it is kept, logged, and put into answers and
    events."""


OF_ANNOTATIONS: Final = AnnotationLimits()


@dataclass(frozen=True, slots=True)
class Per:
    """Bytes of memory that are reckoned for what is read; see `class_cache.decoded_size`."""

    string: int = 80
    """Of a str and of its place in what holds it; a string has two quotation marks."""
    pair: int = 200
    """Of a label, or of a requirement made of one, beside its two strings."""
    object: int = 256
    """Of a term or selector beside what is written in it."""
    merged_key: int = 450
    """Of the requirement that a label key becomes."""
    affinity: int = 1_024
    """Of node affinity, however short it is."""
    key_part: int = 64
    """Of one part of a key, beside its text."""
    number: int = 32


PER: Final = Per()
