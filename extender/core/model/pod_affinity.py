"""Inter-pod (anti-)affinity terms: which pods they speak of, and over which topology."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from msgspec import Struct, structs

from extender.core.model.labels import NO_LABELS, Labels, Operator, Requirement, Selector, compact
from extender.core.model.workload import REVISIONS, OtherRevisions

MOST_SPARING: Final = 16
"""Terms of a pod up to which its anti-affinity can leave other revisions out."""


class PodSelector(Struct, frozen=True, gc=False, cache_hash=True):
    """Which pods a term speaks of: a label selector within a choice of namespaces.

    Labels come with the marks of `model/workload.py`. A selector is looked up again and again, and
    one pod may bring thousands of conditions.
    """

    selector: Selector
    namespaces: Collection[str]
    """Named namespaces, a set, of which one alone becomes a tuple; the owner's own is already
    filled in where the term gives none."""
    namespace_selector: Selector | None = None
    """Further namespaces by their labels; None adds none, an empty selector adds all."""
    spared: OtherRevisions | None = None
    """Pods that it does not speak of all the same."""

    def __post_init__(self) -> None:
        structs.force_setattr(self, "namespaces", compact(self.namespaces))

    @property
    def conditions(self) -> int:
        """Return how many comparisons it takes, at most, to match one pod."""
        chosen = self.namespace_selector
        further = 0 if chosen is None else len(chosen.requirements)
        return 1 + len(self.selector.requirements) + further

    def covers(self, namespace: str, namespace_labels: Labels) -> bool:
        if namespace in self.namespaces:
            return True
        chosen = self.namespace_selector
        return chosen is not None and chosen.matches(namespace_labels)

    def matches(self, namespace: str, namespace_labels: Labels, labels: Labels) -> bool:
        if not (self.selector.matches(labels) and self.covers(namespace, namespace_labels)):
            return False
        return self.spared is None or not self.spared.has(namespace_labels, labels)

    def depends_on(self, namespace: str, before: Labels, now: Labels) -> bool:
        """Return whether new labels of a namespace may change whom it speaks of there."""
        if self.spared is not None and before.get(REVISIONS) != now.get(REVISIONS):
            return True
        chosen = self.namespace_selector is not None
        return chosen and self.covers(namespace, before) is not self.covers(namespace, now)

    def sparing(self, others: OtherRevisions | None, namespace: str, labels: Labels) -> PodSelector:
        """Return the selector of an owner with these labels, which spares others if it is its own.

        Only one that speaks of the owner does: different workloads have the others in common.
        """
        near = namespace in self.namespaces or self.namespace_selector is not None
        spared = others if near and self.selector.matches(labels) else None
        return self if spared == self.spared else structs.replace(self, spared=spared)


class Term(Struct, frozen=True, gc=False, cache_hash=True):
    """An (anti-)affinity term without its weight: pods, and the key that groups nodes."""

    pods: PodSelector
    topology_key: str


class LimitedTerm(Term, frozen=True):
    """Required anti-affinity with `maxMatchingPods`."""

    most: int
    """Pods that may match in a domain that holds an owner, the owner among them if it matches."""


SomeTerm = TypeVar("SomeTerm", bound=Term)


class WeightedTerm(Struct, frozen=True, gc=False):
    term: Term
    weight: int
    """Positive for affinity, negative for anti-affinity."""


@dataclass(frozen=True, slots=True)
class Affinity:
    """All inter-pod rules of one pod."""

    required: tuple[Term, ...] = ()
    required_anti: tuple[Term, ...] = ()
    preferred: tuple[WeightedTerm, ...] = ()
    """Preferred affinity and anti-affinity together, told apart by the sign of the weight."""
    limits: tuple[LimitedTerm, ...] = ()
    """Required anti-affinity with `maxMatchingPods`, from annotations alone."""
    conditions: int = field(init=False, repr=False, compare=False)
    """How many comparisons of the required terms with a pod it takes, at most."""

    def __post_init__(self) -> None:
        required = (*self.required, *self.required_anti, *self.limits)
        object.__setattr__(self, "conditions", sum(term.pods.conditions for term in required))

    @property
    def constrains(self) -> bool:
        return bool(self.required or self.required_anti or self.limits)

    def plus(self, other: Affinity) -> Affinity:
        return Affinity(
            self.required + other.required,
            self.required_anti + other.required_anti,
            self.preferred + other.preferred,
            self.limits + other.limits,
        )

    def __len__(self) -> int:
        terms = len(self.required) + len(self.required_anti)
        return terms + len(self.preferred) + len(self.limits)

    def sparing(self, namespace: str, labels: Labels, *, of_spec: bool) -> Affinity:
        """Return the rules of an owner with these labels, as they are where revisions count apart.

        Those of pods with more than MOST_SPARING terms are left alone.
        """
        if not (self.required_anti or self.limits) or len(self) > MOST_SPARING:
            return self
        others = OtherRevisions.than(labels, of_spec=of_spec)

        def changed(term: SomeTerm) -> SomeTerm:
            pods = term.pods.sparing(others, namespace, labels)
            return term if pods is term.pods else structs.replace(term, pods=pods)

        anti = tuple(map(changed, self.required_anti))
        limits = tuple(map(changed, self.limits))
        return replace(self, required_anti=anti, limits=limits)


NO_AFFINITY = Affinity()


class WrittenTerm(Struct, frozen=True, gc=False):
    """A term as its manifest has it, label keys not yet merged."""

    term: Term
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()

    def merged(self, owner_labels: Labels) -> Term:
        """Return the term with label keys turned into requirements on the owner's values.

        The API server does this on create (gate MatchLabelKeysInPodAffinity); a requirement that is
        already there is left alone, and a key that the owner lacks is skipped. It refuses a
        selector of which a key of matchLabelKeys was a part before: such a key has been merged.
        With mismatchLabelKeys, both what is written about the key and what is merged count.
        """
        selector = self.term.pods.selector
        if selector.matches_nothing or not (self.match_label_keys or self.mismatch_label_keys):
            return self.term
        written = selector.requirements
        merged = {each.key for each in written if each.operator is Operator.IN}
        extra = {
            Requirement(key, operator, frozenset((owner_labels[key],)))
            for key, operator in self.label_keys()
            if key in owner_labels and not (operator is Operator.IN and key in merged)
        }.difference(written)
        if not extra:
            return self.term
        pods = self.term.pods
        narrowed = PodSelector(selector.also(extra), pods.namespaces, pods.namespace_selector)
        return Term(narrowed, self.term.topology_key)

    def label_keys(self) -> Iterator[tuple[str, Operator]]:
        """Yield each label key, with the operator of the requirement that it becomes."""
        yield from ((key, Operator.IN) for key in self.match_label_keys)
        yield from ((key, Operator.NOT_IN) for key in self.mismatch_label_keys)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class WrittenAffinity:
    """All inter-pod rules of one pod as its manifest has them."""

    required: tuple[WrittenTerm, ...] = ()
    required_anti: tuple[WrittenTerm, ...] = ()
    preferred: tuple[tuple[WrittenTerm, int], ...] = ()
    """Each with its weight, negative for anti-affinity."""
    limits: tuple[tuple[WrittenTerm, int], ...] = ()
    """Those with `maxMatchingPods`, and that number."""
    crosses_namespaces: bool = False
    """Some term names namespaces or has a namespaceSelector, even if it only means its own."""
    size: tuple[int, int] = field(default=(0, 0), compare=False)
    """How many terms there are, and how many conditions they have, as `RuleLimits` counts them."""
    fault: tuple[str, str] | None = None
    """The field from which some terms were left out, and why; None if all are here."""

    @property
    def label_keys(self) -> int:
        """Return how many label keys the terms have, each of which may become a requirement."""
        return sum(1 for _ in self.named_labels())

    def named_labels(self) -> Iterator[str]:
        """Yield the label keys of the terms, as often as they are there."""
        others = (term for term, _ in (*self.preferred, *self.limits))
        for term in (*self.required, *self.required_anti, *others):
            yield from term.match_label_keys
            yield from term.mismatch_label_keys

    def plus(self, other: WrittenAffinity) -> WrittenAffinity:
        return WrittenAffinity(
            self.required + other.required,
            self.required_anti + other.required_anti,
            self.preferred + other.preferred,
            self.limits + other.limits,
            self.crosses_namespaces or other.crosses_namespaces,
        )

    def merged(self, owner_labels: Labels) -> Affinity:
        """Return the effective rules for an owner with these labels at its creation."""
        return Affinity(
            required=tuple(term.merged(owner_labels) for term in self.required),
            required_anti=tuple(term.merged(owner_labels) for term in self.required_anti),
            preferred=tuple(
                WeightedTerm(term.merged(owner_labels), weight) for term, weight in self.preferred
            ),
            limits=tuple(
                LimitedTerm(merged.pods, merged.topology_key, most)
                for term, most in self.limits
                for merged in (term.merged(owner_labels),)
            ),
        )

    def as_stored(self) -> Affinity:
        """Return the effective rules of a pod that an API server has stored.

        Whatever label key is not in a selector by then was not among the owner's labels at its
        creation. A server that does not merge, with the gate off, drops the keys.
        """
        return self.merged(NO_LABELS)


NO_WRITTEN_AFFINITY = WrittenAffinity()
