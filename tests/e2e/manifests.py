"""Manifests drawn at random, each with a fault or two that people make, or with none."""

from __future__ import annotations

import copy
import json
import random
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from tests.builders import HOST, ZONE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

JSON = dict[str, Any]
T = TypeVar("T")

_APPS: Final = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")
KINDS: Final = (*_APPS, "Pod", "ReplicationController", "Job", "CronJob", "PodDisruptionBudget")
COLLECTIONS: Final = {
    "Pod": "/api/v1/namespaces/default/pods",
    "ReplicationController": "/api/v1/namespaces/default/replicationcontrollers",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    "Job": "/apis/batch/v1/namespaces/default/jobs",
    "CronJob": "/apis/batch/v1/namespaces/default/cronjobs",
    **{kind: f"/apis/apps/v1/namespaces/default/{kind.lower()}s" for kind in _APPS},
}
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
ODD: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 5, 101, 1.5, 2**31, 2**40, "", "1", "a b", "-x", "x" * 64),
    *("25%", "125%", "-5%", "5 %", "In", "in", "Exists", "NotIn", "DoesNotExist", "Gt", "Equal"),
    *("NoExecute", "NoSchedule", "PreferNoSchedule", "DoNotSchedule", "ScheduleAnyway"),
    *("Honor", "Ignore", "Always", "OnFailure", "Never", "RollingUpdate", "Recreate", "OnDelete"),
    *("UPPER", "a/b/c", "/a", "a.b/c", "app", "100m", "1.5Gi", "1e3", " 1", "0x10", "1ki", "é"),
    *([], {}, [None], ["app"], ["a b"], [1], [{}], {"app": "web"}, {"app": 1}, {"a b": "c"}),
    *({"app": None}, "metadata.name", "metadata.uid", "TCP", "tcp", 80, 65535, 65536, 1e3),
)


RARE: Final = 16
"""One in so many has a field twice."""


class Case(NamedTuple):
    """A manifest, and what was done to it."""

    manifest: JSON
    changes: tuple[str, ...]
    twice: str = ""
    """The path of a field that is written twice."""

    def written(self) -> str:
        """Return it as JSON."""
        text = json.dumps(self.manifest)
        if self.twice:
            name = json.dumps(self.twice)
            text = text.replace(f"{name}: ", f"{name}: null, {name}: ", 1)
        return text


