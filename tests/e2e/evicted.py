"""Pods, budgets and drains drawn at random, and what a simulation makes of them."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from affinityctl.commands.simulate.applied import SimulationReader, as_applied, known_of
from affinityctl.commands.simulate.whatif.nodes import drain, lose
from affinityctl.commands.simulate.whatif.placing import begin
from affinityctl.commands.simulate.whatif.preflight import Preflight
from affinityctl.commands.simulate.whatif.rolling import scale
from affinityctl.commands.simulate.whatif.scheduling import Scheduler
from extender.core.cluster.state import ClusterState
from extender.core.model.stepping import at_once
from extender.core.wire.objects import read_budget
from extender.diagnosis.wire.workloads import read_workload
from tests.beside import COVERS_ALL
from tests.builders import HOST, model_node, node
from tests.strategies import rarely

if TYPE_CHECKING:
    from collections.abc import Iterator

    from extender.core.model.keys import Key
    from extender.core.model.objects import Pod

JSON = dict[str, Any]

NODES = ("n1", "n2", "n3")
APPS = ("a", "b")
KINDS = ("ReplicaSet", "ReplicaSet", "StatefulSet", "StatefulSet", "Job", "")
"""What makes pods; "" for nothing."""
VERSIONS = {"Job": "batch/v1"}


def _one_of(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


def condition(*, ready: bool) -> JSON:
    return {"type": "Ready", "status": "True" if ready else "False"}


@st.composite
def _pod(draw: st.DrawFn, kind: str, app: str, number: int, labels: JSON) -> JSON:
    metadata: JSON = {
        "namespace": "d",
        "name": f"{app}-{number}",
        "uid": f"{app}-{number}",
        "labels": labels,
    }
    if kind:
        owner = {"apiVersion": VERSIONS.get(kind, "apps/v1"), "kind": kind, "name": app, "uid": app}
        metadata["ownerReferences"] = [owner | {"controller": True}]
    # A deletion that began an hour ago is not over.
    # Other controllers than StatefulSets have made another one by then.
    if draw(rarely(6)) and (number or kind == "StatefulSet"):
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    on = draw(_one_of(*NODES, *NODES, *NODES, None))
    running = on is not None and not draw(rarely(5))
    status: JSON = {"phase": "Running" if running else "Pending", "conditions": []}
    if on is not None:
        status["conditions"] = [condition(ready=running and not draw(rarely(4)))]
    spec = {} if on is None else {"nodeName": on}
    return {"metadata": metadata, "spec": spec | {"containers": []}, "status": status}


@st.composite
def _budget(draw: st.DrawFn, name: str) -> JSON:
    amount = _one_of(0, 1, 1, 2, 3, "0%", "25%", "50%", "100%")
    spec: JSON = {}
    match draw(_one_of("min", "max", "min", "max", "neither")):
        case "min":
            spec["minAvailable"] = draw(amount)
        case "max":
            spec["maxUnavailable"] = draw(amount)
    selectors: tuple[Any, ...] = (
        *({"matchLabels": {"app": app}} for app in APPS * 3),
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]},
        {},
        None,
    )
    spec["selector"] = draw(_one_of(*selectors))
    if policy := draw(_one_of(None, None, "IfHealthyBudget", "AlwaysAllow")):
        spec["unhealthyPodEvictionPolicy"] = policy
    return {
        "metadata": {"namespace": "d", "name": name, "uid": name, "generation": 2},
        "spec": spec,
    }


@st.composite
def clusters(draw: st.DrawFn) -> JSON:
    """Draw pods with what makes them, budgets, and the nodes to be drained.

    What became of a status is drawn as well, as the status is what the disruption controller says.
    """
    pods: list[JSON] = []
    made: dict[str, list[JSON]] = {kind: [] for kind in KINDS}
    for app in APPS:
        kind, number = draw(_one_of(*KINDS)), draw(st.integers(0, 4))
        labels = {} if draw(rarely(5)) else {"app": app}
        pods += [draw(_pod(kind, app, each, labels)) for each in range(number)]
        policy = draw(_one_of("Parallel", "OrderedReady", None))
        replicas = max(0, number + draw(_one_of(0, 0, 0, -1, 1)))
        spec = {"replicas": replicas, "podManagementPolicy": policy}
        made[kind].append({"metadata": {"namespace": "d", "name": app, "uid": app}, "spec": spec})
    return {
        "pods": pods,
        "replicaSets": made["ReplicaSet"],
        "statefulSets": made["StatefulSet"],
        "budgets": [draw(_budget(f"b{each}")) for each in range(draw(_one_of(0, 1, 1, 1, 2)))],
        "status": draw(_one_of("current", "current", "current", "granted", "outdated", "missing")),
        "before": draw(_one_of(None, None, "lose", "scale")),
        "by": draw(_one_of(-2, -1, 1, 2)),
        "drained": draw(st.lists(_one_of(*NODES), min_size=1, max_size=2, unique=True)),
        "room": draw(st.integers(1, 5)),
    }


class Simulated:
    """A drain as simulate carries it out, with each question about an eviction on the way."""

    def __init__(self, case: JSON) -> None:
        self._case = case
        state = ClusterState(scope=COVERS_ALL)
        for name in NODES:
            state.upsert_node(model_node(node(name, {HOST: name}, {"pods": str(case["room"])})))
        read = SimulationReader().read
        for each in case["pods"]:
            state.upsert_pod(read(json.dumps(each).encode()))
        for each in case["budgets"]:
            state.upsert_budget(read_budget(json.dumps(each).encode()))
        named = (("ReplicaSet", "replicaSets"), ("StatefulSet", "statefulSets"))
        workloads = [
            read_workload(kind, json.dumps(each).encode())
            for kind, field in named
            for each in case[field]
        ]
        known = {each.identity: known_of(each) for each in workloads}
        self._scheduler = Scheduler(state, random.Random(0).random, workloads=known)
        self._raw = {f"d/{each['metadata']['name']}": each for each in case["pods"]}
        self._successors: dict[Key, str] = {}
        self.steps: list[JSON] = []
        """What the API server is to be told and asked, in the same order."""
        self.answers: list[str | None] = []
        """To each question what this program says: evicted, refused or several; None for others."""
        self._placed = 0

    def run(self) -> None:
        """Place what waits, lose a node or scale a workload, and drain the nodes."""
        scheduler = self._scheduler
        at_once(begin(scheduler))
        self._take_placements()
        self._listen()
        match self._case["before"]:
            case "lose":
                (lost, *_) = {*NODES} - {*self._case["drained"]}
                at_once(lose(scheduler, [lost], lost))
            case "scale":
                self._scale()
        at_once(drain(scheduler, self._case["drained"]))

    def _scale(self) -> None:
        scheduler = self._scheduler
        of = (pod for pod in scheduler.state.pods.values() if not pod.status.deleting)
        old = sorted(
            (pod for pod in of if pod.workload in scheduler.workloads), key=lambda pod: pod.key
        )
        if not old:
            return
        identity = old[0].workload
        assert identity is not None
        old = [pod for pod in old if pod.workload == identity]
        wanted = max(0, len(old) + self._case["by"])
        make = as_applied(identity, old[0], len(old)).make
        step = at_once(scale(scheduler, "it", old, wanted, make))
        self._tell({"scale": {"name": f"d/{identity.name}", "replicas": wanted}})
        for each in step.removed:
            self._tell({"remove": each.pod})
        # One of another workload may get the room that is left.
        come = {*step.waiting, *step.held} | {each.pod for each in step.placed}
        for key in come - self._raw.keys():
            name = key.partition("/")[2]
            raw = self._raw[old[0].key]
            self._raw[key] = raw | {"metadata": raw["metadata"] | {"name": name}}
            if key not in step.held:
                self._tell({"put": self._made(key, None)})
        self._take_placements()
        self._tell({"sync": True})

    def _listen(self) -> None:
        """Take down what is asked and replaced from now on."""
        scheduler = self._scheduler
        ask, replace = scheduler.disruptions.refusal, scheduler.replace

        def asked(pod: Pod) -> Any:
            self._take_placements()
            found = ask(pod)
            self._tell({"evict": self._name(pod.key)}, _answer(found))
            return found

        def replaced(pod: Pod) -> bool:
            self._tell({"remove": self._name(pod.key)})
            made = replace(pod)
            if made:
                self._successors[pod.key] = self._name(pod.key) + "-x"
                if pod.key not in scheduler.held:
                    self._tell({"put": self._made(pod.key, None)})
            self._tell({"sync": True})
            return made

        scheduler.disruptions.refusal = asked  # type: ignore[method-assign]
        scheduler.replace = replaced  # type: ignore[method-assign]

    def _tell(self, step: JSON, answer: str | None = None) -> None:
        self.steps.append(step)
        self.answers.append(answer)

    def _take_placements(self) -> None:
        placements = self._scheduler.placements
        for each in placements[self._placed :]:
            self._tell({"put": self._made(each.pod, each.node)})
        if len(placements) > self._placed:
            self._tell({"sync": True})
        self._placed = len(placements)

    def _name(self, key: Key) -> str:
        return self._successors.get(key, key)

    def _made(self, key: Key, on: str | None) -> JSON:
        """Return a pod as it was made: by now it is ready if it has a node."""
        raw = self._raw[key]
        metadata = {name: raw["metadata"][name] for name in ("namespace", "labels")}
        metadata["ownerReferences"] = raw["metadata"].get("ownerReferences", [])
        metadata["name"] = self._name(key).partition("/")[2]
        phase = {"phase": "Pending"} if on is None else {"phase": "Running"}
        spec: JSON = {"containers": []} | ({} if on is None else {"nodeName": on})
        conditions = [condition(ready=on is not None)]
        return {"metadata": metadata, "spec": spec, "status": phase | {"conditions": conditions}}


def _answer(refusal: Any) -> str:
    if refusal is None:
        return "evicted"
    return "several" if len(refusal.budgets) > 1 else "refused"


def theirs(answer: JSON) -> str:
    """Return what the API server said."""
    code = answer["code"]
    return {201: "evicted", 500: "several", 429: "refused", 403: "refused"}[code]


def with_status(case: JSON, statuses: JSON) -> Iterator[JSON]:
    """Yield the budgets of a case with what the disruption controller has found, or had."""
    for each in case["budgets"]:
        status = dict(statuses[f"d/{each['metadata']['name']}"])
        match case["status"]:
            case "missing":
                yield each
                continue
            case "outdated":
                status |= {"observedGeneration": 1, "disruptionsAllowed": 1}
            case "granted" if status["disruptionsAllowed"]:
                for first in _selected(case, each):
                    status["disruptionsAllowed"] -= 1
                    status["disruptedPods"] = {first: case["now"]}
                    break
        yield each | {"status": status}


def _selected(case: JSON, budget: JSON) -> Iterator[str]:
    wanted = (budget["spec"]["selector"] or {}).get("matchLabels")
    for each in case["pods"]:
        metadata, said = each["metadata"], each["status"]["conditions"]
        ready = condition(ready=True) in said and "deletionTimestamp" not in metadata
        if ready and metadata["labels"] == wanted:
            yield metadata["name"]


@st.composite
def drained_pods(draw: st.DrawFn) -> JSON:
    """Draw the pods of one node, and the DaemonSets of the cluster."""
    owners = (
        None,
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "StatefulSet"),
        ("apps/v1", "DaemonSet"),
        ("apps/v1", "DaemonSet"),
        ("extensions/v1beta1", "DaemonSet"),
        ("v1", "Node"),
        ("example.com/v1", "DaemonSet"),
    )
    pods = []
    for number in range(draw(st.integers(1, 4))):
        metadata: JSON = {"namespace": "d", "name": f"p{number}", "uid": f"u{number}"}
        if (owner := draw(_one_of(*owners))) is not None:
            version, kind = owner
            reference = {"apiVersion": version, "kind": kind, "name": "it", "uid": kind}
            controller = kind == "Node" or not draw(rarely(5))
            metadata["ownerReferences"] = [reference | {"controller": controller}]
            if kind == "Node":  # as each API server makes sure
                metadata["annotations"] = {"kubernetes.io/config.mirror": "x"}
        if draw(rarely(4)):
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        volumes = draw(_one_of([], [], [{"name": "v", "emptyDir": {}}], [{"name": "v"}]))
        phase = draw(_one_of("Running", "Running", "Pending", "Succeeded", "Failed"))
        spec = {"nodeName": "n1", "containers": [], "volumes": volumes}
        pods.append({"metadata": metadata, "spec": spec, "status": {"phase": phase}})
    # Of one that is gone kubectl says so; here it is not known which there are.
    daemon_set = {"metadata": {"namespace": "d", "name": "it", "uid": "DaemonSet"}}
    return {"pods": pods, "daemonSets": [daemon_set], "drain": True}


_FLAG = re.compile(r"--[a-z-]+")


def preflight(case: JSON) -> tuple[set[str], set[str]]:
    """Return the flags that kubectl drain needs, and the pods that go."""
    state, reader = ClusterState(scope=COVERS_ALL), SimulationReader()
    state.upsert_node(model_node(node("n1", {HOST: "n1"}, {"pods": "9"})))
    for each in case["pods"]:
        state.upsert_pod(reader.read(json.dumps(each).encode()))
    scheduler = Scheduler(state, random.Random(0).random)
    step = at_once(drain(scheduler, ["n1"], "n1", Preflight(state, reader.scratch)))
    flags = {flag for note in step.notes for flag in _FLAG.findall(note)}
    return flags, {each.pod for each in step.removed}
