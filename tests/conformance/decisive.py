"""Which parts of a crowded cluster decide who is evicted: without them, others would be."""

from __future__ import annotations

import copy
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.conformance.preempting import attempts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tests.conformance.preempting import Attempt, Case

    Change = Callable[[Case], None]
    Whose = Callable[[Case], Iterable[dict[str, Any]]]

ENOUGH = 5
"""Preemptors after which a part is not looked at any more."""

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _everybody(case: Case) -> Iterator[dict[str, Any]]:
    yield from _placed(case)
    yield from _preemptors(case)


def _placed(case: Case) -> Iterable[dict[str, Any]]:
    pods: list[dict[str, Any]] = case["cluster"]["pods"]
    return pods


def _preemptors(case: Case) -> Iterable[dict[str, Any]]:
    pods: list[dict[str, Any]] = case["preemptions"]["pods"]
    return pods


def _without_field(whose: Whose, of: str, field: str) -> Change:
    def change(case: Case) -> None:
        for pod in whose(case):
            pod[of].pop(field, None)

    return change


def _without_rules(whose: Whose, side: str) -> Change:
    def change(case: Case) -> None:
        for pod in whose(case):
            pod["spec"].get("affinity", {}).pop(side, None)

    return change


def _by_hostname_only(case: Case) -> None:
    for pod in _everybody(case):
        for term in pod["spec"].get("affinity", {}).get("podAntiAffinity", {}).get(_REQUIRED, ()):
            term["topologyKey"] = "kubernetes.io/hostname"


def _plain_spread(case: Case) -> None:
    for pod in _preemptors(case):
        for constraint in pod["spec"].get("topologySpreadConstraints", ()):
            for field in ("minDomains", "matchLabelKeys", "nodeAffinityPolicy", "nodeTaintsPolicy"):
                constraint.pop(field, None)


def _without_ports(case: Case) -> None:
    for pod in _everybody(case):
        for container in pod["spec"]["containers"]:
            container.pop("ports", None)


def _without_requests(case: Case) -> None:
    for pod in _everybody(case):
        for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())):
            container.pop("resources", None)


def _without_budgets(case: Case) -> None:
    case["preemptions"]["budgets"] = []


def _one_budget(case: Case) -> None:
    del case["preemptions"]["budgets"][1:]


def _nobody_granted(case: Case) -> None:
    for budget in case["preemptions"]["budgets"]:
        budget["status"].pop("disruptedPods", None)


def _without_nominated(case: Case) -> None:
    pods = case["cluster"]["pods"]
    case["cluster"]["pods"] = [pod for pod in pods if "nominatedNodeName" not in pod["status"]]


def _without_taints(case: Case) -> None:
    for node in case["cluster"]["nodes"]:
        node["spec"] = {}


def _of_two_priorities(case: Case) -> None:
    for pod in case["cluster"]["pods"]:
        pod["spec"]["priority"] = min(pod["spec"]["priority"], 1)


PARTS: Mapping[str, Change] = {
    "anti-affinity": _without_rules(_everybody, "podAntiAffinity"),
    "the preemptor's own anti-affinity": _without_rules(_preemptors, "podAntiAffinity"),
    "anti-affinity by zone or rack": _by_hostname_only,
    "the preemptor's affinity": _without_rules(_preemptors, "podAffinity"),
    "topology spread": _without_field(_preemptors, "spec", "topologySpreadConstraints"),
    "optional fields of topology spread": _plain_spread,
    "host ports": _without_ports,
    "requests": _without_requests,
    "init containers": _without_field(_everybody, "spec", "initContainers"),
    "budgets": _without_budgets,
    "a second budget": _one_budget,
    "an eviction that a budget granted": _nobody_granted,
    "nominated pods": _without_nominated,
    "start times": _without_field(_placed, "status", "startTime"),
    "priorities among victims": _of_two_priorities,
    "taints": _without_taints,
    "tolerations": _without_field(_preemptors, "spec", "tolerations"),
    "a node selector": _without_field(_preemptors, "spec", "nodeSelector"),
    "node affinity": _without_rules(_preemptors, "nodeAffinity"),
    "the preemptor's nomination": _without_field(_preemptors, "status", "nominatedNodeName"),
    "victims on their way out": _without_field(_placed, "status", "conditions"),
    "the policy Never": _without_field(_preemptors, "spec", "preemptionPolicy"),
}


class Decided:
    """Counts, for each part, the preemptors that it decides about, up to ENOUGH."""

    def __init__(self) -> None:
        self.preemptors = 0
        self._outcomes: Counter[str] = Counter()
        self._counts: Counter[str] = Counter(dict.fromkeys(PARTS, 0))

    def add(self, case: Case) -> None:
        before = attempts(case)
        self.preemptors += len(before)
        self._outcomes.update(map(_outcome, before))
        for part in [part for part, count in self._counts.items() if count < ENOUGH]:
            changed = copy.deepcopy(dict(case))
            PARTS[part](changed)
            if changed != case:
                after = attempts(changed)
                decided = sum(map(lambda one, other: one != other, before, after))
                self._counts[part] += decided

    @property
    def never(self) -> list[str]:
        """The parts that have decided nothing."""
        return [part for part, count in self._counts.items() if not count]

    def __str__(self) -> str:
        often = sum(count >= ENOUGH for count in self._counts.values())
        outcomes = ", ".join(f"{count} {outcome}" for outcome, count in self._outcomes.items())
        return (
            f"{self.preemptors} preemptors ({outcomes}); {often} of {len(self._counts)} parts of a "
            f"cluster decided about {ENOUGH} or more of them"
        )


def _outcome(found: Attempt) -> str:
    if found.fits:
        return "fit"
    if not found.eligible:
        return "may not preempt"
    if not found.candidates:
        return "find nobody to evict"
    return "evict on one of several nodes" if len(found.candidates) > 1 else "evict on one node"
