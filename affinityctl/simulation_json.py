"""What a simulation found, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from affinityctl.whatif.outcome import PendingPods, Removal, Simulation, Step, Update
from affinityctl.whatif.scheduling import Placement
from extender.cluster.state import ClusterState
from extender.verbs.explaining.explanation import Explanation
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
            {"field": field, "pods": list(pods)} for field, pods in sorted(found.beyond.items())
        ],
        "nodesWithoutAllocatable": found.unmeasured,
    }


def _step(state: ClusterState, step: Step) -> Mapping[str, Any]:
    told: dict[str, Any] = {
        "change": step.change,
        "placed": [_placement(each) for each in step.placed],
        "removed": [_removal(each) for each in step.removed],
        "pending": list(step.waiting),
        "blocked": [
            {"pod": each.pod, "node": each.node, "budget": each.budget} for each in step.blocked
        ],
        "notes": list(step.notes),
    }
    if step.full is not None:
        told["full"] = _pending(state, step.full)
    if step.update is not None:
        told["update"] = _update(step.update)
    return told


def _placement(placement: Placement) -> Mapping[str, Any]:
    told = {"pod": placement.pod, "node": placement.node}
    return told if placement.before is None else {**told, "from": placement.before}


def _removal(removal: Removal) -> Mapping[str, Any]:
    return {"pod": removal.pod, "node": removal.node, "after": removal.after.value}


def _update(update: Update) -> Mapping[str, Any]:
    return {
        "stuck": update.stuck,
        "waits": list(update.waits),
        "kept": list(update.kept),
        "steps": [
            {
                "removed": [each.pod for each in turn.removed],
                "created": list(turn.created),
                "placed": [_placement(each) for each in turn.placed],
            }
            for turn in update.steps
        ],
    }


def _pending(state: ClusterState, alike: PendingPods) -> Mapping[str, Any]:
    told: dict[str, Any] = {"pods": list(alike.pods), "count": len(alike.pods)}
    if alike.explanation is not None:
        told |= _why(state, alike.explanation)
    if alike.bottleneck is not None:
        limit = alike.bottleneck
        told["bottleneck"] = {"rule": limit.what, "nodes": limit.refused, "alone": limit.alone}
    return told


def _why(state: ClusterState, explanation: Explanation) -> Mapping[str, Any]:
    nearest: Sequence[str] = [str(each) for each in explanation.near_misses[:MOST_NEAR]]
    return {
        "summary": summary(explanation),
        "nearest": nearest,
        "notes": [{"kind": each.kind, "text": each.text} for each in notes(state, explanation)],
    }
