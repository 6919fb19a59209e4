"""Rules that pods carry beside those of their specs, as a feature reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Protocol

import msgspec

from extender.core.model.carried_rules import WrittenRules
from extender.core.model.node_selection import NO_ANNOTATED_RULES, AnnotatedNodeRules
from extender.core.model.pod_affinity import WrittenAffinity
from extender.core.wire.affinity import Gates
from extender.core.wire.limits import OF_RULES
from extender.core.wire.manifests import NULL
from extender.core.wire.node_terms import Fault


@dataclass(frozen=True, slots=True)
class RulesBeside:
    """What a pod carries beside its spec, or what is wrong with that."""

    pods: WrittenRules | None = None
    """Rules about other pods; None where there are none, and the spec's count as if alone."""
    nodes: AnnotatedNodeRules = NO_ANNOTATED_RULES
    fault: Fault | None = None
    """The broken field, and what is wrong with it; then nothing is said of rules."""
    key: bytes = b""
    """What tells these rules about other pods from all others."""
    own_revisions: bool = False
    """Whether anti-affinity between pods of its workload counts those of its revision alone."""
    path: str = ""
    """Where they are written."""

    def beside(self, written: WrittenAffinity) -> RulesBeside:
        """Return those of a pod with these rules in its spec: both may be too many."""
        if self.pods is None:
            return self
        terms, conditions = (sum(each) for each in zip(self.pods.size, written.size, strict=True))
        fault = OF_RULES.fault(terms, conditions)
        if fault is None:
            return self
        return RulesBeside(fault=(self.path, f"with those of spec.affinity, {fault}"))

    def digest(self, labels: Mapping[str, str]) -> str:
        """Return what tells the rules about other pods of an owner with these labels."""
        if self.pods is None:
            return ""
        named = {key: labels[key] for key in sorted(self.pods.named_labels & labels.keys())}
        # NULL has a place in what pods have on record, which has to go on counting.
        return sha256(self.key + NULL + msgspec.json.encode(named)).hexdigest()


NONE_BESIDE: Final = RulesBeside()


class RuleReader(Protocol):
    """Reads them once for all pods of a namespace that have the same."""

    @property
    def annotations(self) -> tuple[str, ...]:
        """Return those that the decoder keeps for it."""

    def read(self, namespace: str, found: tuple[bytes, ...]) -> RulesBeside:
        """Read the JSON of these annotations of a pod that has one of them, null for the others."""

    def forgetting(self) -> Iterator[None]:
        """Give up what was not read since this was gone through last, an entry at a step."""


class ReadRules(Protocol):
    """Makes a reader, by the fields of a term that count."""

    annotations: tuple[str, ...]

    def __call__(self, gates: Gates) -> RuleReader: ...
