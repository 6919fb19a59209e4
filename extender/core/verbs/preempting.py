"""Which pods have to go from a node for an important one, and which node the scheduler prefers."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from extender.core.cluster.state import ClusterState
from extender.core.model.disruption import Rank, Victims
from extender.core.model.objects import Pod, PodClass
from extender.core.verbs.filtering import CountingPlugin, judge
from extender.core.verbs.interaction import exclusive_keys
from extender.core.verbs.plugins import Plugins

LOWEST_PRIORITY = -(1 << 31)


def choose_victims(
    state: ClusterState,
    pod: Pod,
    candidates: Mapping[str, Victims],
    plugins: Plugins,
    *,
    may_be_empty: bool,
) -> Iterator[tuple[str, Victims | None]]:
    """Yield for each candidate who has to go for the pod to go there, by filter's rules, or None.

    What the scheduler chose stays chosen: it alone knows for which of its rules. Where that is
    not enough, the pods of that node that still stand in the way join the victims, if all of them
    are less important. Anti-affinity leaves no choice: it repels pod by pod, so every pod that
    repels must go, and sparing any other costs nothing. Of those that only a limit counts, the most
    important ones are spared, as many as it allows. Pods of other nodes are never added, no pod of
    a group, and no pod for the sake of a limit on a namespace: where that has no room without the
    victims, no candidate is left. Nor is one where the pod's affinity is met by less important pods
    alone: the scheduler takes all of them away first, and gives up a node that does not fit then. A
    pod that it leaves waiting there soon finds another place, and others would have gone for
    nothing.

    The state may change between two of them.
    With `may_be_empty` false, candidates without victims do not help.
    O(victims x terms) at a step, and O(pods of the node) where we refuse it; for each of these that
    only a limit counts, the node is judged once.
    """
    call = _Call(state, pod, plugins)
    for node, proposed in candidates.items():
        victims = call.victims_on(node, proposed)
        yield node, victims if victims is not None and (victims.uids or may_be_empty) else None


def only_waits(state: ClusterState, pod: Pod, going: Container[str], plugins: Plugins) -> bool:
    """Return whether the node that is held for a pod fits once pods on their way out are gone.

    Those are the less important ones there that are being deleted, or whose uids are in `going`.
    """
    if pod.status.nominated is None:
        return False
    gone = [
        each
        for each in state.pods_on(pod.status.nominated)
        if (each.status.deleting or each.uid in going) and may_be_evicted(each, pod)
    ]
    return bool(gone) and fits_without(state, pod, pod.status.nominated, gone, plugins)


class Exclusions:
    """Over which topology keys pods of a class exclude those of others; each is compared once."""

    def __init__(self, state: ClusterState, pod_class: PodClass, plugins: Plugins) -> None:
        self._state = state
        self._pod_class = pod_class
        self._plugins = plugins
        self._known: dict[PodClass, frozenset[str] | None] = {}

    def keys(self, other: PodClass) -> frozenset[str] | None:
        """Return these keys; None where no rule of either is about the other."""
        if other not in self._known:
            own, state = self._pod_class, self._state
            found = (each.interaction(state, own, other) for each in self._plugins)
            self._known[other] = exclusive_keys(found)
        return self._known[other]


class _Call:
    def __init__(self, state: ClusterState, pod: Pod, plugins: Plugins) -> None:
        self._state = state
        self._pod = pod
        self._plugins = plugins
        # In mode assist, where all that is enforced here is from annotations, budgets are unknown.
        self._adds = any(each.compares_pods and not each.of_annotations for each in plugins)
        self._exclusions = Exclusions(state, state.class_of(pod), plugins)
        self._counting = [each for each in plugins if isinstance(each, CountingPlugin)]
        self._is_attracted = bool(state.class_of(pod).affinity.required)

    def victims_on(self, node: str, proposed: Victims) -> Victims | None:
        """Return the victims that make a node fit, None when no victims on it do."""
        state = self._state
        # Never the pod itself: it is left out of all counts anyway.
        named = {*proposed.uids} - {self._pod.uid}
        placed = state.pods_on(node)
        gone = [each for each in (*placed, *state.reservations.on(node)) if each.uid in named]
        if len(gone) < len(named) and any(each.spec.group is not None for each in gone):
            # A pod group on several nodes: kube-scheduler looks for each victim on this one alone,
            # and where it does not find it (convertPodUIDToPod), its whole attempt fails.
            return None
        if self._is_attracted and not self._fits(node, self._lesser(node, gone)):
            return None
        if self._fits(node, gone):
            return proposed
        if not self._adds:
            return None
        # A pod that is being bound may turn out to be elsewhere, so it is never added.
        spared = [each for each in placed if each.uid not in named]
        repelling = [each for each in spared if self._is_in_the_way(each, node)]
        added = [*repelling, *self._counted(spared, repelling)]
        if not added or not self._fits(node, [*gone, *added]):
            return None
        for each in sorted(added[len(repelling) :], key=importance):
            fewer = [other for other in added if other is not each]
            if self._fits(node, [*gone, *fewer]):
                added = fewer
        added.sort(key=lambda pod: (-pod.spec.priority, pod.key))
        return Victims(
            _merged(proposed.uids, gone, added),
            proposed.violations + state.budgets.violations(gone, added),
        )

    def _fits(self, node: str, gone: Iterable[Pod]) -> bool:
        return fits_without(self._state, self._pod, node, gone, self._plugins)

    def _lesser(self, node: str, but: Sequence[Pod]) -> list[Pod]:
        """Return the victims that were named, and all other less important pods of a node."""
        there = self._state.pods_on(node)
        return [*but, *(e for e in there if may_be_evicted(e, self._pod) and e not in but)]

    def _counted(self, spared: Iterable[Pod], but: Sequence[Pod]) -> list[Pod]:
        """Return further pods that a limit counts, and that may be evicted for ours."""
        state, pod = self._state, self._pod
        return [
            each
            for each in spared
            if each not in but
            and may_be_chosen(each, pod)
            and any(plugin.counts(state, pod, each.pod_class) for plugin in self._counting)
        ]

    def _is_in_the_way(self, other: Pod, node: str) -> bool:
        """Return whether a pod on a node repels ours there, and may be evicted for it."""
        if not may_be_chosen(other, self._pod):
            return False
        keys = self._exclusions.keys(other.pod_class)
        return keys is not None and not keys.isdisjoint(self._state.nodes.labels(node))


def fits_without(
    state: ClusterState, pod: Pod, node: str, gone: Iterable[Pod], plugins: Plugins
) -> bool:
    return bool(judge(state, pod, state.nodes.asked([node]), plugins, gone=gone).fits.names)


def importance(pod: Pod) -> tuple[int, float, str]:
    """Return what sorts pods, the most important first: by priority, then by who started first."""
    return -pod.spec.priority, inf if pod.started is None else pod.started, pod.key


def may_be_evicted(other: Pod, pod: Pod) -> bool:
    """Return whether a pod is another one than ours, and less important."""
    return other.spec.priority < pod.spec.priority and other.uid != pod.uid


def may_be_chosen(other: Pod, pod: Pod) -> bool:
    """Return whether we may name a pod as a victim, where the scheduler has not done so.

    Not one of a pod group, unless it is on its way out: all of them may have to go together, on
    other nodes as well (`disruptionMode`), and its group may be more important than it is.
    """
    return may_be_evicted(other, pod) and (other.spec.group is None or other.status.deleting)


def _merged(named: Sequence[str], known: Iterable[Pod], added: Iterable[Pod]) -> list[str]:
    """Put the added victims among those that were named, the most important first.

    One that we do not know stays in front: we cannot tell that it is less important.
    """
    priorities = {pod.uid: pod.spec.priority for pod in (*known, *added)}
    uids = [*named, *(pod.uid for pod in added)]
    return sorted(uids, key=lambda uid: (uid in priorities, -priorities.get(uid, 0)))


def rank(victims: Sequence[Pod], violations: int) -> Rank:
    """Return how bad a set of victims is, the most important victim first; the lowest is taken.

    As in kube-scheduler's pickOneNodeForPreemption: violated disruption budgets, the highest
    priority, the sum of priorities (each taken as above the lowest there is, so that fewer are
    better), the number of victims, and the latest start of those with the highest priority. One
    that has not started counts as starting now.
    """
    top = max(pod.spec.priority for pod in victims)
    starts = [
        inf if pod.started is None else pod.started for pod in victims if pod.spec.priority == top
    ]
    return (
        violations,
        victims[0].spec.priority,
        sum(pod.spec.priority - LOWEST_PRIORITY for pod in victims),
        len(victims),
        -min(starts),
    )


@dataclass(frozen=True, slots=True)
class Settled:
    """Candidates of which it is known which one the scheduler takes."""

    chosen: Mapping[str, Victims]
    taken: str | None
    """None where that cannot be told."""


def rank_of(state: ClusterState, node: str, victims: Victims) -> Rank | None:
    """Return how bad some victims on a node are; None where one of them is unknown."""
    there = {pod.uid: pod for pod in (*state.pods_on(node), *state.reservations.on(node))}
    pods = [there[uid] for uid in victims.uids if uid in there]
    if not pods or len(pods) < len(victims.uids):
        return None
    return rank(pods, victims.violations)


def settle(chosen: Mapping[str, Victims], ranks: Mapping[str, Rank | None]) -> Settled:
    """Leave out candidates that are as good as the best one, and say which that is.

    Of equal ones the scheduler takes any. With one left, its nomination counts before the watch
    shows it. Those that it likes less stay, for other extenders to choose from. A victim that is
    unknown has no rank: then nothing is left out.
    """
    if len(chosen) == 1:
        return Settled(chosen, next(iter(chosen)))
    known = {node: found for node in chosen if (found := ranks[node]) is not None}
    if not known or len(known) < len(chosen):
        return Settled(chosen, None)
    best = min(known, key=lambda node: known[node])
    left = {
        node: victims
        for node, victims in chosen.items()
        if node == best or known[node] != known[best]
    }
    return Settled(left, best)
