"""Rules in annotations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.lint.finding import Level, Rule, Spot
from affinityctl.lint.template import Template


def _broken(template: Template) -> Iterator[Spot]:
    if template.annotation_fault is not None:
        path, what = template.annotation_fault
        base = template.owner.path.removesuffix("spec")
        yield Spot(f"{base}{path}", what)


def _misplaced(template: Template) -> Iterator[Spot]:
    for name in template.owner.misplaced:
        yield Spot(f"metadata.annotations[{name}]", "not in the template, so no pod has it")


RULES: Final = (
    Rule(
        "annotation-unreadable",
        Level.ERROR,
        "The rules in an annotation cannot be read.",
        "In the modes assist and replace such a pod is not placed; the event says what is wrong.",
        "Correct the field; docs/annotations.md has the format. The policy in "
        "manifests/components/annotation-policy, a part of every overlay, refuses most of these "
        "mistakes when pods are created.",
        _broken,
    ),
    Rule(
        "annotation-misplaced",
        Level.ERROR,
        "A workload has the annotation with rules, and its pods do not.",
        "The extender reads annotations of pods. On a Deployment or another workload the rules "
        "have no effect.",
        "Move the annotation to the metadata of the template.",
        _misplaced,
    ),
)
