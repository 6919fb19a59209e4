"""Whom to evict, and where, for a pod that only our rules keep from every node.

The scheduler's own preemption looks for victims with its own plugins, and finds none needed where
only we refuse. So candidates and victims are chosen here, in the same way: kube-scheduler's
DefaultPreemption, its dry run (SelectVictimsOnNode) and its choice (pickOneNodeForPreemption).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from extender.cluster.state import ClusterState
from extender.model.node_resources import Requirements
from extender.model.objects import Pod, PodClass
from extender.model.verdict import Reason
from extender.verbs.company import exclusive_keys
from extender.verbs.conflicts import MOST_COMPARED
from extender.verbs.filtering import judge
from extender.verbs.nominated_pods import holding
from extender.verbs.nominating import from_somewhere, loses_victims, suitable
from extender.verbs.plugins import Plugins
from extender.verbs.preempting import fits_without, may_be_evicted
from extender.verbs.ranking import Rank, rank


@dataclass(frozen=True, slots=True)
class Preemptor:
    """A pod that others may be evicted for, and what it asks of its node."""

    pod: Pod
    requirements: Requirements
    may_preempt: bool = True
    """False when its preemptionPolicy is Never."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node, and the pods to be evicted from it."""

    node: str
    victims: Sequence[Pod]
    """At least one, the most important one first."""
    violations: int
    """How many of them a disruption budget does not allow."""

    @property
    def rank(self) -> Rank:
        """Return how bad it is: the scheduler takes the lowest."""
        return rank(self.victims, self.violations)


def ineligible(state: ClusterState, preemptor: Preemptor, plugins: Plugins) -> str | None:
    """Say why nobody is evicted for a pod whatever the nodes are like, None when some may be.

    Not while victims are on their way out of the node that it is nominated to, unless evicting pods
    there cannot help any more.
    """
    pod = preemptor.pod
    if not preemptor.may_preempt:
        return "its preemptionPolicy is Never"
    if len(pod.pod_class.affinity) > MOST_COMPARED:
        return f"it has more than {MOST_COMPARED} affinity terms"
    if pod.nominated is not None and loses_victims(state, pod, pod.nominated):
        refused = judge(state, pod, state.nodes.asked([pod.nominated]), plugins).refused
        if all(reason.resolvable for reason, _ in refused):
            return f"pods are on their way out of {pod.nominated}"
    return None


def candidates(
    state: ClusterState, preemptor: Preemptor, plugins: Plugins, *, chance: float
) -> Iterator[Candidate | None]:
    """Look at every node in turn; yield a candidate, or None, for each.

    The state may change between two of them, so the one that is taken has to be looked at once more
    (`on_node`). `chance` in [0, 1) says where to begin: of equal nodes the first is taken.
    O(pods of a node) at a step, after O(nodes) for the first.
    """
    potential = _potential(state, preemptor, plugins)
    run = _DryRun(state, preemptor, plugins)
    for name in from_somewhere(potential, chance):
        yield run.on(name)


def choose(found: Iterable[Candidate | None]) -> Candidate | None:
    """Return the candidate that the scheduler would take, the first of equal ones."""
    best: Candidate | None = None
    for each in found:
        if each is not None and (best is None or each.rank < best.rank):
            best = each
    return best


def on_node(
    state: ClusterState, preemptor: Preemptor, plugins: Plugins, node: str
) -> Candidate | None:
    """Return the victims on one node as things are now, None when evicting pods there is no use."""
    return _DryRun(state, preemptor, plugins).on(node)


def _potential(state: ClusterState, preemptor: Preemptor, plugins: Plugins) -> list[str]:
    """Return the nodes that refuse the pod, if evicting pods might cure that.

    The scheduler judges room before it judges affinity, and a node is given up for the first
    refusal that nothing cures. A quota counts for all nodes, and nobody is evicted for its sake.
    """
    pod = preemptor.pod
    verdicts = judge(state, pod, state.nodes.asked(list(state.nodes)), plugins)
    reasons = {name: reason for reason, names in verdicts.refused for name in names}
    if Reason.QUOTA in reasons.values():
        return []
    suits = suitable(state, pod, preemptor.requirements)
    return [
        name
        for name in state.nodes
        if suits(name)
        and (_is_resolvable(reasons.get(name)) or not _Resources(state, preemptor, name).are_enough)
    ]


