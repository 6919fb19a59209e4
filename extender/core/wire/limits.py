"""How much there may be in what is read, and what it is taken to need in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class RuleLimits:
    """Rules of one pod about other pods, those in its spec and others together.

    A pod in a request that has more gets an error. Of a placed pod the terms beyond the limits
    are ignored, and the pod is named.
    """

    terms: int = 64
    conditions: int = 1_024
    """In all its terms. Each value of a condition counts as one, and so does each namespace and
    each label key that a term names."""

    def fault(self, terms: int, conditions: int) -> str | None:
        """Return what is wrong with these numbers; None if a pod may have them."""
        if terms > self.terms:
            return f"{terms} terms are more than {self.terms}"
        if conditions > self.conditions:
            return f"{conditions} conditions, values and names are more than {self.conditions}"
        return None


OF_RULES: Final = RuleLimits()


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Node affinity of a pod in a request; one with more gets an error."""

    entries: int = 8_192
    """Terms, conditions and values: some tens of milliseconds to read."""
    conditions: int = 1_024
    """On labels of nodes: some 40 ms for 5,000 nodes, when first seen. With many values in a
    condition, or many named nodes, it takes no longer."""


OF_REQUESTS: Final = RequestLimits()


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
