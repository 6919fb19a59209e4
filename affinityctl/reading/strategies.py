"""How workloads replace their pods, as manifests say it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec

from affinityctl.reading.rollouts import ONE_POD, Rollout, share
from extender.core.wire.decoding import Int32, decode
from extender.diagnosis.wire.workloads import Workload

PARALLEL: Final = "Parallel"
"""The podManagementPolicy of a StatefulSet whose pods do not wait for each other."""
UNKNOWN_COUNT: Final = 100
"""Pods of a DaemonSet that shares are taken of where its size is not known."""


class RollingUpdate(msgspec.Struct, rename="camel"):
    """How many pods may be there or gone beyond what is wanted, and which keep their version."""

    max_surge: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None
    partition: Int32 | None = None


class Strategy(msgspec.Struct, rename="camel"):
    """The strategy of a Deployment, or the updateStrategy of other kinds."""

    type: str | None = None
    rolling_update: RollingUpdate | None = None


class RolloutSpec(msgspec.Struct, rename="camel"):
    """The part of a workload's spec that says how many pods it has and how they are replaced."""

    replicas: Int32 | None = None
    parallelism: Int32 | None = None
    strategy: Strategy | None = None
    update_strategy: Strategy | None = None


_STRATEGY = msgspec.json.Decoder(Strategy | None)


def rollout(workload: Workload, pods: int) -> Rollout:
    """Return how a workload replaces its pods, by their number; ObjectError for a broken field.

    Where the manifest does not say how many there are to be, it stays at that number.
    """
    spec = workload.spec
    read = RolloutSpec(
        pods if spec.replicas is None else spec.replicas,
        spec.parallelism,
        decode(_STRATEGY, spec.strategy, "spec.strategy"),
        decode(_STRATEGY, spec.updateStrategy, "spec.updateStrategy"),
    )
    return replace(
        rollout_of(workload.identity.kind, read, pods),
        start=workload.start,
        in_order=spec.podManagementPolicy != PARALLEL,
    )


def rollout_of(kind: str, spec: RolloutSpec, daemons: int = UNKNOWN_COUNT) -> Rollout:
    """Return how a workload replaces its pods, with the API's defaults; in pods, not shares."""
    strategy = spec.strategy or spec.update_strategy or Strategy()
    given = strategy.rolling_update or RollingUpdate()
    rolling = (strategy.type or "RollingUpdate") == "RollingUpdate"
    replicas = 1 if spec.replicas is None else spec.replicas
    match kind:
        case "Deployment":
            surge = share(given.max_surge, replicas, "25%", up=True)
            unavailable = share(given.max_unavailable, replicas, "25%", up=False)
            # Of both zero, the controller makes one unavailable.
            unavailable = 1 if surge == unavailable == 0 else unavailable
            return Rollout(replicas, surge, unavailable, rolling=rolling)
        case "StatefulSet":
            unavailable = max(1, share(given.max_unavailable, replicas, "1", up=False))
            partition = given.partition or 0
            return Rollout(replicas, unavailable=unavailable, rolling=rolling, partition=partition)
        case "DaemonSet":
            surge = share(given.max_surge, daemons, "0", up=True)
            unavailable = max(1, share(given.max_unavailable, daemons, "1", up=True))
            return Rollout(None, surge, 0 if surge else unavailable, rolling=rolling)
        case "Job":
            return Rollout(1 if spec.parallelism is None else spec.parallelism)
        case "CronJob":
            return ONE_POD
        case _:
            return Rollout(replicas)
