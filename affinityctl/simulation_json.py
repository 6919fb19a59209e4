"""What a simulation found, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from affinityctl.whatif.outcome import PendingPods, Simulation, Step, Update
from affinityctl.whatif.scheduling import Placement
from extender.cluster.state import ClusterState
from extender.verbs.explaining.notes import notes
from extender.verbs.explaining.telling import summary

MOST_NEAR: Final = 10
"""Near misses that are told of a kind of pods."""


def write_simulation(found: Simulation) -> Mapping[str, Any]:
    """Return everything as what JSON and YAML are written of."""
    return {
        "fine": found.is_fine,
        "seed": found.seed,
        "steps": [_step(found.state, each) for each in found.steps],
        "pending": [_pending(found.state, each) for each in found.pending],
        "preempted": [
            {"pod": each.pod, "node": each.node, "for": each.preemptor}
            for each in found.preemptions
        ],
        "notModelled": [
            {"field": field, "pods": pods} for field, pods in sorted(found.beyond.items())
        ],
        "nodesWithoutAllocatable": found.unmeasured,
    }


def _step(state: ClusterState, step: Step) -> Mapping[str, Any]:
    told: dict[str, Any] = {
        "change": step.change,
        "placed": [_placement(each) for each in step.placed],
        "removed": step.removed,
        "pending": step.waiting,
        "blocked": step.blocked,
        "notes": step.notes,
    }
    if step.full is not None:
        told["full"] = _pending(state, step.full)
    if step.update is not None:
        told["update"] = _update(step.update)
    return told


def _placement(placement: Placement) -> Mapping[str, Any]:
    before = {} if placement.before is None else {"from": placement.before}
    return {"pod": placement.pod, "node": placement.node, **before}


def _update(update: Update) -> Mapping[str, Any]:
    return {
        "stuck": update.stuck,
        "waits": update.waits,
        "kept": update.kept,
        "steps": [
            {
                "removed": [each.pod for each in turn.removed],
                "created": turn.created,
                "placed": [_placement(each) for each in turn.placed],
            }
            for turn in update.steps
        ],
    }


def _pending(state: ClusterState, alike: PendingPods) -> Mapping[str, Any]:
    told: dict[str, Any] = {"pods": alike.pods, "count": len(alike.pods)}
    if (why := alike.explanation) is not None:
        told["summary"] = summary(why)
        told["nearest"] = [str(each) for each in why.near_misses[:MOST_NEAR]]
        told["notes"] = notes(state, why)
    if (limit := alike.bottleneck) is not None:
        told["bottleneck"] = {"rule": limit.what, "nodes": limit.refused, "alone": limit.alone}
    return told
