"""Whom to evict, where and why, for a pod that only our rules keep from every node.

The scheduler's own preemption looks for victims with its own plugins, and finds none needed where
only we refuse. So candidates and victims are chosen here, in the same way: kube-scheduler's
DefaultPreemption, its dry run (SelectVictimsOnNode) and its choice (pickOneNodeForPreemption).
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from extender.core.cluster.state import ClusterState
from extender.core.model.disruption import Rank
from extender.core.model.objects import Pod
from extender.core.model.stepping import at_once
from extender.core.verbs.filtering import judge
from extender.core.verbs.node_fit import NodeFit
from extender.core.verbs.nominating import from_somewhere, most_nodes, suitable
from extender.core.verbs.plugins import Plugins
from extender.core.verbs.preempting import Exclusions, fits_without, importance, may_be_chosen, rank

MOST_CONDITIONS: Final = 2_500_000
"""Comparisons of nodes with tolerations and host ports in one search, a second or so: others wait
for their own search meanwhile. A pod may have 500 of them in a cluster of 5,000 nodes."""
NO_VICTIMS: Final[Rank] = (-1, 0, 0, 0, 0.0)


@dataclass(frozen=True, slots=True)
class Candidate:
    node: str
    victims: Sequence[Pod]
    """The most important one first. None of them: the node takes the pod as it is."""
    violations: int = 0
    """How many of them a disruption budget does not allow."""
    for_room: bool = False
    """Whether the pod has no room there as it is, so that rules may count that we do not know."""

    @property
    def rank(self) -> Rank:
        """Return how bad it is: the scheduler takes the lowest."""
        return rank(self.victims, self.violations) if self.victims else NO_VICTIMS


def ineligible(state: ClusterState, pod: Pod, plugins: Plugins) -> str | None:
    """Say why no pod is evicted for a pod whatever the nodes are like; None when some may be.

    Not while victims of a preemption are on their way out of the node that it is nominated to,
    unless evicting pods there cannot help any more (PodEligibleToPreemptOthers).
    """
    if not pod.spec.may_preempt:
        return "its preemptionPolicy is Never"
    node = pod.status.nominated
    if node is None or not _victims_leave(state, pod, node):
        return None
    if not _is_curable(state, pod, node, plugins):
        return None
    return f"pods are on their way out of {node}"


def _victims_leave(state: ClusterState, pod: Pod, node: str) -> bool:
    return any(
        each.status.preempted and each.spec.priority < pod.spec.priority
        for each in state.pods_on(node)
    )


def is_lost(state: ClusterState, pod: Pod, node: str, plugins: Plugins) -> bool:
    """Return whether a node may take a pod no more, whoever leaves: victims there may never end."""
    return node not in state.nodes or not suitable(state, pod, plugins)(node)


def victims_waited_for(state: ClusterState, pod: Pod, plugins: Plugins) -> list[Pod]:
    """Return the pods marked for a pod that have to be gone before others are evicted for it.

    All but those that are being deleted on a node that is lost to it: of the others, a deletion may
    be under way, or help.
    """
    return [
        each
        for each in state.victims_of(pod.uid)
        if not (each.status.deleting and is_lost(state, pod, each.node or "", plugins))
    ]


def _is_curable(state: ClusterState, pod: Pod, node: str, plugins: Plugins) -> bool:
    """Return whether a node fits, or would if pods left it, as the first that refuses it says."""
    asked = state.nodes.asked([node])
    fixed, by_pods = _by_what_they_see(plugins)
    if not suitable(state, pod, plugins)(node):
        return False
    if judge(state, pod, asked, fixed, nominated=False).refused:
        return False
    fit = NodeFit(state, pod, node)
    if not fit.fits:
        return fit.is_curable
    return all(reason.resolvable for reason, _ in judge(state, pod, asked, by_pods).refused)


def candidates(
    state: ClusterState,
    pod: Pod,
    plugins: Plugins,
    *,
    chance: float,
    passed: Container[str] | None = None,
    evicting: bool = True,
    for_room: bool = True,
) -> Iterator[Candidate | None]:
    """Look at every node in turn; yield a candidate, or None, for each.

    Without `evicting`, only nodes that take the pod as it is are candidates, and looked at.

    The state may change between two of them, so the one that is taken has to be looked at once more
    (`on_node`). `chance` in [0, 1) says where to begin: of equal nodes the first is taken. Where it
    is known which nodes the scheduler's own plugins have `passed`, others count only where we see
    why they did not: room that is missing can be made, if it is `for_room` that pods may go.
    O(pods of a node) at a step, after O(nodes) for the first. Of a pod with very many conditions,
    not all nodes are looked at.

    The scheduler judges room before it judges affinity, and a node is given up for the first
    refusal that nothing cures.
    """
    asked = state.nodes.asked(list(state.nodes))
    plugins = [at_once(plugin.counting(state, pod)) for plugin in plugins]
    fixed, by_pods = _by_what_they_see(plugins)
    left = judge(state, pod, asked, fixed, nominated=False).fits
    verdicts = judge(state, pod, left, by_pods)
    reasons = {name: reason for reason, names in verdicts.refused for name in names}
    run = _DryRun(state, pod, plugins)
    names = left.names if evicting else verdicts.fits.names
    for name in islice(from_somewhere(names, chance), most_nodes(pod, MOST_CONDITIONS)):
        # What suits is looked up anew each time: nodes change between two steps.
        if name not in state.nodes or not suitable(state, pod, plugins)(name):
            yield None
            continue
        if name in reasons and not run.repels(name):
            # Whatever leaves this node, the rules refuse it as before.
            yield None
            continue
        fit = NodeFit(state, pod, name)
        if not fit.fits:
            yield run.with_fit(name, fit) if evicting and for_room else None
        elif passed is not None and name not in passed:
            yield None
        elif name not in reasons:
            yield Candidate(name, ())
        else:
            yield run.with_fit(name, fit) if reasons[name].resolvable else None


def on_node(state: ClusterState, pod: Pod, plugins: Plugins, node: str) -> Candidate | None:
    """Return the victims on one node as things are now, None when evicting pods there is no use."""
    return _DryRun(state, pod, plugins).on(node)


def needed(
    state: ClusterState, pod: Pod, plugins: Plugins, node: str, victims: Collection[str]
) -> Candidate | None:
    """Return who of some victims has to go for our rules and for room; None where that is unclear.

    The others may have been named for reasons that we do not see.
    """
    return _DryRun(state, pod, plugins).among(node, victims)


def _by_what_they_see(plugins: Plugins) -> tuple[Plugins, Plugins]:
    """Return the plugins whose verdict no eviction changes, and those that look at placed pods.

    A limit on pods of a namespace is of the first kind: no pod is evicted to stay below it.
    """
    return (
        [each for each in plugins if not each.compares_pods],
        [each for each in plugins if each.compares_pods],
    )


class _DryRun:
    def __init__(self, state: ClusterState, preemptor: Pod, plugins: Plugins) -> None:
        self._state = state
        self._preemptor = preemptor
        self._plugins = plugins
        self._fixed, self._by_pods = _by_what_they_see(plugins)
        self._counting = [
            each for each in plugins if each.counts_pods and each.concerns(state, preemptor)
        ]
        self._keys = Exclusions(state, state.class_of(preemptor), plugins).keys

    def on(self, node: str) -> Candidate | None:
        """Return the victims on a node, None where none are of use or none are needed."""
        state, pod = self._state, self._preemptor
        if not suitable(state, pod, self._plugins)(node):
            return None
        return self.with_fit(node, NodeFit(state, pod, node))

    def with_fit(self, node: str, fit: NodeFit) -> Candidate | None:
        """Return the victims on a node that suits the pod; what is taken there changes in `fit`.

        All less important pods go, and if the pod fits then, they come back one by one, those first
        that a budget protects, and of these the most important ones first; who stands in the way
        stays out. What affinity says of a pod does not hang on who else comes back: it cannot be
        lost by it, and anti-affinity is between two pods. So it is judged once; what counts pods,
        with each that comes back.
        """
        lesser = self._lesser(node)
        if not lesser:
            return None
        for_room = not fit.fits
        for each in lesser:
            fit.free(each)
        if not fit.fits or not self._obeys_rules_without(lesser, node):
            return None
        found = self._reprieve(node, sorted(lesser, key=importance), fit)
        return None if found is None else replace(found, for_room=for_room)

    def among(self, node: str, victims: Collection[str]) -> Candidate | None:
        """Return the same of these pods alone, of which our rules allow that all go."""
        there = [each for each in self._lesser(node) if each.uid in victims]
        if len(there) < len(victims):
            return None
        fit = NodeFit(self._state, self._preemptor, node)
        for each in there:
            fit.free(each)
        return self._reprieve(node, sorted(there, key=importance), fit) if fit.fits else None

    def repels(self, node: str) -> bool:
        lesser = self._lesser(node)
        if self._counting:
            return bool(lesser)
        return any(self._keys(each.pod_class) is not None for each in lesser)

    def _lesser(self, node: str) -> list[Pod]:
        """Return the less important pods of a node, bound there whether the watch shows it or not.

        One whose bind is under way, or has ended unclearly, may turn out to be elsewhere. Those of
        pod groups stay.
        """
        state, pod = self._state, self._preemptor
        there = (*state.pods_on(node), *state.reservations.confirmed_on(node))
        return [each for each in there if may_be_chosen(each, pod)]

    def _obeys_rules_without(self, lesser: Sequence[Pod], node: str) -> bool:
        state, pod = self._state, self._preemptor
        concerned = lesser
        if not self._counting:
            concerned = [each for each in lesser if self._keys(each.pod_class) is not None]
        return fits_without(state, pod, node, concerned, self._by_pods) and bool(
            judge(state, pod, state.nodes.asked([node]), self._fixed, nominated=False).fits.names
        )

    def _allows_without(self, gone: Iterable[Pod], node: str) -> bool:
        """Return whether what counts pods lets ours onto a node once some are gone."""
        counting = self._counting
        return not counting or fits_without(self._state, self._preemptor, node, gone, counting)

    def _reprieve(self, node: str, lesser: Sequence[Pod], fit: NodeFit) -> Candidate | None:
        protected = self._state.budgets.violated_by(lesser)
        labels = self._state.nodes.labels(node)
        victims, violations = [], 0
        gone = {pod.uid: pod for pod in lesser}
        for pod in sorted(lesser, key=lambda each: each.uid not in protected):
            keys = self._keys(pod.pod_class)
            if (keys is None or keys.isdisjoint(labels)) and fit.spare(pod):
                del gone[pod.uid]
                if self._allows_without(gone.values(), node):
                    continue
                gone[pod.uid] = pod
                fit.free(pod)
            victims.append(pod)
            violations += pod.uid in protected
        return Candidate(node, sorted(victims, key=importance), violations) if victims else None
