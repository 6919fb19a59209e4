"""One cluster and pods, judged by all of the scheduler's filter plugins together and by ours."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from affinityctl.whatif.scheduling import BY_DEFAULT
from extender.model.verdict import Reason
from extender.verbs.filtering import judge
from extender.verbs.node_room import NodeResourcesFit
from tests.builders import model_pod, state_of
from tests.conformance.skipped import SKIPPED, without_rules_of_nominated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from extender.cluster.state import ClusterState
    from extender.model.objects import Pod
    from tests.conformance.asking import InTree

Case = dict[str, Any]
Verdict = tuple[str, tuple[str, ...]]
"""The first plugin that refuses a node, and its reasons."""

_UNRESOLVABLE = "UnschedulableAndUnresolvable"
_NAMED = ("NodeAffinity", ("node(s) didn't satisfy plugin(s) [NodeAffinity]",))
"""Of nodes that PreFilter left out, because the pod names others."""
_CONFLICT = ("NodeAffinity", ("pod affinity terms conflict",))


@dataclass(frozen=True, slots=True)
class Difference:
    """A pod that was not judged alike."""

    pod: int
    theirs: Mapping[str, Verdict]
    ours: Mapping[str, Verdict]


def differences(case: Case, in_tree: InTree) -> Iterator[Difference]:
    """Yield the pods for which the extender comes to something else than the scheduler."""
    answers = in_tree.verdicts(case)
    seeing, blind = verdicts(case), list[dict[str, Verdict]]()
    if any(said.get(SKIPPED) for said in answers):
        blind = verdicts(without_rules_of_nominated(case))
    for number, said in enumerate(answers):
        ours = (blind if said.get(SKIPPED) else seeing)[number]
        theirs = {
            node: (each["plugin"], tuple(sorted(each["reasons"])))
            for node, each in said["refused"].items()
        }
        if ours != theirs or _unresolvable(ours) != _said_unresolvable(said["refused"]):
            yield Difference(number, theirs, ours)


def verdicts(case: Case) -> list[dict[str, Verdict]]:
    """Judge all nodes for each judged pod of a case, as the extender does."""
    cluster = case["cluster"]
    state = state_of(cluster["nodes"], cluster["namespaces"], cluster["pods"])
    return [_verdicts(state, model_pod(raw)) for raw in case["judged"]]


def _verdicts(state: ClusterState, pod: Pod) -> dict[str, Verdict]:
    asked = state.nodes.asked(list(state.nodes))
    refused = judge(state, pod, asked, BY_DEFAULT.filters).refused
    reasons = {name: reason for reason, names in refused for name in names}
    found = {}
    for name, reason in reasons.items():
        said: tuple[str, ...] = (reason.value,)
        if reason is Reason.RESOURCES:
            said = tuple(sorted(_lacking(state, pod, name)))
        found[name] = (reason.plugin, said)
    return found | _left_out(state, pod)


def _left_out(state: ClusterState, pod: Pod) -> dict[str, Verdict]:
    """Return the verdict about nodes that a pod's names leave out, before all others."""
    rules = () if pod.node_affinity is None else pod.node_affinity.required_rules
    for rule in rules:
        if rule.names is not None:
            said = _NAMED if rule.names else _CONFLICT
            return {name: said for name in state.nodes if name not in rule.names}
    return {}


def _lacking(state: ClusterState, pod: Pod, node: str) -> Iterator[str]:
    """Yield what a node lacks in the scheduler's words, the pods nominated to it included."""
    asked = state.nodes.asked([node])
    for rule in NodeResourcesFit().rules(state, pod):
        if rule.split(asked)[1]:
            yield rule.event


def _unresolvable(found: Mapping[str, Verdict]) -> set[str]:
    """Return the nodes where evicting pods is no use, as reasons tell."""
    by_text = {reason.value: reason for reason in Reason}
    curable = {Reason.PORTS, *(reason for reason in Reason if reason.resolvable)}
    return {
        node
        for node, (plugin, said) in found.items()
        if plugin != "NodeResourcesFit" and by_text.get(said[0]) not in curable
    }


def _said_unresolvable(refused: Mapping[str, Mapping[str, Any]]) -> set[str]:
    return {
        node
        for node, each in refused.items()
        if each["code"] == _UNRESOLVABLE and each["plugin"] != "NodeResourcesFit"
    }


class Refused:
    """Counts the nodes that one plugin alone refuses, by its reason."""

    def __init__(self) -> None:
        self.pods = 0
        self.fits = 0
        self.alone: Counter[Reason] = Counter(dict.fromkeys(EVERY, 0))

    def add(self, case: Case) -> None:
        """Look at every judged pod of a case."""
        cluster = case["cluster"]
        state = state_of(cluster["nodes"], cluster["namespaces"], cluster["pods"])
        asked = state.nodes.asked(list(state.nodes))
        for raw in case["judged"]:
            pod = model_pod(raw)
            by_node: dict[str, list[Reason]] = {name: [] for name in asked.names}
            for plugin in BY_DEFAULT.filters:
                for reason, names in judge(state, pod, asked, [plugin]).refused:
                    for name in names:
                        by_node[name].append(reason)
            self.pods += 1
            self.fits += any(not each for each in by_node.values())
            for each in filter(None, by_node.values()):
                if len(each) == 1:
                    self.alone[each[0]] += 1

    @property
    def never(self) -> list[Reason]:
        """The reasons that have never been the only one."""
        return [reason for reason, count in self.alone.items() if not count]

    def __str__(self) -> str:
        alone = ", ".join(f"{count} {reason.name.lower()}" for reason, count in self.alone.items())
        return f"{self.pods} pods, {self.fits} fit somewhere; alone refused nodes: {alone}"


EVERY = (
    Reason.UNSCHEDULABLE,
    Reason.TAINT,
    Reason.NODE_AFFINITY,
    Reason.PORTS,
    Reason.RESOURCES,
    Reason.SPREAD,
    Reason.SPREAD_LABEL,
    Reason.AFFINITY,
    Reason.ANTI_AFFINITY,
    Reason.EXISTING_ANTI_AFFINITY,
)
