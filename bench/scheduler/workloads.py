"""What is there and what comes when rates are measured.

Most are scheduler_perf's, with its names, counts and the shape of its pod templates
(k8s.io/kubernetes/test/integration/scheduler_perf/affinity). The crowded ones are ours: many apps,
each pod with a rule, which is where in-tree InterPodAffinity gets slow.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

from bench.workloads import CHART_WEIGHTS
from tests.e2e.objects import HOSTNAME, JSON, ZONE, namespace, node, pod, term

APPS, NAMESPACES = 500, 100
THREE_ZONES = ("zone1", "zone2", "zone3")
_DEVOPS = {"team": "devops"}
_BOTH = ["sched-1", "sched-0"]
_PERF_NODE = {"cpu": "4", "memory": "32Gi", "pods": "110"}
_PERF_REQUESTS = {"cpu": "100m", "memory": "500Mi"}


@dataclass(frozen=True, slots=True)
class Workload:
    """A cluster with pods in it, and pods that are to be placed while the clock runs."""

    name: str
    nodes: int
    existing: int
    measured: int
    make_existing: Callable[[int], JSON]
    make_measured: Callable[[int], JSON]
    zones: tuple[str | None, ...] = (None,)
    namespaces: list[JSON] = field(default_factory=list)

    @property
    def scored(self) -> bool:
        return "preferredDuringScheduling" in json.dumps(self.make_measured(0))

    def all_nodes(self) -> Iterator[JSON]:
        """Yield the nodes, the zones in turn."""
        for number, zone in zip(range(self.nodes), cycle(self.zones)):
            yield perf_node(number, zone)

    def all_existing(self) -> Iterator[JSON]:
        """Yield the pods that have a place, one node after the other.

        Each round over the nodes starts one further on, so that replicas of an app, which come at
        even distances, do not meet.
        """
        for number in range(self.existing):
            placed = self.make_existing(number)
            rounds, place = divmod(number, self.nodes)
            placed["spec"]["nodeName"] = _node_name((place + rounds) % self.nodes)
            yield placed

    def all_measured(self) -> list[JSON]:
        return [self.make_measured(number) for number in range(self.measured)]


def _node_name(number: int) -> str:
    return f"node-{number:05}"


def perf_node(number: int, zone: str | None = None) -> JSON:
    """Return a node of the templates' size."""
    made = node(_node_name(number), zone)
    made["status"] |= {"capacity": _PERF_NODE, "allocatable": _PERF_NODE}
    return made


def perf_pod(name: str, where: str, color: str, **affinity: Any) -> JSON:
    """Return a pod of the templates' shape, of a colour."""
    made = pod(name, where, **affinity)
    # Replicas are alike: no label of their own, as on the pods of scenarios.
    made["metadata"]["labels"] = {"color": color}
    made["spec"]["containers"][0] |= {
        "image": "registry.k8s.io/pause:3.10.2",
        "ports": [{"containerPort": 80}],
        "resources": {"requests": _PERF_REQUESTS, "limits": _PERF_REQUESTS},
    }
    return made


@dataclass(frozen=True, slots=True)
class Kind:
    """A pod template of scheduler_perf."""

    color: str
    key: str
    rule: str
    """The argument of `pod` that the term goes to."""

    def make(self, name: str, where: str, **whom: Any) -> JSON:
        """Return a pod; `whom` says of which namespaces its term speaks."""
        wish: Any = term(self.key, {"color": self.color}, **whom)
        if self.rule.startswith("prefer"):
            wish = (1, wish)
        return perf_pod(name, where, self.color, **{self.rule: [wish]})


ANTI_AFFINITY = Kind("green", HOSTNAME, "apart")
AFFINITY = Kind("blue", ZONE, "near")
PREFERRED_AFFINITY = Kind("red", HOSTNAME, "prefer_near")
PREFERRED_ANTI_AFFINITY = Kind("yellow", HOSTNAME, "prefer_apart")
_MIXED = (ANTI_AFFINITY, AFFINITY, PREFERRED_AFFINITY, PREFERRED_ANTI_AFFINITY)


def perf(name: str, kind: Kind, existing: int, measured: int, zone: str | None = None) -> Workload:
    """Return a workload whose existing and measured pods are alike, in two namespaces."""
    return Workload(
        name,
        5000,
        existing,
        measured,
        lambda number: kind.make(f"init-{number}", "sched-0", namespaces=_BOTH),
        lambda number: kind.make(f"measured-{number}", "sched-1", namespaces=_BOTH),
        zones=(zone,),
        namespaces=[namespace("sched-0"), namespace("sched-1")],
    )


