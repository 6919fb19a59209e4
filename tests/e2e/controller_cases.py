"""Pods, StatefulSets, Deployments and Jobs drawn at random, for their controllers to look at."""

from __future__ import annotations

import math
import time
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import strategies as st

from affinityctl.reading.deletion_cost import COST_ANNOTATION
from tests.e2e.stepping import HASH, controlled_by, moment, template, workload

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.e2e.stepping import JSON

_MARGIN = 0.05
"""Of a doubling of an age: nearer to the next one, a second between two clocks would decide."""


def _is_clear(age: int) -> bool:
    doublings = math.log2(age * 1e9) % 1
    return _MARGIN < doublings < 1 - _MARGIN


_AGES = st.integers(200, 50_000_000).filter(_is_clear)
RESTARTS = st.sampled_from([0, 0, 0, 1, 5])


USUAL_COSTS = st.sampled_from(["-5", "0", "7", "+1"])


@st.composite
def replicas(
    draw: st.DrawFn, owner: JSON, number: int, costs: st.SearchStrategy[str] = USUAL_COSTS
) -> list[JSON]:
    """Draw the pods of a ReplicaSet, in all states in which pods are."""
    now = time.time()
    # Of two that are ready since the same second the restarts decide, of others chance: with some
    # of both, Kubernetes' own order has circles.
    alike = draw(st.booleans())
    ready = draw(st.lists(_AGES, min_size=number, max_size=number, unique=True))
    created = draw(st.lists(_AGES, min_size=number, max_size=number, unique=True))
    uids = draw(st.permutations(range(number)))
    found = []
    for each in range(number):
        since = moment(now - (ready[0] if alike else ready[each]))
        name = owner["metadata"]["name"]
        made = _replica(draw, owner, f"{name}-{each}", since)
        if draw(st.integers(0, 2)) == 1:
            made["metadata"]["annotations"] = {COST_ANNOTATION: draw(costs)}
        uid = f"{uids[each]}-{name}"
        made["metadata"] |= {"uid": uid, "creationTimestamp": moment(now - created[each])}
        found.append(made)
    return found


