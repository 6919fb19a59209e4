"""Anti-affinity with a limit: how many matching pods may be in a topology domain with an owner."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from extender.core.cluster.counts.domain_limits import DomainLimit
from extender.core.cluster.counts.nodes import NodeList
from extender.core.cluster.counts.topology import NO_DOMAIN, DomainTable, Topology
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod, PodClass
from extender.core.model.verdict import LIMITS, Reason
from extender.core.model.wording import plural, short
from extender.core.verbs.filtering import CountingPlugin
from extender.core.verbs.plugins import FilterResult, refuse
from extender.core.verbs.pod_rules import PodRule, TermRule
from extender.core.verbs.rules import RefusalGroup


@dataclass(slots=True, eq=False, kw_only=True)
class LimitRule(TermRule):
    """The domains where one such term allows no more pods."""

    most: int

    def cause(self, group: RefusalGroup) -> str:
        most = plural(self.most, "pod")
        if self.reason is Reason.LIMIT:
            whose = f"your annotation's limit of {most} on {short(self.key)}"
        else:
            whose = f"a limit of {most} on {short(self.key)} (by annotation of pods there)"
        return f"{whose}: there are {group.in_the_way}{group.places}"


@dataclass(frozen=True, slots=True)
class MaxMatchingPods(CountingPlugin):
    """`maxMatchingPods` of required anti-affinity terms in annotations, the pod's and others'."""

    name: ClassVar[str] = LIMITS
    compares_pods: ClassVar[bool] = True

    def concerns(self, state: ClusterState, pod: Pod) -> bool:
        return bool(self._limits(state, pod)) or any(
            each.affinity.limits for each in state.nominated.classes
        )

    def indeterminate(self, state: ClusterState, pod: Pod) -> str | None:
        return state.stale if state.stale is not None and self._limits(state, pod) else None

    def counts(self, state: ClusterState, pod: Pod, other: PodClass) -> bool:
        theirs = other.affinity.limits
        return any(
            each.term in theirs or state.is_about(each.term, other)
            for each in self._limits(state, pod)
        )

    def filter(self, state: ClusterState, pod: Pod, asked: NodeList) -> FilterResult:
        limits = self._limits(state, pod)
        return refuse(_united(limits, asked), asked) if limits else FilterResult(asked, ())

    def rules_beside(
        self, state: ClusterState, pod: Pod, others: Sequence[Pod]
    ) -> Iterator[LimitRule]:
        limits = [*self._limits(state, pod)]
        if not others:
            yield from (_rule(each, each.full()) for each in limits)
            return
        known = {each.term for each in limits}
        namespace = pod.pod_class.namespace
        classes: dict[int, list[PodClass]] = {}
        for other in others:
            pod_class = state.class_for_others(other.pod_class, namespace)
            number = state.nodes.number(other.node or "")
            if number is not None:
                classes.setdefault(number, []).append(pod_class)
            for term in pod_class.affinity.limits:
                if term not in known and state.is_about(term, pod.pod_class):
                    known.add(term)
                    # No placed pod has it; a nominated one is about to bring it.
                    matched = state.matched(term)
                    limits.append(DomainLimit(term, matched, DomainTable(matched.topology), 1))
        for limit in limits:
            full, there = limit.full(), dict[int, list[PodClass]]()
            for number, some in classes.items():
                there.setdefault(limit.topology.domain_of[number], []).extend(some)
            more = {each for each, some in there.items() if _is_full(state, limit, each, some)}
            yield _rule(limit, full)
            if more:
                # By itself: all that are full are not copied for every node with a nominated pod.
                yield _rule(limit, more)

    def _view(self, pod_class: PodClass) -> PodClass:
        return pod_class.by_annotation if self.of_annotations else pod_class

    def _limits(self, state: ClusterState, pod: Pod) -> Sequence[DomainLimit]:
        return state.prefilter_state(self._view(state.class_of(pod))).limits


def _united(limits: Sequence[DomainLimit], asked: NodeList) -> Iterator[PodRule]:
    """Yield one rule for all limits of a kind over a topology."""
    full: dict[tuple[Reason, Topology], list[Collection[int]]] = {}
    own = {each.matched: each.room for each in limits if each.owners is None}
    for each in limits:
        if each.owners is not None and own.get(each.matched, each.room + 1) <= each.room:
            # Its own refuses as much: of replicas, each has the same limit.
            continue
        entries = each.matched if each.owners is None else each.owners
        # The cheaper way round; a template is one name, whose domain may have no number yet.
        few = len(asked.names) <= max(1, len(entries.counts))
        domains = each.among(asked.domains(each.topology)) if few else each.full()
        if domains:
            full.setdefault((_reason(each), each.topology), []).append(domains)
    for (reason, topology), found in full.items():
        yield PodRule(reason, topology, found[0] if len(found) == 1 else {*chain(*found)})


def _reason(limit: DomainLimit) -> Reason:
    return Reason.LIMIT if limit.owners is None else Reason.EXISTING_LIMIT


def _rule(limit: DomainLimit, full: Collection[int]) -> LimitRule:
    return LimitRule(
        _reason(limit),
        limit.topology,
        full,
        table=limit.matched,
        terms=(limit.term,),
        annotated=True,
        number=limit.number,
        most=limit.term.most,
    )


def _is_full(
    state: ClusterState, limit: DomainLimit, domain: int, classes: Sequence[PodClass]
) -> bool:
    term = limit.term
    brought = domain != NO_DOMAIN and any(term in each.affinity.limits for each in classes)
    if not (brought or limit.holds(domain)):
        return False
    more = sum(state.is_about(term, each) for each in classes)
    return limit.matched.counts.get(domain, 0) + more > limit.room
