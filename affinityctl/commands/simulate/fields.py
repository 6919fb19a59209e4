"""What a simulation found, for programs."""

from __future__ import annotations

from affinityctl.commands.simulate import answer
from affinityctl.commands.simulate.whatif.outcome import (
    PendingPods,
    Simulation,
    Step,
    Trial,
    Update,
)
from affinityctl.commands.simulate.whatif.scheduling import Placement
from extender.core.cluster.state import ClusterState
from extender.core.model.verdict import Verdict
from extender.diagnosis.verbs.notes import notes
from extender.diagnosis.verbs.telling import summary
from extender.diagnosis.wire.explanation import MOST_NEAR_MISSES


def told(found: Simulation) -> answer.Simulated:
    return {
        "fine": found.verdict is Verdict.FITS,
        "verdict": found.verdict,
        "seed": found.seed,
        "steps": [_told_step(found.state, each) for each in found.steps],
        "pending": [_told_pending(found.state, each) for each in found.pending],
        "preempted": [
            {"pod": each.pod, "node": each.node, "for": each.preemptor}
            for step in found.steps
            for each in step.preempted
        ],
        "notModelled": [
            {"field": field, "pods": list(pods)} for field, pods in sorted(found.beyond.items())
        ],
        "nodesWithoutAllocatable": found.unmeasured,
    }


def _told_step(state: ClusterState, step: Step) -> answer.ToldStep:
    told: answer.ToldStep = {
        "change": step.change,
        "placed": [_placement(each) for each in step.placed],
        "removed": step.removed,
        "pending": step.waiting,
        "notCreated": step.held,
        "notStarted": [
            {
                "pod": each.pod,
                "claim": each.held.claim,
                "heldBy": each.held.by,
                "heldOn": each.held.node,
            }
            for each in step.not_started
        ],
        "blocked": step.blocked,
        "notes": step.notes,
    }
    if step.full is not None:
        told["full"] = _told_pending(state, step.full)
    if step.update is not None:
        told["update"] = _told_update(step.update)
    if step.scaled is not None:
        told["scaledDown"] = {
            "left": step.scaled.left,
            "leftWithCosts": step.scaled.with_costs,
            "wouldGoWithCosts": step.scaled.would_go,
        }
    if step.trials is not None:
        told["trials"] = [_trial(each) for each in step.trials]
    return told


def _trial(trial: Trial) -> answer.ToldTrial:
    return {
        "hurts": trial.hurts,
        "name": trial.name,
        "nodes": trial.nodes,
        "moved": trial.moved,
        "waiting": trial.waiting,
        "blocked": trial.blocked,
        "gone": trial.gone,
        "uncertain": trial.uncertain,
        "notStarted": trial.not_started,
        "why": trial.why,
    }


def _placement(placement: Placement) -> answer.Placement:
    told: answer.Placement = {"pod": placement.pod, "node": placement.node}
    if placement.before is not None:
        told["from"] = placement.before
    return told


def _told_update(update: Update) -> answer.ToldUpdate:
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


def _told_pending(state: ClusterState, alike: PendingPods) -> answer.Pending:
    told: answer.Pending = {"pods": alike.pods, "count": len(alike.pods)}
    if alike.until is not None:
        told["notCreatedUntilReady"] = alike.until
    if (why := alike.explanation) is not None:
        told["summary"] = summary(why)
        told["nearest"] = [str(each) for each in alike.nearest[:MOST_NEAR_MISSES]]
        told["notes"] = notes(state, why)
        told["whatToDo"] = alike.what_to_do(told["notes"])
    if (limit := alike.bottleneck) is not None:
        told["bottleneck"] = {"rule": limit.what, "nodes": limit.refused, "alone": limit.alone}
    return told
