"""Small clusters: Kubernetes' controllers make pods, and this program's scheduler places them."""

from __future__ import annotations

import json
import random
import time
from itertools import count
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from msgspec import structs

from affinityctl.commands.simulate.applied import SimulationReader, apply, as_applied, known_of
from affinityctl.commands.simulate.whatif.deletion_order import Lives
from affinityctl.commands.simulate.whatif.placing import begin
from affinityctl.commands.simulate.whatif.rolling import Version, roll, scale
from affinityctl.commands.simulate.whatif.scheduling import Scheduler
from affinityctl.commands.simulate.whatif.successors import ordinal
from affinityctl.reading.strategies import rollout
from extender.core.cluster.state import ClusterState
from extender.core.model.stepping import at_once
from extender.diagnosis.wire.workloads import read_workload
from tests.builders import HOST, model_node, node
from tests.e2e.stepping import (
    HASH,
    REVISION,
    api_pod,
    controlled_by,
    moment,
    of_kind,
    replica_set,
    template,
    workload,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from affinityctl.commands.simulate.whatif.outcome import Step
    from extender.core.model.objects import Pod
    from tests.conformance.asking import Ask
    from tests.e2e.stepping import JSON

MOST_TURNS = 60


def cpu(made_of: JSON, milli: int) -> JSON:
    """Return a template whose pods ask for room."""
    spec = made_of["spec"]
    asking = {"resources": {"requests": {"cpu": f"{milli}m"}}}
    return made_of | {"spec": spec | {"containers": [spec["containers"][0] | asking]}}


@st.composite
def updates(draw: st.DrawFn) -> JSON:
    """Draw a workload with its pods on nodes that are nearly full, and its next version."""
    number = draw(st.integers(1, 5))
    sizes = st.sampled_from([100, 400, 1000])
    nodes = draw(st.lists(st.sampled_from([1000, 1000, 2000]), min_size=1, max_size=4))
    places = st.one_of(st.none(), *[st.integers(0, len(nodes) - 1)] * 6)
    return {
        "nodes": nodes,
        "old": draw(st.lists(places, min_size=number, max_size=number)),
        "unready": draw(st.sampled_from([None, None, None, 0, 1])),
        "sets": draw(st.integers(1, 2)),
        "wanted": draw(st.sampled_from([None, None, 1, 3, 6])),
        "cpu": draw(sizes),
        "next": draw(sizes),
        "surge": draw(st.sampled_from([0, 1, 2])),
        "unavailable": draw(st.sampled_from([1, 1, 2])),
        "partition": draw(st.sampled_from([0, 0, 1])),
        "start": draw(st.sampled_from([0, 0, 3])),
        "policy": draw(st.sampled_from(["OrderedReady", "Parallel"])),
        "seed": draw(st.integers(0, 99)),
    }


class World:
    """A cluster with the pods of one workload."""

    def __init__(self, case: JSON, kind: str, owners: Sequence[JSON]) -> None:
        state, reader, now = ClusterState(), SimulationReader(), time.time()
        for number, room in enumerate(case["nodes"]):
            name = f"n{number}"
            has = {"cpu": f"{room}m", "memory": "9Gi", "pods": "9"}
            state.upsert_node(model_node(node(name, {HOST: name}, has)))
        made_of = cpu(template(), case["cpu"])
        for number, place in enumerate(case["old"]):
            owner = owners[number % len(owners)]
            labels = {"app": "web"} | (
                {HASH: owner["metadata"]["name"]} if kind == "Deployment" else {}
            )
            name = f"web-{case['start'] + number}" if kind == "StatefulSet" else f"web-old-{number}"
            created = moment(now - 1000 * 3 ** (9 - number))
            ready = "False" if number == case["unready"] else "True"
            raw = {
                "metadata": {
                    "name": name,
                    "namespace": "default",
                    "uid": f"u{number}",
                    "labels": labels,
                    "creationTimestamp": created,
                    "ownerReferences": controlled_by(owner),
                },
                "spec": made_of["spec"] | ({} if place is None else {"nodeName": f"n{place}"}),
                "status": {"phase": "Pending"}
                if place is None
                else {
                    "phase": "Running",
                    "conditions": [
                        {"type": "Ready", "status": ready, "lastTransitionTime": created}
                    ],
                },
            }
            state.upsert_pod(reader.read(json.dumps(raw).encode()))
        self.reader = reader
        self.state = state
        self.lives = Lives(reader.lives, now)
        self.scheduler = Scheduler(state, random.Random(case["seed"]).random, lives=self.lives)
        at_once(begin(self.scheduler))

    @property
    def old(self) -> list[Pod]:
        """Return the pods of the workload, by name."""
        return sorted(self.state.pods.values(), key=lambda pod: pod.key)

    def standing(self) -> dict[str, str | None]:
        """Return where each pod is."""
        return {pod.key: pod.node for pod in self.old}


Turns = list[tuple[list[str], list[str]]]


def turns_of(step: Step) -> Turns:
    """Return the names that went and came in each turn of this program's update."""
    assert step.update is not None
    return [
        (sorted(_name(each.pod) for each in turn.removed), sorted(map(_name, turn.created)))
        for turn in step.update.steps
        if turn.removed or turn.created
    ]


def _name(key: str) -> str:
    return key.partition("/")[2]


class DeploymentWorld(World):
    """Has its pods of one or two old ReplicaSets, and a new one that is empty."""

    def __init__(self, case: JSON) -> None:
        limits = {"maxSurge": case["surge"], "maxUnavailable": case["unavailable"]}
        strategy = {"type": "RollingUpdate", "rollingUpdate": limits}
        wanted = len(case["old"])
        made_of = cpu(template(9), case["next"])
        self.owner = workload("Deployment", "web", made_of, replicas=wanted, strategy=strategy)
        self.sets = {}
        for number in range(min(case["sets"], wanted)):
            name, size = f"web-{number}", len(case["old"][number :: case["sets"]])
            created = f"2025-02-0{number + 1}T00:00:00Z"
            self.sets[name] = replica_set(self.owner, name, number, (size, 0), created)
        self.members = {name: set[str]() for name in (*self.sets, "web-new")}
        super().__init__(case, "Deployment", [*self.sets.values()])
        self.sets["web-new"] = replica_set(self.owner, "web-new", 9, (0, 0))
        self.sets["web-new"]["spec"]["template"] |= {"spec": made_of["spec"]}
        for pod in self.old:
            self.members[pod.pod_class.labels[HASH]].add(pod.key)
        asked = read_workload("Deployment", json.dumps(self.owner).encode())
        self.make = apply(asked, self.reader, 3, "new").make
        self.version = Version("web", "Deployment", self.make, rollout(asked, wanted))

    def ours(self) -> Step:
        """Update by this program."""
        return at_once(roll(self.scheduler, self.version, self.old))

    def theirs(self, ask: Ask) -> Turns:
        """Update by the controllers; return the turns in which pods came or went."""
        turns: Turns = []
        names = count()
        for _ in range(MOST_TURNS):
            self._look_at_sets(ask)
            before = {name: each["spec"]["replicas"] for name, each in self.sets.items()}
            looked = of_kind(ask, self.owner, replicasets=[*self.sets.values()], pods=self._pods())
            for each in looked.objects("update", "replicasets"):
                self.sets[each["metadata"]["name"]] = each
            if before == {name: each["spec"]["replicas"] for name, each in self.sets.items()}:
                return turns
            gone, created = self._look_at_sets(ask)
            for name in gone:
                self.scheduler.remove(self.state.pods[f"default/{name}"])
            new = [self.make(next(names)) for _ in range(created)]
            for pod in new:
                self.scheduler.add(pod)
                self.members["web-new"].add(pod.key)
            turns.append((sorted(gone), sorted(_name(pod.key) for pod in new)))
            list(self.scheduler.settle())
        raise AssertionError("the controllers come to no end")

    def _look_at_sets(self, ask: Ask) -> tuple[list[str], int]:
        """Let the ReplicaSet controller look; return the pods that go, and how many come."""
        gone, created = [], 0
        for name, each in self.sets.items():
            looked = of_kind(ask, each, replicasets=[*self.sets.values()], pods=self._pods())
            gone += looked.deleted
            created += len(looked.created)
            for status in looked.objects("update", "replicasets", "status"):
                self.sets[name] = status
        return gone, created

    def _pods(self) -> list[JSON]:
        return [
            api_pod(self.state.pods[key], self.lives, each, **{HASH: name})
            for name, each in self.sets.items()
            for key in sorted(self.members[name])
            if key in self.state.pods
        ]


class StatefulWorld(World):
    """Has its pods of one revision, and a next one."""

    def __init__(self, case: JSON, revisions: Sequence[JSON], *, rolls: bool) -> None:
        limits = {"maxUnavailable": case["unavailable"], "partition": case["partition"]}
        strategy = {"type": "RollingUpdate", "rollingUpdate": limits}
        wanted = len(case["old"]) if case["wanted"] is None else case["wanted"]
        self.owner = workload(
            "StatefulSet",
            "web",
            template(int(rolls)),
            replicas=wanted,
            revisionHistoryLimit=9,
            podManagementPolicy=case["policy"],
            ordinals={"start": case["start"]},
            updateStrategy=strategy,
        )
        self.revisions = [*revisions][: 1 + rolls]
        self.names = [each["metadata"]["name"] for each in self.revisions]
        self.owner["status"] = {"currentRevision": self.names[0], "replicas": 0}
        super().__init__(case, "StatefulSet", [self.owner])
        self.updated: set[str] = set()
        whole = self.owner | {
            "spec": self.owner["spec"] | {"template": cpu(template(1), case["next"])}
        }
        asked = read_workload("StatefulSet", json.dumps(whole).encode())
        by = rollout(asked, len(case["old"]))
        made = apply(asked, self.reader, 3, "new")
        self.before = as_applied(made.identity, self.old[0], 1, by.start).make
        self.make = made.make if rolls else self.before
        self.scheduler.workloads[made.identity] = known_of(asked)
        self.wanted, self.rolls, self.by = wanted, rolls, by

    def ours(self) -> Step:
        """Update, or scale, by this program."""
        if self.rolls:
            version = Version("web", "StatefulSet", self.make, self.by)
            return at_once(roll(self.scheduler, version, self.old))
        return at_once(
            scale(self.scheduler, "web", self.old, self.wanted, self.before, rollout=self.by)
        )

    def theirs(self, ask: Ask) -> Turns:
        """Let the controller look until it does nothing more."""
        turns: Turns = []
        for _ in range(MOST_TURNS):
            looked = self._look(ask)
            gone, came = looked.deleted, looked.created
            uids = {name: self.state.pods[f"default/{name}"].uid for name in gone}
            for name in uids:
                self.scheduler.remove(self.state.pods[f"default/{name}"])
            self._create(came, uids)
            if gone:
                # Here a pod is gone at once; what comes in its place does before the next look.
                again = self._look(ask).created
                self._create(again, uids)
                came = [*came, *again]
            if not gone and not came:
                return turns
            turns.append((sorted(uids), sorted(each["metadata"]["name"] for each in came)))
            list(self.scheduler.settle())
        raise AssertionError("the controller comes to no end")

    def _look(self, ask: Ask) -> Any:
        looked = of_kind(ask, self.owner, pods=self._pods(), controllerrevisions=self.revisions)
        for each in looked.objects("update", "statefulsets", "status"):
            self.owner["status"] = each["status"]
        return looked

    def _create(self, came: Sequence[JSON], uids: dict[str, str]) -> None:
        for each in sorted(came, key=lambda one: int(one["metadata"]["name"][4:])):
            name, revision = each["metadata"]["name"], each["metadata"]["labels"][REVISION]
            is_new = revision == self.names[-1]
            make = self.make if is_new else self.before
            pod = make(int(name[4:]) - self.owner["spec"]["ordinals"]["start"])
            uid = f"{uids[name]}'" if name in uids else pod.uid
            pod = structs.replace(pod, key=f"default/{name}", uid=uid)
            self.updated |= {pod.key} if is_new else set()
            self.scheduler.add(pod)

    def _pods(self) -> list[JSON]:
        return [
            api_pod(
                pod,
                self.lives,
                self.owner,
                **{
                    REVISION: self.names[-1 if pod.key in self.updated else 0],
                    "statefulset.kubernetes.io/pod-name": _name(pod.key),
                },
            )
            for pod in sorted(self.old, key=ordinal)
        ]
