"""Bugs of rules in annotations, planted in the simulation to see whether they are found."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from extender.core.cluster.ledgers.carried_rules import JudgedRules
from extender.core.errors import ObjectError
from extender.core.model.objects import Pod
from extender.core.wire.rules_beside import RulesBeside
from extender.features.annotations.reading import AnnotationReader
from simulation.plan import make_annotating_plan
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


PLANTED: Mapping[str, AnyPlanted] = {
    "takes broken annotations for none": Planted(
        _takes_broken_ones_for_none, {"placed with a broken annotation"}
    ),
    "has rules in annotations hold for no pod": Planted(_reads_none, {"excluding pods met"}),
    "counts annotations as they were edited": Planted(
        _counts_edited_ones, {"waits in vain", "counters differ from the cluster"}
    ),
}
