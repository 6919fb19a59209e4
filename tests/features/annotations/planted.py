"""Bugs of rules in annotations, planted in the simulation to see whether they are found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from extender.core.cluster.counts.domain_limits import DomainLimit
from extender.core.cluster.ledgers.carried_rules import JudgedRules
from extender.core.cluster.state import ClusterState
from extender.core.errors import ObjectError
from extender.core.model.objects import Pod
from extender.core.wire.rules_beside import RulesBeside
from extender.features.annotations.reading import AnnotationReader
from extender.features.annotations.rules import MaxMatchingPods
from simulation.plan import Plan, make_annotating_plan
from tests.simulation.planting import Planted as AnyPlanted

if TYPE_CHECKING:
    import pytest

Planted = partial(AnyPlanted, plan=make_annotating_plan)


def _takes_broken_ones_for_none(patch: pytest.MonkeyPatch) -> None:
    read = AnnotationReader._read

    def lenient(self: AnnotationReader, namespace: str, *found: bytes) -> RulesBeside:
        try:
            return read(self, namespace, *found)
        except ObjectError:
            return RulesBeside()

    patch.setattr(AnnotationReader, "_read", lenient)


def _reads_none(patch: pytest.MonkeyPatch) -> None:
    read = AnnotationReader._read

    def blind(self: AnnotationReader, namespace: str, *found: bytes) -> RulesBeside:
        read(self, namespace, *found)
        return RulesBeside()

    patch.setattr(AnnotationReader, "_read", blind)


def _counts_edited_ones(patch: pytest.MonkeyPatch) -> None:
    def as_it_stands(_: JudgedRules, pod: Pod, *__: object) -> str:
        return pod.pod_class.digest

    patch.setattr(JudgedRules, "_judged", as_it_stands)


def _reads_no_affinity(patch: pytest.MonkeyPatch) -> None:
    read = AnnotationReader._read

    def unattracted(self: AnnotationReader, namespace: str, *found: bytes) -> RulesBeside:
        beside = read(self, namespace, *found)
        if beside.pods is None:
            return beside
        rules = replace(beside.pods.rules, required=())
        return replace(beside, pods=replace(beside.pods, rules=rules))

    patch.setattr(AnnotationReader, "_read", unattracted)


def _has_limits_hold_for_their_owners(patch: pytest.MonkeyPatch) -> None:
    limits: Any = MaxMatchingPods._limits

    def own(self: MaxMatchingPods, state: ClusterState, pod: Pod) -> list[DomainLimit]:
        return [each for each in limits(self, state, pod) if each.owners is None]

    patch.setattr(MaxMatchingPods, "_limits", own)


def _names_no_field(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ObjectError, "__str__", lambda _: "an annotation is broken")


def _assists(plan: Plan) -> bool:
    return plan.setup.assists


def _replaces(plan: Plan) -> bool:
    return not plan.setup.assists


PLANTED: Mapping[str, AnyPlanted] = {
    "takes broken annotations for none": Planted(
        _takes_broken_ones_for_none, {"placed with a broken annotation"}
    ),
    "has rules in annotations hold for no pod": Planted(
        _reads_none, {"excluding pods met"}, _replaces
    ),
    "has them hold for no pod in assist": Planted(
        _reads_none, {"excluding pods met", "required affinity not met"}, _assists
    ),
    "reads no affinity from annotations": Planted(
        _reads_no_affinity,
        {"required affinity not met", "counters differ from the cluster"},
        _replaces,
    ),
    "has limits hold for their owners alone": Planted(
        _has_limits_hold_for_their_owners, {"limit exceeded"}
    ),
    "names no broken field": Planted(_names_no_field, {"event without the field"}),
    "counts annotations as they were edited": Planted(
        _counts_edited_ones, {"waits in vain", "counters differ from the cluster"}
    ),
}
