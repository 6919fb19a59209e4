"""The one owner of everything that changes: pods, nodes, namespaces and their counters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType

from extender.cluster.counts.counters import Counters
from extender.cluster.counts.existing_terms import CarriedTerms
from extender.cluster.counts.matching_pods import CountedSets
from extender.cluster.counts.nodes import Nodes
from extender.cluster.counts.placed_classes import PlacedClass
from extender.cluster.counts.pod_sets import Named, Sought
from extender.cluster.counts.prefilter_state import Question, Questions
from extender.cluster.counts.topology import DomainTable
from extender.cluster.ledgers.budgets import Budgets
from extender.cluster.ledgers.node_resources import Room
from extender.cluster.ledgers.pod_groups import WaitingGroups
from extender.cluster.ledgers.pods_by_node import Residents
from extender.cluster.ledgers.quotas import Quotas
from extender.cluster.ledgers.reservations import Claim, Reservation, Reservations
from extender.model.disruption import PodDisruptionBudget
from extender.model.labels import NO_LABELS, Labels
from extender.model.objects import Namespace, Node, Pod, PodClass
from extender.model.pod_affinity import Term
from extender.model.quota import ResourceQuota

MOST_QUESTIONS = 4096
"""Classes whose resolved questions are remembered; some kilobytes each."""
MOST_COUNTED_SETS = 8192
"""Sets of matching pods that are kept up to date; one entry a domain that holds such pods."""

MOST_COMPANY_TERMS = 64
"""Required affinity terms of a placed pod up to which is watched whether they are still met."""
AT_ONCE = 5_000
"""Comparisons of a pod class with a condition that one step may cost: some milliseconds."""


class ClusterState:
    """The live picture of the cluster.

    A pod's life here::

        (absent) --upsert, no node--> waiting --upsert with node--> placed
            ^                            |                             |
            +---- remove or terminal ----+-----------------------------+

    and beside it, for pods that we bind::

        (none) --reserve--> reserved --release, expire--> (none)
                                |
                                +--the watch shows it placed, gone or replaced--> (none)

    Placed pods and reservations count. Every change is one synchronous step after which store and
    counters agree, so whoever reads between two steps sees a whole state. An event costs the
    distinct terms that its pod matches or owns, never the number of pods.

    Assumes that uids are unique, that a key (namespace/name) has one pod at a time, and that
    nobody else changes what the properties hand out.
    """

    def __init__(
        self,
        *,
        most_questions: int = MOST_QUESTIONS,
        most_counted_sets: int = MOST_COUNTED_SETS,
    ) -> None:
        self.nodes = Nodes()
        self.room = Room()
        self.budgets = Budgets()
        self.quotas = Quotas()
        self.version = 0
        """Grows with every change that may alter what is answered about an unchanged pod."""
        self.doubt: str | None = None
        """Why this picture is too old to judge hard rules by; None while it is not."""
        self._most_counted_sets = most_counted_sets
        self._pods: dict[str, Pod] = {}
        self._residents = Residents()
        self._groups = WaitingGroups()
        self._namespaces: dict[str, Labels] = {}
        self._counters = Counters(self.nodes, self._namespaces, most_counted_sets)
        self._questions = Questions(self._counters, self.nodes, most_questions)
        self._reservations = Reservations()

    @property
    def pods(self) -> Mapping[str, Pod]:
        """Return the pods that are not terminal, by namespace/name."""
        return MappingProxyType(self._pods)

    def pod(self, key: str, uid: str) -> Pod | None:
        """Return a pod that is not terminal; None for a namesake with another uid."""
        pod = self._pods.get(key)
        return pod if pod is not None and pod.uid == uid else None

    @property
    def reservations(self) -> Reservations:
        """Return the places that are promised to pods."""
        return self._reservations

    @property
    def placed_pods(self) -> Iterator[Pod]:
        """Return every pod that counts, a reserved one for each node that it may turn up on."""
        yield from (pod for pod in self._pods.values() if pod.node is not None)
        yield from (reservation.pod for reservation in self._reservations)

    def pods_on(self, node: str) -> Sequence[Pod]:
        """Return the pods that are bound to a node, without those it is only reserved for."""
        return self._residents.of(node)

    def waiting_in_group(self, group: str) -> Mapping[str, PodClass]:
        """Return the classes of the waiting pods of a pod group, by namespace/name of the pod."""
        return self._groups.of(group)

    @property
    def namespaces(self) -> Mapping[str, Labels]:
        """Return the labels of the known namespaces, by name."""
        return MappingProxyType(self._namespaces)

    def namespace_labels(self, namespace: str) -> Labels:
        """Return the labels of a namespace, none for one that is unknown."""
        return self._counters.namespace_labels(namespace)

    @property
    def carried(self) -> CarriedTerms:
        """Return the terms that placed pods carry."""
        return self._counters.carried

    @property
    def counted(self) -> CountedSets:
        """Return the sets of matching pods that are kept up to date."""
        return self._counters.counted

    @property
    def placed_classes(self) -> Iterable[PlacedClass]:
        """Return the classes that have placed pods."""
        return self._counters.classes

    def classes_on(self, node: str) -> dict[PodClass, int]:
        """Return the classes that have pods on a node, as the counters have it."""
        return self._counters.classes_on(node)

    def speaks_of(self, term: Term, pod_class: PodClass) -> bool:
        """Tell whether a term is about pods of a class, its namespace labelled as it is now."""
        namespace_labels = self.namespace_labels(pod_class.namespace)
        return term.pods.matches(pod_class.namespace, namespace_labels, pod_class.labels)

    def question(self, pod_class: PodClass) -> Question:
        """Return what pods of a class have to be compared with."""
        return self._questions.about(pod_class)

    def question_of(self, pod: Pod) -> Question:
        """Return what a pod has to be compared with, its rules as they were when it was created."""
        return self.question(self.class_of(pod))

    def class_of(self, pod: Pod) -> PodClass:
        """Return the class of a pod, its rules as they were when it was created."""
        known = self.pod(pod.key, pod.uid)
        return pod.pod_class if known is None else known.pod_class.relabelled(pod.pod_class)

    def expense(self, pod_class: PodClass) -> int:
        """Return how many comparisons, roughly, it takes until a question can be resolved."""
        return self._questions.expense(pod_class)

    def expense_of(self, pod: Pod) -> int:
        """Return how many comparisons, roughly, it takes until a pod's question can be resolved."""
        return self.expense(self.class_of(pod))

    def preparing(self, pod_class: PodClass, comparisons: int) -> Iterator[int]:
        """Count what a question needs, in steps of about so many comparisons; yield what each took.

        The state may change between two steps. Whatever was done stays of use.
        """
        return self._questions.preparing(pod_class, comparisons)

    def tidy(self, steps: int | None = None) -> int:
        """Do some, or all, of what events have put off; return how many steps that took."""
        return self._counters.tidy(steps)

    def company(self, terms: Sequence[Term]) -> Sequence[DomainTable] | None:
        """Return where the pods are that match all of some required terms, by each term's key.

        None when that would take room from the sets that callbacks ask for, when there are more
        than MOST_COMPANY_TERMS, and when it takes long and `counting_company` was not gone through.
        """
        sets = self._company(terms)
        if len(terms) > MOST_COMPANY_TERMS or any(
            self._counters.expense(*named) > AT_ONCE for named in sets
        ):
            return None
        if self._would_crowd_out(sets):
            return None
        return [self._counters.matching(*named) for named in sets]

    def counting_company(self, terms: Sequence[Term], comparisons: int) -> Iterator[int]:
        """Count what `company` needs in steps of so many comparisons; yield what each took."""
        sets = self._company(terms)
        if len(terms) <= MOST_COMPANY_TERMS and not self._would_crowd_out(sets):
            for named in dict.fromkeys(sets):
                yield from self._counters.counting(*named, comparisons)

    def _company(self, terms: Sequence[Term]) -> list[Named]:
        group = Sought.all_of(term.pods for term in terms)
        return [(group, term.topology_key) for term in terms]

    def _would_crowd_out(self, sets: Sequence[Named]) -> bool:
        new = sum(self.counted.find(*named) is None for named in {*sets})
        return bool(new) and self.counted.size + new > self._most_counted_sets // 2

    # Pods

    def taking_up(self, pod: Pod) -> Iterator[None]:
        """Do in steps what would make `upsert_pod` take long, for a pod with very many terms."""
        if pod.node is not None and not pod.terminal:
            yield from self._counters.taking_up(self.class_of(pod))

    def upsert_pod(self, pod: Pod) -> None:
        """Add a pod, or take over what changed; a new uid under the same key replaces the old."""
        old = self._pods.get(pod.key)
        if old is not None and old.uid == pod.uid:
            pod = _after(old, pod)
            if pod == old:
                return
        if pod.terminal:
            self._pods.pop(pod.key, None)
        else:
            # The new before the old, so that terms both carry are not dropped in between.
            pod = self._pods[pod.key] = self._place(pod)
            self._residents.add(pod)
        if old is not None:
            self._groups.remove(old)
        if not pod.terminal:
            self._groups.add(pod)
        if pod.terminal or pod.node is not None:
            self._settle(pod.key, pod.uid)
        if old is not None:
            if old.uid != pod.uid:
                self._settle(old.key, old.uid)
            self._residents.remove(old)
            self._displace(old)

    def remove_pod(self, key: str, uid: str) -> None:
        """Forget a pod; one that is unknown, or known under another uid, is left alone."""
        self._settle(key, uid)
        pod = self.pod(key, uid)
        if pod is not None:
            del self._pods[key]
            self._residents.remove(pod)
            self._groups.remove(pod)
            self._displace(pod)

    @contextmanager
    def without(self, key: str, uid: str, gone: Iterable[Pod] = ()) -> Iterator[None]:
        """Leave a pod out of all counts for a while: it is not its own neighbour.

        And others as if they were gone, each given once and as it counts, on the node it counts on.
        """
        places = [*gone]
        places += [reservation.pod for reservation in self._reservations.of(key, uid)]
        pod = self.pod(key, uid)
        if pod is not None:
            places.append(pod)
        for place in places:
            self._shift(place, -1)
        try:
            yield
        finally:
            for place in places:
                self._shift(place, 1)

    def _shift(self, pod: Pod, pods: int) -> None:
        if pod.node is not None:
            self._counters.shift(pod.pod_class, pod.node, pods)
            self.quotas.count(pod, pods)

    def _place(self, pod: Pod) -> Pod:
        if pod.node is None:
            return pod
        shared = self._counters.place(pod.pod_class, pod.node)
        self.room.use(pod.node, pod.requests, 1)
        self.quotas.count(pod, 1)
        self.version += 1
        return pod if shared is pod.pod_class else replace(pod, pod_class=shared)

    def _displace(self, pod: Pod) -> None:
        if pod.node is not None:
            self._counters.displace(pod.pod_class, pod.node)
            self.room.use(pod.node, pod.requests, -1)
            self.quotas.count(pod, -1)
            self.version += 1

    # Reservations

    def reserve(self, pod: Pod, node: str, deadline: float) -> Claim:
        """Count a pod on a node before any watch shows it there, for one bind of it."""
        placed = self._place(replace(pod, node=node))
        reservation = self._reservations.find(placed)
        if reservation is None:
            reservation = Reservation(placed)
            self._reservations.add(reservation)
        else:
            # It counts once, with the labels that it has now.
            self._displace(reservation.pod)
            reservation.pod = placed
        claim = Claim(reservation, deadline)
        reservation.claims.append(claim)
        return claim

    def release(self, claim: Claim) -> None:
        """Note that a bind was refused; its place stays reserved while others claim it as well."""
        if self._reservations.release(claim):
            self._drop(claim.reservation)

    def hold(self, claim: Claim, deadline: float) -> None:
        """Note that a bind has ended, and has bound the pod, or may do so yet."""
        self._reservations.hold(claim, deadline)

    def settle(self, pod: Pod, node: str | None, deadline: float) -> None:
        """Release what is reserved for a pod anywhere but on the node that it is bound to.

        There it is held until the deadline, if an earlier bind has put it there. None: it is gone.
        """
        for reservation in self._reservations.of(pod.key, pod.uid):
            if reservation.pod.node != node:
                self._drop(reservation)
                continue
            reservation.confirmed = True
            for claim in [each for each in reservation.claims if each.ended]:
                self._reservations.hold(claim, deadline)

    def expire(self, now: float) -> list[Pod]:
        """Release the reservations that nothing settled in time; return their pods."""
        expired = self._reservations.expired(now)
        for reservation in expired:
            self._drop(reservation)
        return [reservation.pod for reservation in expired]

    def _drop(self, reservation: Reservation) -> None:
        reservation.claims.clear()
        self._reservations.remove(reservation)
        self._displace(reservation.pod)

    def _settle(self, key: str, uid: str) -> None:
        """Release what was reserved for a pod of which the watch tells where it is, or is not."""
        for reservation in self._reservations.of(key, uid):
            self._drop(reservation)

    # Nodes

    def upsert_node(self, node: Node) -> None:
        """Add a node or take over what changed; pods that wait there for it count from now on."""
        if self.room.learn(node.name, node.offer):
            self.version += 1
        if node.name in self.nodes and self.nodes.labels(node.name) == node.labels:
            return
        self._counters.move_node(node.name, -1)
        self.nodes.learn(node.name, node.labels)
        self._counters.move_node(node.name, 1)
        self.version += 1

    def remove_node(self, name: str) -> None:
        """Forget a node; its pods stay, and count again when it is back."""
        if name in self.nodes:
            self._counters.move_node(name, -1)
            self.nodes.forget(name)
            self.room.forget(name)
            self.version += 1

    # Namespaces

    def upsert_namespace(self, namespace: Namespace) -> None:
        """Add a namespace or change its labels."""
        known = self._namespaces.get(namespace.name)
        if known != namespace.labels:
            self._namespaces[namespace.name] = namespace.labels
            self._counters.rematch(namespace.name, NO_LABELS if known is None else known)
            self.version += 1

    def remove_namespace(self, name: str) -> None:
        """Forget a namespace; pods that are left in it are in one without labels."""
        known = self._namespaces.pop(name, None)
        if known is not None:
            self._counters.rematch(name, known)
            self.version += 1

    # Disruption budgets and quotas

    def upsert_budget(self, budget: PodDisruptionBudget) -> None:
        """Add a disruption budget or take over what changed."""
        self.budgets.upsert(budget)

    def remove_budget(self, key: str, uid: str) -> None:
        """Forget a budget; one that is unknown, or known under another uid, is left alone."""
        self.budgets.remove(key, uid)

    def upsert_quota(self, quota: ResourceQuota) -> None:
        """Add a quota or take over what changed."""
        self.version += self.quotas.upsert(quota)

    def remove_quota(self, key: str, uid: str) -> None:
        """Forget a quota; one that is unknown, or known under another uid, is left alone."""
        self.version += self.quotas.remove(key, uid)


def _after(old: Pod, new: Pod) -> Pod:
    """Return a pod after an update, with what an update cannot change left as it was."""
    pod_class = old.pod_class.relabelled(new.pod_class)
    # A bound pod stays bound; an object that says otherwise comes from an older list.
    node = new.node if new.node is not None else old.node
    if pod_class is new.pod_class and node is new.node:
        return new
    return replace(new, pod_class=pod_class, node=node)
