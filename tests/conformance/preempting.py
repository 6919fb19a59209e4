"""One preemptor, as the scheduler's own preemption judges it and as the extender does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from affinityctl.scheduler.profiles import best_of
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.node_selection import NodeSelectionPlugin
from extender.core.verbs.victims import candidates, ineligible, on_node
from extender.core.wire.objects import read_budget
from extender.diagnosis.verbs.topology_spread import PodTopologySpread
from tests.builders import model_pod, state_of
from tests.conformance.skipped import SKIPPED, without_rules_of_nominated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from extender.core.cluster.state import ClusterState
    from extender.core.model.objects import Pod
    from tests.conformance.asking import InTree

Case = dict[str, Any]
PLUGINS = (NodeSelectionPlugin(), PodTopologySpread(), InterPodAffinity())


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of looking for a node, and for victims."""

    fits: Sequence[str]
    """Nodes that need no victims; where there are any, nobody looks for victims."""
    eligible: bool = True
    candidates: Mapping[str, tuple[Sequence[tuple[Any, ...]], frozenset[str], int]] | None = None
    """By node: how important the victims are, one after the other, their uids, violations."""
    chosen: Sequence[str] = ()
    """The node that is taken, or several that are as good."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A preemptor that was not judged alike."""

    preemptor: int
    theirs: Attempt
    ours: Attempt


def differences(case: Case, in_tree: InTree) -> Iterator[Difference]:
    """Yield the preemptors for which the extender comes to something else than the scheduler."""
    answers = in_tree.preemptions(case)
    every = in_tree.release.empty_selects_all
    seeing, blind = attempts(case, empty_selects_all=every), list[Attempt]()
    if any(said.get(SKIPPED) for said in answers):
        blind = attempts(without_rules_of_nominated(case), empty_selects_all=every)
    for number, said in enumerate(answers):
        ours = (blind if said.get(SKIPPED) else seeing)[number]
        theirs = _read(said, case, ours)
        if ours != theirs:
            yield Difference(number, theirs, ours)


def attempts(case: Case, *, empty_selects_all: bool = False) -> list[Attempt]:
    """Look for a node and for victims for each preemptor of a case, as the extender does."""
    state = _state(case, empty_selects_all=empty_selects_all)
    return [_attempt(state, raw) for raw in case["preemptions"]["pods"]]


def _attempt(state: ClusterState, raw: Mapping[str, Any]) -> Attempt:
    asked = model_pod(raw)
    each = [one for one in candidates(state, asked, PLUGINS, chance=0.0) if one is not None]
    fits = sorted(one.node for one in each if not one.victims)
    if fits:
        return Attempt(fits)
    if ineligible(state, asked, PLUGINS) is not None:
        return Attempt((), eligible=False)
    assert [on_node(state, asked, PLUGINS, one.node) for one in each] == each
    best = best_of(each)
    return Attempt(
        (),
        candidates={one.node: _in_short(one.victims, one.violations) for one in each},
        chosen=[] if best is None else sorted(one.node for one in each if one.rank == best.rank),
    )


def _state(case: Case, *, empty_selects_all: bool) -> ClusterState:
    cluster = case["cluster"]
    parts = (cluster["nodes"], cluster["namespaces"], cluster["pods"])
    state = state_of(*parts, empty_selects_all=empty_selects_all)
    for each in case["preemptions"]["budgets"]:
        state.upsert_budget(read_budget(json.dumps(each).encode()))
    return state


def _in_short(
    victims: Sequence[Pod], violations: int
) -> tuple[Sequence[tuple[Any, ...]], frozenset[str], int]:
    """Return victims so that the order of equally important ones does not show."""
    return (
        [(each.spec.priority, each.started) for each in victims],
        frozenset(each.uid for each in victims),
        violations,
    )


def _read(said: Mapping[str, Any], case: Case, ours: Attempt) -> Attempt:
    """Return what the scheduler says; any of ours will do that it might have taken as well."""
    if said["fits"]:
        return Attempt(sorted(said["fits"]))
    if said.get("ineligible"):
        return Attempt((), eligible=False)
    pods = {pod.uid: pod for pod in map(model_pod, case["cluster"]["pods"])}
    found = {
        node: _in_short([pods[uid] for uid in each["uids"]], each["violations"])
        for node, each in said.get("candidates", {}).items()
    }
    chosen = said.get("chosen")
    as_good = ours.chosen if chosen in ours.chosen else [chosen] if chosen else []
    return Attempt((), candidates=found, chosen=as_good)
