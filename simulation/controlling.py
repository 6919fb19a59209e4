"""What the controllers of ReplicaSets and StatefulSets do next, as kube-controller-manager's do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

from simulation.apiserver.store import Json, is_live

COST: Final = "controller.kubernetes.io/pod-deletion-cost"


def is_ready(pod: Json) -> bool:
    said = pod["status"].get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in said)


def is_going(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"]


class Ordinals(NamedTuple):
    """Those of the pods that a StatefulSet deletes and creates when its controller looks once."""

    deleted: list[int]
    created: list[int]


def next_of_set(
    pods: Mapping[int, Json], old: set[int], replicas: int, *, in_order: bool
) -> Ordinals:
    """Return what follows where `old` pods are of another revision; maxUnavailable is 1."""
    return (_in_order if in_order else _in_parallel)(pods, old, replicas)


def _in_order(pods: Mapping[int, Json], old: set[int], replicas: int) -> Ordinals:
    for each in range(replicas):
        if each not in pods:
            return Ordinals([], [each])
        if not _is_sound(pods[each]):
            ended = not is_live(pods[each]) and not is_going(pods[each])
            return Ordinals([each] if ended else [], [])
    spare = sorted((each for each in pods if each >= replicas), reverse=True)
    if not spare:
        return Ordinals(sorted(old & pods.keys())[-1:], [])
    last, others = pods[spare[0]], (pods[each] for each in spare[1:])
    may_go = _is_sound(last) or (not is_going(last) and all(map(_is_sound, others)))
    return Ordinals(spare[:1] if may_go else [], [])


def _in_parallel(pods: Mapping[int, Json], old: set[int], replicas: int) -> Ordinals:
    wanted = range(replicas)
    there = {each: pod for each, pod in pods.items() if not is_going(pod)}
    sound = [each for each in wanted if each in there and _is_sound(there[each])]
    outdated = [each for each in there if each in wanted and each in old]
    gone = {each for each, pod in there.items() if each not in wanted or not is_live(pod)}
    gone |= {each for each in outdated if each not in sound}
    if len(sound) == replicas:
        gone |= {*sorted(outdated)[-1:]}
    return Ordinals(sorted(gone), [each for each in wanted if each not in pods])


def _is_sound(pod: Json) -> bool:
    return is_ready(pod) and is_live(pod) and not is_going(pod)


def first_to_go(pods: Sequence[Json], chance: Random) -> list[Json]:
    """Sort the pods of a ReplicaSet, those first that are deleted first; of equal ones any."""
    together = Counter(pod["spec"].get("nodeName") for pod in pods)
    return sorted(pods, key=lambda pod: (rank(pod, together), chance.random()))


def rank(pod: Json, together: Mapping[str | None, int]) -> tuple[bool, bool, bool, int, int]:
    """Return what decides before ages do, by how many pods of the ReplicaSet each node has."""
    node = pod["spec"].get("nodeName")
    runs = pod["status"].get("phase") == "Running"
    cost = int((pod["metadata"].get("annotations") or {}).get(COST, 0))
    return bool(node), runs, is_ready(pod), cost, -together[node]