def perf_by_selector(name: str, kind: Kind, existing: int, zone: str | None = None) -> Workload:
    """Return a workload whose pods speak of a hundred namespaces by their labels."""
    spaces = [namespace(f"init-ns-{n}", **_DEVOPS) for n in range(100)]
    spaces.append(namespace("measure-ns-0", **_DEVOPS))
    whom = {"namespaceSelector": {"matchLabels": _DEVOPS}}
    return Workload(
        name,
        5000,
        existing,
        1000,
        lambda number: kind.make(f"init-{number}", f"init-ns-{number % 100}", **whom),
        lambda number: kind.make(f"measured-{number}", "measure-ns-0", **whom),
        zones=(zone,),
        namespaces=spaces,
    )


def mixed() -> Workload:
    """Return pods without rules that come to 10,000 with and without."""

    def existing(number: int) -> JSON:
        kinds = (*_MIXED, None)
        kind = kinds[number // 2000]
        if kind is None:
            return perf_pod(f"init-{number}", "sched-0", "none")
        return kind.make(f"init-{number}", "sched-0", namespaces=_BOTH)

    return Workload(
        "MixedSchedulingBasePod",
        5000,
        10_000,
        1000,
        existing,
        lambda number: perf_pod(f"measured-{number}", "sched-1", "none"),
        zones=("zone1",),
        namespaces=[namespace("sched-0"), namespace("sched-1")],
    )


def plain(nodes: int = 1000) -> Workload:
    """Return pods without rules that come to nodes without pods."""
    return Workload(
        f"No rules, {nodes:,} empty nodes",
        nodes,
        0,
        1000,
        lambda number: perf_pod(f"init-{number}", "default", "none"),
        lambda number: perf_pod(f"measured-{number}", "default", "none"),
    )


def crowded(what: str, pods: int, **rules: Any) -> Workload:
    """Return 500 apps in 100 namespaces, every pod with the rule; more replicas of 50 come.

    A rule is a topology key with the weights that the apps take turns in; 0 is required.
    """

    def replica(name: str, app: int) -> JSON:
        labels = {"app": f"app-{app}"}
        given = {
            rule: [
                (weight, term(key, labels)) if weight else term(key, labels)
                for weight, key in ((weights[app % len(weights)], key) for weights, key in of)
            ]
            for rule, of in rules.items()
        }
        made = perf_pod(f"app-{app}-{name}", f"apps-{app % NAMESPACES}", "none", **given)
        made["metadata"]["labels"] = labels
        return made

    return Workload(
        f"{what}, 500 apps",
        5000,
        pods,
        1000,
        # The replicas of an app are on different nodes, and evenly over the zones.
        lambda number: replica(f"init-{number}", number % APPS),
        lambda number: replica(f"measured-{number}", number % 50),
        zones=THREE_ZONES,
        namespaces=[namespace(f"apps-{n}") for n in range(NAMESPACES)],
    )


ZONE_AND_HOST = (((100,), ZONE), ((50,), HOSTNAME))
CROWDED = (
    crowded("Preferred apart by host", 30_000, prefer_apart=[(CHART_WEIGHTS, HOSTNAME)]),
    crowded("Preferred apart by zone and host", 30_000, prefer_apart=ZONE_AND_HOST),
    crowded("Required apart by host", 30_000, apart=[((0,), HOSTNAME)]),
)
PERF = (
    perf("SchedulingPodAntiAffinity", ANTI_AFFINITY, 1000, 1000),
    perf("SchedulingPodAffinity", AFFINITY, 5000, 1000, "zone1"),
    perf("SchedulingPreferredPodAffinity", PREFERRED_AFFINITY, 5000, 1000),
    perf("SchedulingPreferredPodAntiAffinity", PREFERRED_ANTI_AFFINITY, 5000, 1000),
    mixed(),
    perf_by_selector("SchedulingRequiredPodAntiAffinityWithNSSelector", ANTI_AFFINITY, 4000),
    perf_by_selector(
        "SchedulingPreferredAntiAffinityWithNSSelector", PREFERRED_ANTI_AFFINITY, 4000
    ),
    perf_by_selector("SchedulingRequiredPodAffinityWithNSSelector", AFFINITY, 5000, "zone1"),
    perf_by_selector("SchedulingPreferredAffinityWithNSSelector", PREFERRED_AFFINITY, 5000),
)
WORKLOADS = (plain(), *CROWDED, *PERF)