def _is_resolvable(reason: Reason | None) -> bool:
    return reason is not None and reason.resolvable


class _Resources:
    """What is requested on a node beside what it has, while victims are being chosen."""

    def __init__(self, state: ClusterState, preemptor: Preemptor, node: str) -> None:
        pod = preemptor.pod
        self._requests = preemptor.requirements.requests
        self._allocatable = state.node_resources.allocatable(node).amounts
        self._used = Counter(state.node_resources.used(node))
        for other in holding(state, pod, node):
            self._used.update(dict(other.requests))
        for reservation in state.reservations.of(pod.key, pod.uid):
            if reservation.pod.node == node:
                self.free(reservation.pod)

    def free(self, pod: Pod) -> None:
        """Take a pod away."""
        self._used.subtract(dict(pod.requests))

    def spare(self, pod: Pod) -> bool:
        """Put a pod back if the preemptor has room all the same; tell whether it has."""
        self._used.update(dict(pod.requests))
        if self.are_enough:
            return True
        self.free(pod)
        return False

    @property
    def are_enough(self) -> bool:
        """Return whether the preemptor has resources."""
        used, allocatable = self._used, self._allocatable
        return all(
            used[resource] + amount <= allocatable.get(resource, 0)
            for resource, amount in self._requests
            if amount
        )


class _DryRun:
    """Chooses victims node by node; remembers what pods of a class have to do with the pod."""

    def __init__(self, state: ClusterState, preemptor: Preemptor, plugins: Plugins) -> None:
        self._state = state
        self._preemptor = preemptor
        self._plugins = plugins
        self._repelling: dict[PodClass, frozenset[str] | None] = {}

    def on(self, node: str) -> Candidate | None:
        """Return the victims on a node, None where none are of use or none are needed.

        All less important pods go, and if the pod fits then, they come back one by one, those first
        that a budget protects, and of these the most important ones first; who stands in the way
        stays out. What our rules say of a pod does not hang on who else comes back: affinity cannot
        be lost by it, and anti-affinity is between two pods. So the rules are judged once.
        """
        state, pod = self._state, self._preemptor.pod
        lesser = [each for each in state.pods_on(node) if may_be_evicted(each, pod)]
        if not lesser or not suitable(state, pod, self._preemptor.requirements)(node):
            return None
        resources = _Resources(state, self._preemptor, node)
        for each in lesser:
            resources.free(each)
        concerned = [each for each in lesser if self._keys(each.pod_class) is not None]
        if not resources.are_enough or not fits_without(state, pod, node, concerned, self._plugins):
            return None
        return self._reprieve(node, sorted(lesser, key=importance), resources)

    def _reprieve(
        self, node: str, lesser: Sequence[Pod], resources: _Resources
    ) -> Candidate | None:
        protected = self._state.budgets.violated_by(lesser)
        labels = self._state.nodes.labels(node)
        victims, violations = [], 0
        for pod in sorted(lesser, key=lambda each: each.uid not in protected):
            keys = self._keys(pod.pod_class)
            if (keys is None or keys.isdisjoint(labels)) and resources.spare(pod):
                continue
            victims.append(pod)
            violations += pod.uid in protected
        return Candidate(node, sorted(victims, key=importance), violations) if victims else None

    def _keys(self, pod_class: PodClass) -> frozenset[str] | None:
        """Return the topology keys over which pods of a class and ours exclude each other.

        None where no rule of either is about the other.
        """
        if pod_class not in self._repelling:
            own = self._state.class_of(self._preemptor.pod)
            companies = (each.company(self._state, own, pod_class) for each in self._plugins)
            self._repelling[pod_class] = exclusive_keys(companies)
        return self._repelling[pod_class]


def importance(pod: Pod) -> tuple[int, float, str]:
    """Return what sorts pods, the most important first: by priority, then by who started first."""
    return -pod.priority, inf if pod.started is None else pod.started, pod.key
