"""The picture of the cluster as all readers see it: pods, nodes, namespaces and their counters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from extender.core.cluster.counts.counters import Counters
from extender.core.cluster.counts.existing_terms import ExistingTerms
from extender.core.cluster.counts.matching_pods import PlacedClass
from extender.core.cluster.counts.matching_sets import MatchingPodSets
from extender.core.cluster.counts.nodes import NodeRegistry, Nodes
from extender.core.cluster.counts.pod_sets import KeyedSet, PodSet, matched_by
from extender.core.cluster.counts.prefilter_state import PreFilterState, PreFilterStates
from extender.core.cluster.counts.scope import Carried, MakeScope, Scope
from extender.core.cluster.counts.topology import NO_DOMAIN, DomainTable
from extender.core.cluster.ledgers.budgets import BudgetLedger, Budgets
from extender.core.cluster.ledgers.carried_rules import (
    BrokenRuleLedger,
    BrokenRules,
    JudgedRules,
)
from extender.core.cluster.ledgers.ledger import Ledger
from extender.core.cluster.ledgers.node_resources import NodeResources, NodeResourcesLedger
from extender.core.cluster.ledgers.nominated_pods import NominatedPods, NominationLedger
from extender.core.cluster.ledgers.pods_by_node import PodsByNode
from extender.core.cluster.ledgers.reservations import ReservationLedger, Reservations
from extender.core.model.labels import Labels
from extender.core.model.objects import Pod, PodClass
from extender.core.model.pod_affinity import PodSelector, Term
from extender.core.model.stepping import within

if TYPE_CHECKING:
    from extender.core.cluster.counts.node_rules import NodeColumn, NodeRuleRegistry, NodeRules

MOST_PREFILTER_STATES = 4096
"""Classes whose pre-filter states are remembered; some kilobytes each."""
MOST_MATCHING_SETS = 8192
"""Sets of matching pods that are kept up to date; one entry a domain that holds such pods."""

AT_ONCE = 5_000
"""Comparisons of a pod class with a condition that one step may cost: some milliseconds."""


class ClusterView:
    """What can be asked about the cluster; only `ClusterState` changes it.

    What is counted ahead of a question, or done as deferred work, alters no answer.
    """

    nodes: Final[Nodes]
    node_resources: Final[NodeResources]
    budgets: Final[Budgets]
    pods: Final[Mapping[str, Pod]]
    """The pods that are not terminal, by namespace/name."""
    waiting_pods: Final[Collection[Pod]]
    terminating_pods: Final[Collection[Pod]]
    """The bound pods that are on their way out; they count all the same."""
    namespaces: Final[Mapping[str, Labels]]
    """The labels of the known namespaces, by name."""
    scope: Final[Scope]
    existing_terms: Final[ExistingTerms]
    matching_sets: Final[MatchingPodSets]
    placed_classes: Final[Collection[PlacedClass]]
    broken_rules: Final[BrokenRules]
    reservations: Final[Reservations]
    nominated: Final[NominatedPods]

    def __init__(
        self,
        *,
        most_prefilter_states: int = MOST_PREFILTER_STATES,
        most_matching_sets: int = MOST_MATCHING_SETS,
        scope: MakeScope = Scope,
        empty_selects_all: bool = False,
    ) -> None:
        """Rules beside those of specs count where `scope` says.

        With `empty_selects_all`, an empty selector of a topology spread constraint or a disruption
        budget means every pod of its namespace, as from kube-scheduler 1.38; else none.
        """
        self.empty_selects_all: Final = empty_selects_all
        self.nodes = self._nodes = NodeRegistry()
        self._node_rules: NodeRuleRegistry | None = None
        self.node_resources = self._node_resources = NodeResourcesLedger()
        self.budgets = self._budgets = BudgetLedger(empty_selects_all=empty_selects_all)
        self.version = 0
        """Grows with every change that may alter what is answered about an unchanged pod."""
        self.nominations = 0
        """How often `version` grew only because a nomination came or went, as hints do."""
        self.arrivals = 0
        """How often `version` grew only because a pod took a place, or was seen bound."""
        self.left_out: Sequence[Pod] = ()
        """The pods that are left out of the counts at this moment, as they would count."""
        self.stale: str | None = None
        """Why this picture is too old to judge hard rules by; None while it is not."""
        self.pod_observers: list[Callable[[str], None]] = []
        """Hear the uid of each pod that the watch tells of, at the beginning of that step."""
        self.placement_observers: list[Callable[[Pod], None]] = []
        """Hear of each pod that was placed by rules beside its spec that are not on record."""
        self.forgetful: list[Callable[[], Iterator[None]]] = []
        """Each gives up, step by step, what was not used since it was gone through last."""
        self.ledgers: tuple[Ledger, ...] = ()
        """What else is booked, for features that are switched on."""
        self._most_matching_sets = most_matching_sets
        self._pods: dict[str, Pod] = {}
        self.pods = MappingProxyType(self._pods)
        self._pods_by_node = PodsByNode()
        self.waiting_pods = self._pods_by_node.waiting
        self.terminating_pods = self._pods_by_node.terminating
        self._namespaces: dict[str, Labels] = {}
        self.namespaces = MappingProxyType(self._namespaces)
        self.scope = scope(self._namespaces)
        self._counters = Counters(self._nodes, self._namespaces, most_matching_sets, self.scope)
        self.existing_terms = self._counters.existing_terms
        self.matching_sets = self._counters.matching_sets
        self.placed_classes = self._counters.classes
        self._prefilter_states = PreFilterStates(self._counters, self._nodes, most_prefilter_states)
        self.forgetful += [self._prefilter_states.forgetting, self._counters.forgetting]
        self.broken_rules = self._broken_rules = BrokenRuleLedger(self.scope.covers)
        self.reservations = self._reservations = ReservationLedger()
        self._judged = JudgedRules(self._reservations)
        self.nominated = self._nominated = NominationLedger()

    @cached_property
    def node_rules(self) -> NodeRules:
        """What pods ask of nodes, judged for all nodes; O(pods) when it is first asked for."""
        from extender.core.cluster.counts.node_rules import NodeRuleRegistry  # noqa: PLC0415

        self._node_rules = made = NodeRuleRegistry(self._nodes)
        for pod in self._pods.values():
            if pod.node_selection is not None:
                made.count(pod.node_selection, 1)
        return made

    @property
    def node_columns(self) -> Iterable[NodeColumn]:
        """The rules about nodes that are kept up to date now."""
        return () if self._node_rules is None else self._node_rules

    def pod(self, key: str, uid: str) -> Pod | None:
        """Return a pod that is not terminal; None for a namesake with another uid."""
        pod = self._pods.get(key)
        return pod if pod is not None and pod.uid == uid else None

    @property
    def placed_pods(self) -> Iterator[Pod]:
        """Return every pod that counts, a reserved one for each node that it may turn up on."""
        yield from (pod for pod in self._pods.values() if pod.node is not None)
        yield from (reservation.pod for reservation in self._reservations)

    def pods_on(self, node: str) -> Sequence[Pod]:
        """Return the pods that are bound to a node, without those it is only reserved for."""
        return self._pods_by_node.of(node)

    def victims_of(self, preemptor: str) -> Sequence[Pod]:
        return self._pods_by_node.victims_of(preemptor)

    @property
    def victims(self) -> Iterator[Pod]:
        """Yield the bound pods that are marked to go for others."""
        return self._pods_by_node.victims

    def has_less_important(self, priority: int) -> bool:
        return self._pods_by_node.has_less_important(priority)

    def namespace_labels(self, namespace: str) -> Labels:
        """Return the labels of a namespace, none for one that is unknown."""
        return self._counters.namespace_labels(namespace)

    def candidates(self, pods: PodSelector) -> list[PlacedClass]:
        """Return a superset, as small as can be told at once, of the classes that are matched."""
        return list(self._counters.candidates(PodSet.all_of((pods,))))

    def classes_on(self, node: str) -> dict[PodClass, int]:
        return self._counters.classes_on(node)

    def is_about(self, term: Term, pod_class: PodClass) -> bool:
        """Return whether a term is about pods of a class, its namespace labelled as it is now."""
        namespace_labels = self.namespace_labels(pod_class.namespace)
        return term.pods.matches(pod_class.namespace, namespace_labels, pod_class.labels)

    def prefilter_state(self, pod_class: PodClass) -> PreFilterState:
        return self._prefilter_states.about(pod_class)

    def prefilter_state_of(self, pod: Pod) -> PreFilterState:
        """Return what a pod has to be compared with, its rules as they were when it was created."""
        return self.prefilter_state(self.class_of(pod))

    def class_of(self, pod: Pod) -> PodClass:
        """Return the class of a pod, its rules as they were when it was created.

        Those beside its spec are there if they count.
        """
        known = self.pod(pod.key, pod.uid)
        pod_class = pod.pod_class if known is None else known.pod_class.relabelled(pod.pod_class)
        return pod_class if pod_class.annotated is None else self.class_in_force(pod_class)

    def note_asked(self, pod: Pod, *, admitted: bool = True) -> None:
        pod_class = pod.pod_class
        judged = pod_class if pod_class.annotated is None else self.class_of(pod)
        self._judged.note_asked(pod.uid, judged.digest, admitted=admitted)

    def class_in_force(self, pod_class: PodClass) -> PodClass:
        """Return a class with those rules that hold for its pods."""
        if pod_class.annotated is None or self.scope.covers(pod_class.namespace):
            return pod_class
        return pod_class.of_spec

    def class_for_others(self, pod_class: PodClass, namespace: str) -> PodClass:
        """Return a class with those rules that are something to pods of a namespace."""
        if pod_class.annotated is None:
            return pod_class
        source = Carried(pod_class.namespace, pod_class.later)
        return pod_class if self.scope.counts(source, namespace) else pod_class.of_spec

    def in_force(self, pod: Pod) -> Pod:
        """Return a pod with those rules that hold for it."""
        if pod.spec.unannotated is None or self.scope.covers(pod.pod_class.namespace):
            return pod
        return pod.without_annotations

    def preparing(self, pod_class: PodClass, comparisons: int) -> Iterator[int]:
        """Count what judging needs, in steps of about so many comparisons; yield what each took.

        The state may change between two steps. Whatever was done stays of use.
        """
        return self._prefilter_states.preparing(pod_class, comparisons)

    def prepares_at_once(self, pod_class: PodClass, comparisons: int = AT_ONCE) -> bool:
        """Count what judging needs, if that takes a moment; return whether nothing is left."""
        if self._prefilter_states.find(pod_class) is not None:
            return True
        # A second time, for what was found out may have been given up for the rest of it.
        took = within(self.preparing(pod_class, comparisons), comparisons)
        return took == 0 or (took is not None and self.is_prepared(pod_class, comparisons))

    def is_prepared(self, pod_class: PodClass, comparisons: int) -> bool:
        """Return whether nothing is left to count; a step of it is, if something was."""
        return within(self.preparing(pod_class, comparisons), 0) is not None

    def do_deferred(self, steps: int | None = None) -> int:
        """Do some, or all, of what events have put off; return how many steps that took."""
        return self._counters.deferred.do(steps)

    def matched(self, term: Term) -> DomainTable:
        """Return where the pods are that a term matches, counted at once when that is new."""
        return self._counters.matching(*matched_by(term))

    def matching(self, sets: Sequence[KeyedSet]) -> Sequence[DomainTable] | None:
        """Return where the pods of some sets are.

        None when that would take room from the sets that callbacks ask for, and when it takes long
        and `counting_matching` was not gone through.
        """
        if self._would_crowd_out(sets):
            return None
        if any(self._counters.cost(*named) > AT_ONCE for named in sets):
            return None
        return [self._counters.matching(*named) for named in sets]

    def counting_matching(self, sets: Sequence[KeyedSet], comparisons: int) -> Iterator[int]:
        """Count what `matching` needs, `comparisons` at a step; yield what each step took."""
        if not self._would_crowd_out(sets):
            for named in dict.fromkeys(sets):
                yield from self._counters.counting(*named, comparisons)

    def matching_pods(self, named: KeyedSet, domain: str) -> Iterator[Pod]:
        """Yield the bound pods of a set in a domain of its key; nothing for one that is not kept.

        O(nodes, and classes and pods on those in the domain).
        """
        counted = self.matching_sets.find(*named)
        number = NO_DOMAIN if counted is None else counted.table.topology.number_of(domain)
        if counted is None or number == NO_DOMAIN:
            return
        names, members = self._nodes.names, counted.members
        for node, there in enumerate(counted.table.topology.domain_of):
            if there != number:
                continue
            on_node = self._counters.placed_on(node)
            if len(members) < len(on_node):
                classes = {id(each.pod_class) for each in members if node in each.on_nodes}
            else:
                classes = {id(each.pod_class) for each in on_node if each in members}
            yield from (pod for pod in self.pods_on(names[node]) if id(pod.pod_class) in classes)

    def _would_crowd_out(self, sets: Sequence[KeyedSet]) -> bool:
        new = sum(self.matching_sets.find(*named) is None for named in {*sets})
        return bool(new) and self.matching_sets.size + new > self._most_matching_sets // 2