class Drawing:
    """Draws the cases of a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def case(self, *kinds: str, within: str = "spec") -> Case:
        """Draw one of some kinds, all if none is named, changed within a part of it."""
        manifest = self._manifest(self._of(*(kinds or KINDS)))
        changes = []
        for _ in range(self._of(0, 1, 1, 1, 1, 2)):
            change = self._random.choice(CHANGES)
            self._objects = [each for each in _objects(manifest) if each[0].startswith(within)]
            if self._objects and (changed := change(self)):
                changes.append(changed)
        twice = ""
        if self._random.random() < 1 / RARE:
            _, holder = self._random.choice([*_objects(manifest)])
            twice = self._of(*holder, "kind")
            changes.append(f"{twice} twice")
        return Case(manifest, tuple(changes), twice)

    def _some(self, *entries: tuple[str, Callable[[], Any]]) -> JSON:
        return {name: make() for name, make in entries if self._random.random() < 0.5}

    def _of(self, *values: T) -> T:
        return copy.deepcopy(self._random.choice(values))

    def _list(self, make: Callable[[], Any], most: int = 2) -> list[Any]:
        return [make() for _ in range(self._random.randint(1, most))]

    def _manifest(self, kind: str) -> JSON:
        version = {"Pod": "v1", "ReplicationController": "v1", "PodDisruptionBudget": "policy/v1"}
        group = "batch/v1" if kind.endswith("Job") else version.get(kind, "apps/v1")
        spec = self._budget() if kind == "PodDisruptionBudget" else self._spec(kind)
        metadata = {"name": "it", "namespace": "default", "labels": {"app": "web"}}
        return {"apiVersion": group, "kind": kind, "metadata": metadata, "spec": spec}

    def _budget(self) -> JSON:
        amount = self._of("minAvailable", "maxUnavailable")
        return {
            "selector": self._selector(),
            amount: self._of(1, 0, "50%", "100%"),
            **self._some(("unhealthyPodEvictionPolicy", lambda: "AlwaysAllow")),
        }

    def _spec(self, kind: str) -> JSON:
        if kind == "Pod":
            return self._pod()
        template = {"metadata": {"labels": {"app": "web", "tier": "a"}}, "spec": self._pod()}
        if kind.endswith("Job"):
            template["spec"]["restartPolicy"] = "Never"
            job = {
                "template": template,
                **self._some(("parallelism", lambda: 2), ("completions", lambda: 3)),
            }
            return job if kind == "Job" else {"schedule": "0 * * * *", "jobTemplate": {"spec": job}}
        selector: Any = {"app": "web"}
        if kind != "ReplicationController":
            selector = self._of(
                {"matchLabels": selector},
                {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
            )
        made = {"selector": selector, "template": template}
        if kind != "DaemonSet":
            made |= self._some(("replicas", lambda: self._of(0, 1, 3)))
        if kind == "Deployment":
            made |= self._some(("strategy", lambda: self._strategy("maxSurge", "maxUnavailable")))
        elif kind in {"StatefulSet", "DaemonSet"}:
            field = "partition" if kind == "StatefulSet" else "maxSurge"
            made |= self._some(("updateStrategy", lambda: self._strategy(field, "maxUnavailable")))
        return made

    def _strategy(self, *fields: str) -> JSON:
        amounts = (1, 1, 0, "25%", "0%", "120%") if self._of(0, 1) else (1,)
        rolling = self._some(*((field, lambda: self._of(*amounts)) for field in fields))
        kind = self._of("RollingUpdate", "RollingUpdate", "OnDelete", "Recreate")
        return {"type": kind, **self._some(("rollingUpdate", lambda: rolling))}

    def _pod(self) -> JSON:
        return {
            "containers": self._list(self._container, 1),
            **self._some(
                ("affinity", self._affinity),
                ("nodeSelector", lambda: {"disk": "ssd"}),
                ("tolerations", lambda: self._list(self._toleration)),
                ("topologySpreadConstraints", self._spread),
            ),
            **(self._some(("priorityClassName", lambda: "high")) if self._of(0, 0, 1) else {}),
            **(
                self._some(("schedulingGates", lambda: [{"name": "a/gate"}]))
                if self._of(0, 0, 1)
                else {}
            ),
        }

    def _container(self) -> JSON:
        amounts = {"cpu": "100m", "memory": "1.5Gi"}
        return {
            "name": "c",
            "image": "i",
            **self._some(
                ("resources", lambda: {"requests": dict(amounts), "limits": dict(amounts)}),
                ("ports", lambda: [{"containerPort": 80}]),
            ),
        }

    def _affinity(self) -> JSON:
        return self._some(
            ("nodeAffinity", self._nodes),
            ("podAffinity", self._pods),
            ("podAntiAffinity", self._pods),
        )

    def _nodes(self) -> JSON:
        return self._some(
            (REQUIRED, lambda: {"nodeSelectorTerms": self._list(self._node_term)}),
            (
                PREFERRED,
                lambda: self._list(lambda: {"weight": 5, "preference": self._node_term()}),
            ),
        )

    def _node_term(self) -> JSON:
        fields = {"key": "metadata.name", "operator": self._of("In", "NotIn"), "values": ["n1"]}
        return self._some(
            ("matchExpressions", lambda: self._list(self._node_requirement)),
            ("matchFields", lambda: [fields]),
        )

    def _node_requirement(self) -> JSON:
        compared = {"key": "gpus", "operator": self._of("Gt", "Lt"), "values": ["1"]}
        return self._of(self._requirement(), compared)

    def _requirement(self) -> JSON:
        key = self._of("app", "tier", "x/y")
        return self._of(
            {"key": key, "operator": self._of("In", "NotIn"), "values": ["web", "b"]},
            {"key": key, "operator": self._of("Exists", "DoesNotExist")},
        )

    def _selector(self) -> JSON:
        return self._some(
            ("matchLabels", lambda: {"app": "web"}),
            ("matchExpressions", lambda: self._list(self._requirement)),
        )

    def _pods(self) -> JSON:
        return self._some(
            (REQUIRED, lambda: self._list(self._term)),
            (
                PREFERRED,
                lambda: self._list(lambda: {"weight": 100, "podAffinityTerm": self._term()}),
            ),
        )

    def _term(self) -> JSON:
        made = {"topologyKey": self._of(HOST, ZONE), "labelSelector": self._selector()}
        return {
            **made,
            **self._some(
                ("namespaces", lambda: ["default"]), ("namespaceSelector", self._selector)
            ),
            **(self._some(("matchLabelKeys", lambda: ["other"])) if self._of(0, 1) else {}),
            **(self._some(("mismatchLabelKeys", lambda: ["tier"])) if self._of(0, 1) else {}),
        }

    def _toleration(self) -> JSON:
        return self._of(
            {"key": "a", "operator": "Exists"},
            {"key": "a", "value": "b", "effect": "NoSchedule"},
            {"operator": "Exists"},
            {"key": "a", "operator": "Equal", "effect": "NoExecute", "tolerationSeconds": 3},
        )

    def _spread(self) -> list[JSON]:
        return [self._constraint(key) for key in self._of([HOST], [HOST, ZONE])]

    def _constraint(self, key: str) -> JSON:
        hard = self._of(0, 1)
        return {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
            **self._some(("labelSelector", self._selector), ("nodeTaintsPolicy", lambda: "Honor")),
            **(self._some(("minDomains", lambda: 2)) if hard else {}),
        }

    def set_odd(self) -> str:
        """Give a field a value that may be none for it, mostly of the same type."""
        path, holder = self._random.choice(self._objects)
        name = self._of(*holder)
        alike = [each for each in ODD if type(each) is type(holder[name])]
        holder[name] = self._of(*(self._of(alike, alike, ODD) or ODD))
        return f"{path}.{name} = {holder[name]!r}"

    def misspell(self) -> str | None:
        """Change a letter of a field's name."""
        path, holder = self._random.choice(self._objects)
        name = self._of(*holder)
        wrong = self._of(name[:-1], f"{name}s", name.lower(), f"{name[:1].upper()}{name[1:]}")
        if wrong in holder:
            return None
        holder[wrong] = holder.pop(name)
        return f"{path}.{name} -> {wrong}"

    def misplace(self) -> str | None:
        """Move a field into another object."""
        (path, source), (to, target) = (self._random.choice(self._objects) for _ in range(2))
        name = self._of(*source)
        if to == path or to.startswith(f"{path}.{name}"):
            return None
        target[name] = source.pop(name)
        return f"{path}.{name} -> {to}.{name}"

    def drop(self) -> str:
        """Leave a field out."""
        path, holder = self._random.choice(self._objects)
        name = self._of(*holder)
        del holder[name]
        return f"{path}.{name} dropped"

    def add(self) -> str:
        """Give an object a field that some have, or another value of its own."""
        path, holder = self._random.choice(self._objects)
        name, value = self._of(*[each for each in FURTHER if each[0] in holder], *FURTHER)
        holder[name] = copy.deepcopy(value)
        return f"{path}.{name} = {value!r}"


