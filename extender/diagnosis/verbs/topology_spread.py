"""Topology spread constraints that refuse nodes, as in-tree's podtopologyspread/filtering.go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from extender.core.cluster.counts.nodes import NodeList
from extender.core.cluster.state import ClusterState
from extender.core.model.labels import Selector
from extender.core.model.node_resources import SPREAD, Taint
from extender.core.model.objects import Pod
from extender.core.model.pod_affinity import PodSelector
from extender.core.model.stepping import A_LOOK, at_once
from extender.core.model.topology_spread import SpreadConstraint
from extender.core.model.verdict import POD_TOPOLOGY_SPREAD, Reason
from extender.core.model.wording import MOST_NAMED, labels_of, plural, short
from extender.core.verbs.filtering import CountingPlugin
from extender.core.verbs.plugins import Unknown, too_many
from extender.core.verbs.rules import Refusal, RefusalGroup, Rule

LOOKS: Final = 150
"""At a node for a constraint, at a class of pods or at a pod in one step of counting."""
NO_DOMAIN: Final = (1 << 31) - 1
MOST_CONSTRAINTS: Final = 16
"""Constraints of a pod that are looked at: no pod makes others wait."""


@dataclass(slots=True, eq=False)
class SpreadCount:
    """How many pods that one constraint counts each topology domain has."""

    constraint: SpreadConstraint
    selector: Selector
    own: int
    """1 where the pod is one of those that count."""
    eligible: Mapping[str, str]
    """The domain of each node that is part of one."""
    pods: Counter[str]
    """By domain: no other domain is of account."""
    ascending: Sequence[str]
    """The domains, those with the fewest pods first."""

    def shift(self, pods: Iterable[Pod], sign: int, by: Counter[str]) -> None:
        """Add pods that come (1) or go (-1) to what changes about the domains.

        In-tree counts a pod that goes even if it was on its way out, and did not count before.
        """
        for pod in pods:
            domain = self.eligible.get(pod.node or "")
            if domain is not None and self.selector.matches(pod.pod_class.labels):
                by[domain] += sign

    @property
    def lacks_domains(self) -> bool:
        return len(self.pods) < self.constraint.min_domains

    def least(self, by: Mapping[str, int]) -> int:
        """Return how few pods a domain has with such changes; 0 where domains are missing.

        Without any domain and any that has to be there, in-tree's start: no node has too many.
        """
        if self.lacks_domains:
            return 0
        fewest = [self.pods[domain] + change for domain, change in by.items()]
        others = (self.pods[domain] for domain in self.ascending if domain not in by)
        fewest += [pods for pods in (next(others, None),) if pods is not None]
        return min(fewest, default=NO_DOMAIN)


@dataclass(slots=True, eq=False)
class LabelRule(Rule):
    """The nodes without the topology key of a constraint are in no domain."""

    state: ClusterState
    constraint: SpreadConstraint
    what: str
    number: int
    reason: Reason = Reason.SPREAD_LABEL
    looks = 9

    @property
    def key(self) -> str:
        return self.constraint.topology_key

    def split(self, asked: NodeList) -> tuple[NodeList, Sequence[str]]:
        labels, key = self.state.nodes.labels, self.key
        hit = [name for name in asked.names if key not in labels(name)]
        return asked.without(hit), hit

    def cause(self, group: RefusalGroup) -> str:
        return f"{_whose(self.constraint)} {self.what}"

    def statement(self, refusal: Refusal) -> str:
        nodes = plural(refusal.hits, "node")
        return f"{_stated(self.constraint)} refuses {nodes} without that label"

    def remedy(self, domain: str | None, nodes: int) -> str:
        return f" if {'they' if nodes > 1 else 'it'} had the label {self.key}"


@dataclass(slots=True, eq=False)
class SkewRule(Rule):
    """A topology domain has more pods than the others allow."""

    state: ClusterState
    count: SpreadCount
    by: Counter[str]
    """What is changed about the domains by pods that come and go."""
    what: str
    number: int
    reason: Reason = Reason.SPREAD
    looks = 9

    @property
    def key(self) -> str:
        return self.count.constraint.topology_key

    @property
    def most(self) -> int:
        """Return how many pods a domain may have beside the pod itself."""
        count = self.count
        return count.constraint.max_skew - count.own + count.least(self.by)

    def split(self, asked: NodeList) -> tuple[NodeList, Sequence[str]]:
        hit = [*self.hits(asked)]
        return asked.without(hit), hit

    def hits(self, asked: NodeList) -> Mapping[str, str | None]:
        labels, key, most = self.state.nodes.labels, self.key, self.most
        places = ((name, labels(name).get(key)) for name in asked.names)
        return {
            name: domain
            for name, domain in places
            if domain is not None and self._pods(domain) > most
        }

    def _pods(self, domain: str) -> int:
        return self.count.pods[domain] + self.by[domain]

    def cause(self, group: RefusalGroup) -> str:
        full = sorted(domain for domain in group.pods if domain is not None)[:MOST_NAMED]
        more = len(group.pods) - len(full)
        said = [self._said(domain) for domain in full]
        said += [f"{more:,} more too many"] if more else []
        whose = _whose(self.count.constraint)
        return f"{whose} {self.what}: {', '.join(said)}, {self._limit}"

    def _said(self, domain: str) -> str:
        return f"{domain} has {self._pods(domain):,} of these pods"

    @property
    def _limit(self) -> str:
        count, constraint = self.count, self.count.constraint
        domains = len(count.pods)
        if count.lacks_domains:
            are = "is" if domains == 1 else "are"
            fewest = f"there {are} {domains:,} of at least {constraint.min_domains:,} domains"
        elif domains:
            least = count.least(self.by)
            names = sorted(domain for domain in count.pods if self._pods(domain) == least)
            fewest = f"{names[0]} has {least:,}"
        else:
            fewest = "no node counts"
        more = f"{constraint.max_skew:,} more {'is' if constraint.max_skew == 1 else 'are'}"
        return f"{fewest}, and at most {more} allowed"

    def statement(self, refusal: Refusal) -> str:
        nodes = plural(refusal.hits, "node")
        said = self._said(refusal.domain or "")
        about = f"over pods with {labels_of(self.count.selector)}"
        return f"{_stated(self.count.constraint)} {about} refuses {nodes}: {said}, {self._limit}"

    def closed(self, admits: Callable[[str], bool]) -> list[str]:
        """Return the emptiest domains, if no node of theirs is admitted and that is the trouble.

        Without them some domain that is refused would be allowed. O(nodes that count).
        """
        count, least = self.count, self.count.least(self.by)
        if count.lacks_domains:
            return []
        there: set[str] = set()
        for name, domain in count.eligible.items():
            if domain not in there and admits(name):
                there.add(domain)
        others = [self._pods(domain) for domain in there]
        if not others or min(others) <= least:
            return []
        fewest = (each for each in count.pods if self._pods(each) == least)
        return sorted(each for each in fewest if each not in there)

    def allowed_without(self, pods: Iterable[Pod]) -> set[str | None]:
        """Return the domains that may have the pod if some others do not count."""
        by = Counter(self.by)
        self.count.shift(pods, -1, by)
        most = replace(self, by=by).most
        return {each for each, pods in self.count.pods.items() if pods + by[each] <= most}

    def remedy(self, domain: str | None, nodes: int) -> str:
        return f" with {self._pods(domain or '') - self.most:,} fewer of these pods in {domain}"


def _whose(constraint: SpreadConstraint) -> str:
    return "the scheduler's default" if constraint.is_default else "your"


def _stated(constraint: SpreadConstraint) -> str:
    whose = "The scheduler's default" if constraint.is_default else "Your"
    return f"{whose} topology spread constraint on {constraint.topology_key}"


@dataclass(frozen=True, slots=True)
class PodTopologySpread(CountingPlugin):
    """The scheduler's plugin of that name, without its score.

    Constraints that the scheduler itself adds (System) never refuse a node.
    """

    counted: Sequence[SpreadCount] | None = None
    """What was counted for one pod, all of whose questions are about that moment."""

    name: ClassVar[str] = POD_TOPOLOGY_SPREAD
    compares_pods: ClassVar[bool] = True

    def constraints(self, pod: Pod) -> Sequence[SpreadConstraint]:
        return pod.spec.requirements.spread

    def concerns(self, state: ClusterState, pod: Pod) -> bool:
        return 0 < len(self.constraints(pod)) <= MOST_CONSTRAINTS

    def unknown(self, state: ClusterState, pod: Pod) -> Iterator[Unknown]:
        return too_many(SPREAD, self.constraints(pod), MOST_CONSTRAINTS)

    def counting(self, state: ClusterState, pod: Pod) -> Generator[None, None, PodTopologySpread]:
        if not self.concerns(state, pod):
            return self
        return replace(self, counted=(yield from counting(state, pod, self.constraints(pod))))

    def rules_beside(self, state: ClusterState, pod: Pod, others: Sequence[Pod]) -> Iterator[Rule]:
        """Yield what each constraint refuses, in its order; O(nodes) if nothing was counted yet."""
        if not self.concerns(state, pod):
            return
        counted = self.counted
        if counted is None:
            counted = at_once(counting(state, pod, self.constraints(pod)))
        namespace = pod.pod_class.namespace
        gone = [each for each in state.left_out if each.pod_class.namespace == namespace]
        come = [each for each in others if each.pod_class.namespace == namespace]
        for number, count in enumerate(counted):
            what = f"topology spread on {short(count.constraint.topology_key)}"
            by: Counter[str] = Counter()
            count.shift(gone, -1, by)
            count.shift(come, 1, by)
            yield LabelRule(state, count.constraint, f"{what}: no such label", number)
            yield SkewRule(state, count, by, what, number)


def counting(
    state: ClusterState, pod: Pod, constraints: Sequence[SpreadConstraint]
) -> Generator[None, None, Sequence[SpreadCount]]:
    """Count pods for constraints of a pod, those included that are left out meanwhile.

    O(nodes + classes that may match + nodes that they are on + pods on their way out).
    """
    labels = pod.pod_class.labels
    eligible: list[dict[str, str]] = [{} for _ in constraints]
    suits = _eligible(state, pod)
    looks, keys = 0, frozenset(each.topology_key for each in constraints)
    for name in list(state.nodes):
        looks += 1
        if keys.issubset(state.nodes.labels(name)):
            for found, each in zip(eligible, constraints, strict=True):
                domain = suits(name, each)
                if domain is not None:
                    found[name] = domain
            looks += len(constraints)
        if looks >= LOOKS:
            looks = 0
            yield
    counted = []
    for found, each in zip(eligible, constraints, strict=True):
        yield
        selector = each.selector_for(labels)
        pods = Counter(dict.fromkeys(found.values(), 0))
        if selector.requirements or state.empty_selects_all:
            yield from _count(state, pod, selector, found, pods)
        own = int(selector.matches(labels))
        ascending = sorted(pods, key=pods.__getitem__)
        counted.append(SpreadCount(each, selector, own, found, pods, ascending))
    return counted


def _eligible(state: ClusterState, pod: Pod) -> Callable[[str, SpreadConstraint], str | None]:
    """Return what tells the domain of a node with all keys, None for one whose pods do not count.

    The pod's own node affinity is what its spec says, for the scheduler does not know of another.
    """
    own = pod.node_selection
    rule = None if own is None else own.required
    judged = None if rule is None else state.node_rules.judge(rule)
    covers, known = pod.spec.requirements.covers, dict[tuple[Taint, ...], bool]()

    def tolerates(name: str) -> bool:
        taints = state.node_resources.allocatable(name).taints
        if taints not in known:
            known[taints] = all(map(covers, taints))
        return known[taints]

    def suits(name: str, constraint: SpreadConstraint) -> str | None:
        if constraint.honors_node_affinity and judged is not None and not judged.of(name):
            return None
        if constraint.honors_taints and not tolerates(name):
            return None
        return state.nodes.labels(name)[constraint.topology_key]

    return suits


def _count(
    state: ClusterState,
    pod: Pod,
    selector: Selector,
    eligible: Mapping[str, str],
    pods: Counter[str],
) -> Iterator[None]:
    """Count the placed pods of a namespace that a selector matches, in steps.

    In-tree counts none that is on its way out, and up to 1.37 none for an empty selector.
    """
    namespace, names = pod.pod_class.namespace, state.nodes.names
    looks, a_class = 0, 1 + len(selector.requirements) // A_LOOK
    for placed in state.candidates(PodSelector(selector, frozenset((namespace,)))):
        pod_class = placed.pod_class
        if pod_class.namespace == namespace and selector.matches(pod_class.labels):
            for number, count in placed.on_nodes.items():
                domain = eligible.get(names[number])
                if domain is not None:
                    pods[domain] += count
            looks += len(placed.on_nodes)
        looks += a_class
        if looks >= LOOKS:
            looks = 0
            yield
    yield from _count_terminating(state, pod, selector, eligible, pods)
    for each in state.left_out:
        domain = eligible.get(each.node or "")
        mine = each.pod_class.namespace == namespace
        if domain is not None and mine and selector.matches(each.pod_class.labels):
            pods[domain] += 1


def _count_terminating(
    state: ClusterState,
    pod: Pod,
    selector: Selector,
    eligible: Mapping[str, str],
    pods: Counter[str],
) -> Iterator[None]:
    namespace = pod.pod_class.namespace
    for number, each in enumerate(list(state.terminating_pods), 1):
        if number % LOOKS == 0:
            yield
        mine = each.pod_class.namespace == namespace and each.uid != pod.uid
        domain = eligible.get(each.node or "")
        if domain is not None and mine and selector.matches(each.pod_class.labels):
            pods[domain] -= 1
