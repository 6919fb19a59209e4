"""What the StatefulSet and Deployment controllers do next, as pkg/controller of Kubernetes 1.37."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from affinityctl.reading.rollouts import Rollout


class Member(NamedTuple):
    """A pod of a StatefulSet. One that is being deleted is none any more."""

    available: bool
    outdated: bool = False
    """It is of another revision than the one that an update is to."""


class Turn(NamedTuple):
    """The ordinals of pods that a controller deletes and creates when it looks once."""

    deleted: list[int]
    created: list[int]


def next_of_stateful_set(rollout: Rollout, wanted: int, there: Mapping[int, Member]) -> Turn:
    """Return what follows (UpdateStatefulSet) with `wanted` pods, by their ordinals."""
    ordinals = range(rollout.start, rollout.start + wanted)
    condemned = sorted((each for each in there if each not in ordinals), reverse=True)
    return (_one_by_one if rollout.in_order else _all_at_once)(rollout, ordinals, condemned, there)


def _one_by_one(
    rollout: Rollout, ordinals: range, condemned: Sequence[int], there: Mapping[int, Member]
) -> Turn:
    """OrderedReady: a pod that is not available holds up all that would come after it."""
    for each in ordinals:
        if each not in there:
            return Turn([], [each])
        if not there[each].available:
            return Turn([], [])
    if condemned:
        # The highest goes if it is available, or if it alone is not.
        sound = [there[each].available for each in condemned]
        return Turn([condemned[0]] if sound[0] or all(sound[1:]) else [], [])
    return Turn(_outdated(rollout, ordinals, there)[: rollout.unavailable], [])


def _all_at_once(
    rollout: Rollout, ordinals: range, condemned: Sequence[int], there: Mapping[int, Member]
) -> Turn:
    """Parallel: pods that are not available are updated first, whatever maxUnavailable is."""
    created = [each for each in ordinals if each not in there]
    outdated = _outdated(rollout, ordinals, there)
    failing = [each for each in outdated if not there[each].available]
    away = len(created) + sum(each in there and not there[each].available for each in ordinals)
    sound = [each for each in outdated if there[each].available]
    return Turn([*condemned, *failing, *sound[: max(0, rollout.unavailable - away)]], created)


def _outdated(rollout: Rollout, ordinals: range, there: Mapping[int, Member]) -> list[int]:
    """Return the pods that an update is to replace, the highest first."""
    updated = reversed(ordinals[rollout.partition :] if rollout.rolling else ())
    return [each for each in updated if each in there and there[each].outdated]


class Size(NamedTuple):
    """How many pods a ReplicaSet is to have, and how many of them are available."""

    pods: int
    available: int


def next_of_deployment(
    rollout: Rollout, wanted: int, new: Size, old: Sequence[Size]
) -> tuple[int, list[int]]:
    """Return the sizes that follow (rolloutRolling): of the new ReplicaSet and of old ones.

    `old` has the one first that was created first.
    """
    sizes = [each.pods for each in old]
    total = new.pods + sum(sizes)
    if new.pods >= wanted:
        grown = wanted
    else:
        grown = new.pods + max(0, min(wanted + rollout.surge - total, wanted - new.pods))
    if grown != new.pods:
        return grown, sizes
    least = wanted - min(rollout.unavailable, wanted)
    # Those that are not available go first, then as many as can be spared.
    spare = total - least - (new.pods - new.available)
    for number, each in enumerate(old):
        gone = max(0, min(spare, each.pods - each.available))
        sizes[number] -= gone
        spare -= gone
    spare = new.available + sum(each.available for each in old) - least
    for number, size in enumerate(sizes):
        gone = max(0, min(spare, size))
        sizes[number] -= gone
        spare -= gone
    return grown, sizes