CHANGES: Final = (
    *(Drawing.set_odd,) * 3,
    Drawing.misspell,
    Drawing.misplace,
    Drawing.drop,
    Drawing.drop,
    Drawing.add,
    Drawing.add,
)
FURTHER: Final[tuple[tuple[str, Any], ...]] = (
    ("affinity", {"podAntiAffinity": {}}),
    ("matchLabelKeys", ["app"]),
    ("mismatchLabelKeys", ["tier", "app"]),
    ("minDomains", 2),
    ("values", ["a"]),
    ("value", "b"),
    ("tolerationSeconds", 5),
    ("effect", "NoSchedule"),
    ("maxSurge", 0),
    ("maxUnavailable", 0),
    ("maxUnavailable", "0%"),
    ("rollingUpdate", {}),
    ("requests", {"cpu": "9"}),
    ("hostPort", 8080),
    ("restartPolicy", "OnFailure"),
    ("activeDeadlineSeconds", 5),
    ("nodeAffinityPolicy", "honor"),
    ("selector", {}),
    ("selector", {"app": "web"}),
    ("preemptionPolicy", "never"),
    ("topologySpreadConstraints", []),
)


def _objects(thing: Any, path: str = "") -> Iterator[tuple[str, JSON]]:
    """Yield the objects in a manifest that are not empty, with their paths."""
    if isinstance(thing, dict):
        if thing:
            yield path, thing
        for name, value in thing.items():
            yield from _objects(value, f"{path}.{name}".lstrip("."))
    elif isinstance(thing, list):
        for index, value in enumerate(thing):
            yield from _objects(value, f"{path}[{index}]")