def _replica(draw: st.DrawFn, owner: JSON, name: str, since: str) -> JSON:
    node = draw(st.sampled_from(["", "n0", "n1", "n2"]))
    phase = draw(st.sampled_from(["Running"] * 6 + ["Pending", "Unknown", "Failed", "Succeeded"]))
    condition: JSON = {"type": "Ready", "status": draw(st.sampled_from(["True", "True", "False"]))}
    if draw(st.integers(0, 9)):
        condition["lastTransitionTime"] = since
    status: JSON = {
        "phase": phase if node else "Pending",
        "conditions": [condition] if node else [],
    }
    if node:
        main, side, once = (draw(RESTARTS) for _ in range(3))
        status["containerStatuses"] = [{"name": "main", "restartCount": main}]
        status["initContainerStatuses"] = [
            {"name": "side", "restartCount": side},
            {"name": "once", "restartCount": once},
        ]
    labels = {HASH: owner["metadata"]["name"]}
    metadata = template(0, **labels)["metadata"] | {"name": name, "namespace": "default"}
    metadata |= {"ownerReferences": controlled_by(owner)}
    if draw(st.integers(0, 9)) == 1:
        metadata["deletionTimestamp"] = since
    init = [{"name": "side", "restartPolicy": "Always"}, {"name": "once"}]
    spec = template()["spec"] | {"nodeName": node, "initContainers": init}
    return {"kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


COSTS = st.one_of(
    st.text("+-0123456789 ._ex", max_size=4),
    st.integers(-(1 << 32), 1 << 32).map(str),
    st.sampled_from([str(each) for each in (-(1 << 31), -(1 << 31) - 1, (1 << 31) - 1, 1 << 31)]),
)
"""What people write into the annotation."""


class Standing(Enum):
    """How far a pod of a StatefulSet is."""

    AVAILABLE = "available"
    UNAVAILABLE = "unavailable"
    TERMINATING = "terminating"
    ENDED = "ended"


class Placed(NamedTuple):
    """A pod of a StatefulSet, of the revision before an update or of the one after it."""

    standing: Standing
    outdated: bool


SOUND = Placed(Standing.AVAILABLE, outdated=False)
HEALTH = (Standing.AVAILABLE, Standing.UNAVAILABLE)
"""All that a simulation knows: what ends or is deleted is gone there at once."""
POLICIES = ("OrderedReady", "Parallel")
MOST_ORDINALS = 9


@st.composite
def stateful_sets(draw: st.DrawFn, standings: Iterable[Standing] = Standing) -> JSON:
    """Draw how a StatefulSet goes on, and its pods by their ordinals."""
    usual = st.just(Standing.AVAILABLE)
    odd = st.sampled_from([*standings])
    # Most are sound, for one that is not holds up all that comes after it.
    standing = draw(st.sampled_from([usual, st.one_of(*[usual] * 5, odd), st.one_of(usual, odd)]))
    members = st.builds(Placed, standing, st.booleans())
    ordinals = st.integers(0, MOST_ORDINALS)
    full = draw(st.booleans())
    start, wanted = draw(st.sampled_from([0, 0, 2])), draw(st.integers(0, 6))
    there = draw(st.dictionaries(ordinals, members, max_size=MOST_ORDINALS))
    if full:
        there |= {each: draw(members) for each in range(start, start + wanted)}
    if draw(st.integers(0, 5)) == 5:
        # As it should be; chance hardly ever comes to that.
        there = dict.fromkeys(range(start, start + wanted), SOUND)
    return {
        "there": there,
        "wanted": wanted,
        "start": start,
        "policy": draw(st.sampled_from(POLICIES)),
        "type": draw(st.sampled_from(["RollingUpdate", "RollingUpdate", "OnDelete"])),
        "partition": draw(st.sampled_from([0, 0, 1, 3, 8])),
        "unavailable": draw(st.sampled_from([None, 1, 2, 3, "30%", "100%"])),
        "minReadySeconds": draw(st.sampled_from([0, 600])),
    }


@st.composite
def deployments(draw: st.DrawFn) -> JSON:
    """Draw a Deployment in the middle of an update: ReplicaSets with their available pods."""
    sizes = st.integers(0, 5).flatmap(lambda pods: st.tuples(st.just(pods), st.integers(0, pods)))
    bounds = st.sampled_from([None, 0, 1, 2, 7, "10%", "25%", "50%", "100%"])
    return {
        "wanted": draw(st.integers(0, 8)),
        "surge": draw(bounds),
        "unavailable": draw(bounds),
        "new": draw(sizes),
        "old": draw(st.lists(sizes, max_size=3)),
    }


@st.composite
def jobs(draw: st.DrawFn) -> JSON:
    """Draw a Job that runs, and how many of its pods have succeeded."""
    completions = draw(st.one_of(st.none(), st.integers(1, 8)))
    return {
        "parallelism": draw(st.integers(0, 6)),
        "completions": completions,
        "suspend": draw(st.booleans()),
        # One with all of its completions has come to its end.
        "succeeded": draw(st.integers(0, 3 if completions is None else completions - 1)),
        "active": draw(st.integers(0, 3)),
    }


def standing_of(member: Placed, name: str, owner: JSON, revision: str, now: float) -> JSON:
    """Return a pod of a StatefulSet that is as far as a member."""
    ready, phase, since = "True", "Running", moment(now - 3600)
    metadata: JSON = template()["metadata"] | {"name": name, "namespace": "default", "uid": name}
    metadata |= {"ownerReferences": controlled_by(owner), "creationTimestamp": since}
    metadata["labels"] |= {"controller-revision-hash": revision}
    metadata["labels"] |= {"statefulset.kubernetes.io/pod-name": name}
    match member.standing:
        case Standing.UNAVAILABLE:
            ready, phase = "False", "Pending" if name.endswith(("1", "4")) else "Running"
            if owner["spec"]["minReadySeconds"] and name.endswith(("0", "5")):
                ready, since = "True", moment(now - 60)
        case Standing.ENDED:
            ready, phase = "False", "Failed" if name.endswith("2") else "Succeeded"
        case Standing.TERMINATING:
            metadata["deletionTimestamp"] = since
        case _:
            pass
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": since}
    spec = template()["spec"] | {"hostname": name, "nodeName": "n"}
    return {
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": phase, "conditions": [condition]},
    }


def strategy_of(case: JSON) -> JSON:
    """Return the updateStrategy of a drawn StatefulSet, with the API's defaults."""
    if case["type"] != "RollingUpdate":
        return {"type": case["type"]}
    unavailable = case["unavailable"]
    rolling: dict[str, Any] = {"partition": case["partition"]}
    if unavailable is not None:
        rolling["maxUnavailable"] = unavailable
    return {"type": "RollingUpdate", "rollingUpdate": rolling}


def limits_of(case: JSON) -> JSON:
    """Return the strategy of a drawn Deployment, as the API server stores it."""
    surge, unavailable = (
        "25%" if case[each] is None else case[each] for each in ("surge", "unavailable")
    )
    limits = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {"type": "RollingUpdate", "rollingUpdate": limits}


def stateful_set(case: JSON, current: JSON) -> JSON:
    """Return what was drawn as an object of the API, in the middle of an update."""
    owner = workload(
        "StatefulSet",
        "web",
        template(1),
        replicas=case["wanted"],
        revisionHistoryLimit=9,
        podManagementPolicy=case["policy"],
        updateStrategy=strategy_of(case),
        ordinals={"start": case["start"]},
        minReadySeconds=case["minReadySeconds"],
    )
    owner["status"] = {"currentRevision": current["metadata"]["name"], "replicas": 0}
    return owner


def pod_of_job(owner: JSON, name: str) -> JSON:
    """Return a pod of a Job that runs."""
    metadata = template()["metadata"] | {"name": name, "namespace": "default", "uid": name}
    metadata |= {
        "ownerReferences": controlled_by(owner),
        "finalizers": ["batch.kubernetes.io/job-tracking"],
    }
    status = {"phase": "Running"}
    return {"metadata": metadata, "spec": template()["spec"] | {"nodeName": "n"}, "status": status}
