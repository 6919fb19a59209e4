"""Asks kube-controller-manager's controllers what they do next, with objects made of model pods."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from affinityctl.commands.simulate.whatif.deletion_order import PHASES
from affinityctl.reading.deletion_cost import COST_ANNOTATION, DELETION_COST
from tests.conformance.asking import asking
from tests.e2e.original import WHOLE, original

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from affinityctl.commands.simulate.whatif.deletion_order import Lives
    from extender.core.model.objects import Pod
    from tests.conformance.asking import Ask
    from tests.e2e.controlplane.binaries import Binaries

JSON = dict[str, Any]

_PROGRAM = "controllermanager"
_PLURALS = {
    "ReplicaSet": "replicasets",
    "Deployment": "deployments",
    "StatefulSet": "statefulsets",
    "Job": "jobs",
}
HASH = "pod-template-hash"
REVISION = "controller-revision-hash"
SELECTOR = {"matchLabels": {"app": "web"}}
LONG_AGO = "2025-01-01T00:00:00Z"


@contextmanager
def controllers(built: Callable[[Any], Binaries]) -> Iterator[Ask]:
    """Start the controllers' own packages, built on the first run; what is given asks them."""
    with asking(original(built, _PROGRAM, "the controllers of Kubernetes", WHOLE)) as put:

        def ask(question: Mapping[str, Any]) -> JSON:
            found: JSON = put(question)
            assert "error" not in found, found["error"]
            return found

        yield ask


class Looked:
    """What a controller wrote when it looked at an object once."""

    def __init__(self, ask: Ask, kind: str, name: str, **objects: list[JSON]) -> None:
        found = ask({"kind": kind, "key": f"default/{name}", **objects})
        self.writes: list[JSON] = found["writes"] or []

    def objects(self, verb: str, resource: str, subresource: str | None = None) -> list[JSON]:
        """Return the objects that it wrote with a verb."""
        return [each["object"] for each in self._of(verb, resource, subresource)]

    @property
    def deleted(self) -> list[str]:
        return [each["name"] for each in self._of("delete", "pods", None)]

    @property
    def created(self) -> list[JSON]:
        return self.objects("create", "pods")

    def _of(self, verb: str, resource: str, subresource: str | None) -> list[JSON]:
        asked = (verb, resource, subresource)
        return [
            each
            for each in self.writes
            if (each["verb"], each["resource"], each.get("subresource")) == asked
        ]


def template(version: int = 0, **labels: str) -> JSON:
    """Return one version of a pod template."""
    container = {"name": "main", "image": f"x:{version}"}
    return {"metadata": {"labels": {"app": "web"} | labels}, "spec": {"containers": [container]}}


def workload(kind: str, name: str, made_of: JSON | None = None, **spec: Any) -> JSON:
    """Return an object of the API that makes pods."""
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "generation": 1}
    whole = {"selector": SELECTOR, "template": made_of or template(), **spec}
    return {"kind": kind, "metadata": metadata | {"creationTimestamp": LONG_AGO}, "spec": whole}


def controlled_by(owner: JSON) -> list[JSON]:
    """Return the reference to a controller."""
    kind, metadata = owner["kind"], owner["metadata"]
    one = {"apiVersion": "apps/v1", "kind": kind, "name": metadata["name"], "controller": True}
    return [one | {"uid": metadata["uid"]}]


def replica_set(
    deployment: JSON, name: str, version: int, size: tuple[int, int], created: str = LONG_AGO
) -> JSON:
    """Return a ReplicaSet of a Deployment that is not being scaled; of its pods some available."""
    pods, available = size
    made = workload("ReplicaSet", name, template(version, **{HASH: name}), replicas=pods)
    made["spec"]["selector"] = {"matchLabels": {"app": "web", HASH: name}}
    wanted = deployment["spec"]["replicas"]
    made["metadata"] |= {
        "creationTimestamp": created,
        "labels": {"app": "web", HASH: name},
        "ownerReferences": controlled_by(deployment),
        "annotations": {"deployment.kubernetes.io/desired-replicas": str(wanted)},
    }
    made["status"] = {"replicas": pods, "readyReplicas": available, "availableReplicas": available}
    return made


def moment(seconds: float) -> str:
    """Return a time as objects have it."""
    return f"{datetime.fromtimestamp(int(seconds), UTC):%Y-%m-%dT%H:%M:%SZ}"


def api_pod(pod: Pod, lives: Lives, owner: JSON, **labels: str) -> JSON:
    """Return a model pod as the API server would have it."""
    life = lives.of(pod)
    phase = next((name for name, order in PHASES.items() if order == life.phase), "Pending")
    status: JSON = {"phase": phase}
    if pod.node is not None:
        since = {"lastTransitionTime": moment(life.ready_since or 1)}
        status["conditions"] = [{"type": "Ready", "status": str(pod.status.ready), **since}]
    cost = pod.facet(DELETION_COST)
    metadata: JSON = {
        "name": pod.key.partition("/")[2],
        "namespace": "default",
        "uid": pod.uid,
        "labels": {"app": "web"} | labels,
        "ownerReferences": controlled_by(owner),
        "creationTimestamp": moment(life.created or 1),
        "annotations": {} if cost is None else {COST_ANNOTATION: str(cost)},
    }
    spec = {"containers": template()["spec"]["containers"], "nodeName": pod.node or ""}
    return {"metadata": metadata, "spec": spec, "status": status}


def of_kind(ask: Ask, owner: JSON, **objects: list[JSON]) -> Looked:
    """Have the controller of an object look at it."""
    kind, name = owner["kind"], owner["metadata"]["name"]
    given = {_PLURALS[kind]: [owner]} | objects
    return Looked(ask, kind, name, **given)


def revisions_of(ask: Ask, name: str, number: int = 2) -> list[JSON]:
    """Return the ControllerRevisions that the controller makes of versions of a template."""
    made: list[JSON] = []
    for version in range(number):
        owner = workload("StatefulSet", name, template(version), replicas=0, revisionHistoryLimit=9)
        owner["spec"]["updateStrategy"] = {"type": "OnDelete"}
        (one,) = of_kind(ask, owner, controllerrevisions=made).objects(
            "create", "controllerrevisions"
        )
        one["metadata"]["namespace"] = "default"
        made.append(one)
    return made
