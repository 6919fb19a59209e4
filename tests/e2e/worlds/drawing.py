"""Small clusters by a seed, and one change to each."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from tests.e2e.objects import HOSTNAME, ZONE, term

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.e2e.objects import JSON

NAMESPACES = ("one", "two")
CLASSES = {
    "worlds-low": (-10, {}),
    "worlds-high": (1000, {}),
    "worlds-polite": (1000, {"preemptionPolicy": "Never"}),
}
"""PriorityClasses by name; pods without one are of priority 0."""
HASH = "pod-template-hash"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
"""What the node lifecycle controller adds to cordoned nodes; it would miss the heartbeats here."""
REPLICA = {"made": "by-a-controller"}
"""On pods of workloads alone: these would adopt others, and delete those that are too many."""
KINDS = (
    *("drain",) * 5,
    *("lose",) * 2,
    *("important",) * 2,
    *("restart", "restart", "roll", "roll", "scale", "place"),
)
"""Of changes."""
APPS = ("red", "blue", "green")
API = {
    "Pod": "v1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "PodDisruptionBudget": "policy/v1",
}


@dataclass(slots=True)
class World:
    """What is created, in the order of the fields, and what is then changed."""

    seed: int
    nodes: list[JSON]
    budgets: list[JSON]
    workloads: list[JSON]
    """Deployments, StatefulSets, ReplicaSets and pods."""
    unready: list[int]
    """Pods that stop being ready, by their numbers among all that run, as `sorted` has them."""
    lingering: list[int]
    """Pods that are deleted and stay, by the same numbers."""
    held: str | None
    """A workload whose pods stay for a while once they are evicted."""
    late: list[JSON]
    """Pods that come when all of this is there."""
    change: JSON = field(default_factory=dict)


def zone_of(node: JSON) -> str | None:
    zone: str | None = node["metadata"]["labels"].get(ZONE)
    return zone


def draw(seed: int) -> World:
    """Return the world of a seed, always the same."""
    return _Drawn(Random(seed), seed).world()


class _Drawn:
    def __init__(self, chance: Random, seed: int) -> None:
        self._chance = chance
        self._seed = seed
        self._crowded = self.rarely(2)
        self._namespaces = self.one_of(NAMESPACES[:1], NAMESPACES[:1], NAMESPACES)
        self._kind = self.one_of(*KINDS)

    def one_of(self, *values: Any) -> Any:
        return self._chance.choice(values)

    def rarely(self, one_in: int) -> bool:
        return self._chance.randrange(one_in) == 0

    def world(self) -> World:
        nodes = self._nodes()
        workloads = [self._workload(name) for name in APPS[: self.one_of(1, 2, 2, 3)]]
        budgets = list(self._budgets(workloads))
        workloads += [self._pod(f"bare-{number}") for number in range(self.one_of(0, 0, 1, 2))]
        self._chance.shuffle(workloads)
        held = None
        late = []
        if self.rarely(8):
            held = workloads[0]["metadata"]["name"]
            late = [self._important("late")]
        elif self.rarely(6):
            late = [self._pod("late-0")]
        world = World(
            self._seed,
            nodes,
            budgets,
            workloads,
            [self._chance.randrange(100)] if self.rarely(4) else [],
            [self._chance.randrange(100)] if self.rarely(6) else [],
            held,
            late,
        )
        world.change = self._change(world)
        return world

    def _nodes(self) -> list[JSON]:
        number = self._chance.choice((3, 3, 3, 4, 4, 5) if self._crowded else (3, 4, 5, 6, 8, 12))
        zones = "abc"[: self.one_of(2, 3, 3)]
        sizes = ("1",) if self._crowded else self.one_of(("2",), ("1", "2"), ("1", "2", "4"))
        return [self._node(f"n{each}", zones[each % len(zones)], sizes) for each in range(number)]

    def _node(self, name: str, zone: str, sizes: Sequence[str]) -> JSON:
        labels = {HOSTNAME: name, ZONE: zone, "pool": self.one_of("old", "new")}
        if self.rarely(12):
            del labels[ZONE]
        room = {
            "cpu": self._chance.choice(sizes),
            "memory": "8Gi",
            "pods": self.one_of("3", "6", "20", "20"),
        }
        spec: JSON = {}
        if self.rarely(8):
            effect = self.one_of("NoSchedule", "NoSchedule", "PreferNoSchedule")
            spec["taints"] = [{"key": "dedicated", "value": "x", "effect": effect}]
        if self.rarely(10):
            spec |= {"unschedulable": True, "taints": [*spec.get("taints", ()), CORDONED]}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": spec,
            "status": {
                "capacity": room,
                "allocatable": room,
                "conditions": [{"type": "Ready", "status": "True", "reason": "NoKubelet"}],
            },
        }

    def _workload(self, app: str) -> JSON:
        kind = self.one_of("Deployment", "Deployment", "StatefulSet", "ReplicaSet")
        if self._kind in {"restart", "roll"}:
            kind = self.one_of("Deployment", "Deployment", "StatefulSet")
        spec: JSON = {
            "replicas": self.one_of(1, 2, 3, 3, 4, 5),
            "selector": {"matchLabels": {"app": app} | REPLICA},
            "template": self._template(app, kind),
        }
        if kind == "Deployment":
            spec |= {"strategy": self._strategy(), "progressDeadlineSeconds": 600}
        if kind == "StatefulSet":
            spec["replicas"] = self.one_of(2, 3, 4, 5)
            rolling = {"partition": self.one_of(0, 0, 0, 1)}
            spec |= {
                "serviceName": "",
                "podManagementPolicy": self.one_of("OrderedReady", "Parallel"),
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
            }
        return self._object(kind, app, spec)

    def _object(self, kind: str, name: str, spec: JSON, labels: JSON | None = None) -> JSON:
        metadata = {"name": name, "namespace": self.one_of(*self._namespaces)}
        return {
            "apiVersion": API[kind],
            "kind": kind,
            "metadata": metadata | ({"labels": labels} if labels else {}),
            "spec": spec,
        }

    def _strategy(self) -> JSON:
        if self.rarely(8):
            return {"type": "Recreate"}
        surge, unavailable = self.one_of((1, 0), ("25%", "25%"), (0, 1), (1, 1), (2, 0), ("50%", 0))
        limits = {"maxSurge": surge, "maxUnavailable": unavailable}
        return {"type": "RollingUpdate", "rollingUpdate": limits}

    def _template(self, app: str, kind: str) -> JSON:
        labels = {"app": app, "tier": self.one_of("front", "back")}
        return {"metadata": {"labels": labels | REPLICA}, "spec": self._spec(app, kind)}

    def _pod(self, name: str) -> JSON:
        labels = {"app": self.one_of(*APPS), "tier": self.one_of("front", "back")}
        return self._object("Pod", name, self._spec(labels["app"], "Pod"), labels)

    def _important(self, name: str) -> JSON:
        made = self._pod(name)
        spec = made["spec"]
        spec["priorityClassName"] = self.one_of("worlds-high", "worlds-high", "worlds-polite")
        requests = {"cpu": self.one_of("300m", "900m")}
        spec["containers"][0]["resources"] = {"requests": requests}
        return made

    def _spec(self, app: str, kind: str) -> JSON:
        container: JSON = {"name": "main", "image": "none.invalid/none"}
        asks = {"cpu": self.one_of("500m" if self._crowded else "100m", "300m", "500m", "900m")}
        if self.rarely(4):
            asks["memory"] = self.one_of("100Mi", "3Gi")
        if not self.rarely(8):
            container["resources"] = {"requests": asks}
        if self.rarely(12):
            container["ports"] = [{"containerPort": 80, "hostPort": 80}]
        spec: JSON = {"containers": [container], "terminationGracePeriodSeconds": 30}
        if affinity := self._affinity(app, kind):
            spec["affinity"] = affinity
        if self.rarely(3):
            spec["topologySpreadConstraints"] = [self._spread(app, kind)]
        if self.rarely(4):
            spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
        if self.rarely(10):
            spec["nodeSelector"] = {"pool": "new"}
        if self.rarely(4):
            spec["priorityClassName"] = self.one_of(*CLASSES)
        return spec

    def _affinity(self, app: str, kind: str) -> JSON:
        mine, other = {"app": app}, {"app": self.one_of(*APPS)}
        keys = {"matchLabelKeys": [HASH]} if kind == "Deployment" and self.rarely(2) else {}
        key = self.one_of(HOSTNAME, HOSTNAME, ZONE)
        made: JSON = {}
        match self.one_of("apart", "apart", "apart", "other", "near", "prefer", "", "", ""):
            case "apart":
                made["podAntiAffinity"] = {REQUIRED: [term(key, mine, **keys)]}
            case "other":
                made["podAntiAffinity"] = {REQUIRED: [term(key, other)]}
            case "near":
                made["podAffinity"] = {REQUIRED: [term(key, other)]}
            case "prefer":
                weighted = {"weight": 100, "podAffinityTerm": term(key, mine)}
                made["podAntiAffinity"] = {PREFERRED: [weighted]}
        if self.rarely(12):
            wanted = {"key": "pool", "operator": self.one_of("In", "NotIn"), "values": ["old"]}
            made["nodeAffinity"] = {
                REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
            }
        return made

    def _spread(self, app: str, kind: str) -> JSON:
        when = self.one_of("DoNotSchedule", "DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")
        made: JSON = {
            "maxSkew": self.one_of(1, 1, 2),
            "topologyKey": self.one_of(ZONE, HOSTNAME),
            "whenUnsatisfiable": when,
            "labelSelector": {"matchLabels": {"app": app}},
        }
        if kind == "Deployment" and self.rarely(2):
            made["matchLabelKeys"] = [HASH]
        if when == "DoNotSchedule" and self.rarely(6):
            made["minDomains"] = self.one_of(2, 3)
        if self.rarely(4):
            made["nodeTaintsPolicy"] = "Honor"
        return made

    def _budgets(self, workloads: Sequence[JSON]) -> Iterator[JSON]:
        number = self.one_of(1, 1, 2) if self._kind == "drain" else self.one_of(0, 0, 1)
        for each in range(number):
            of = self.one_of(*workloads)
            labels = of["spec"]["template"]["metadata"]["labels"]
            key = self.one_of("app", "app", "app", "tier")
            amount = self.one_of(1, 1, 2, "50%", "34%", 0, "100%")
            least = self.one_of("minAvailable", "maxUnavailable")
            spec = {least: amount, "selector": {"matchLabels": {key: labels[key]}}}
            if policy := self.one_of(None, None, "AlwaysAllow"):
                spec["unhealthyPodEvictionPolicy"] = policy
            made = self._object("PodDisruptionBudget", f"budget-{each}", spec)
            made["metadata"]["namespace"] = of["metadata"]["namespace"]
            yield made

    def _change(self, world: World) -> JSON:
        names = [each["metadata"]["name"] for each in world.nodes]
        scalable = [each for each in world.workloads if each["kind"] != "Pod"]
        rolling = [each for each in scalable if each["kind"] != "ReplicaSet"]
        change: JSON = {"kind": self._kind}
        match self._kind:
            case "drain":
                change["nodes"] = self._chance.sample(names, self.one_of(1, 1, 2))
                change["busiest"] = not self.rarely(3)
            case "lose":
                zone = self.one_of("a", "b")
                lost = [n["metadata"]["name"] for n in world.nodes if zone_of(n) == zone]
                few = self._chance.sample(names, self.one_of(1, 1, 2))
                change["nodes"] = lost if lost and self.rarely(3) else few
                change["busiest"] = not lost and not self.rarely(3)
            case "important":
                change = {"kind": "place", "objects": [self._important("vip")]}
            case "place":
                change["objects"] = [self._workload("yellow")]
            case "scale":
                change["of"] = self.one_of(*scalable)
                now = change["of"]["spec"]["replicas"]
                wanted = max(0, now + self.one_of(-2, -1, 1, 2, 3))
                change["replicas"] = wanted if wanted != now else now + 1
            case "restart":
                change["of"] = self.one_of(*rolling)
            case "roll":
                change["of"] = self._next(self.one_of(*rolling))
        return change

    def _next(self, of: JSON) -> JSON:
        """Return a workload with another template."""
        metadata = of["spec"]["template"]["metadata"]
        template = {"metadata": metadata, "spec": self._spec(metadata["labels"]["app"], of["kind"])}
        template["spec"]["containers"][0]["image"] = "none.invalid/next"
        return of | {"spec": of["spec"] | {"template": template}}
