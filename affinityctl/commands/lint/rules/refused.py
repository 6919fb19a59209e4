"""Fields that the API server refuses, or drops: misspelt, misplaced, of a wrong type or value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from affinityctl.commands.lint.checking import REPEATED, UNKNOWN, Fault
from affinityctl.commands.lint.finding import Level, Rule, Spot
from affinityctl.commands.lint.written import Written

_IN_AFFINITY: Final = re.compile(r"(^|\.)spec\.affinity\b")
_OF_PODS: Final = frozenset(
    ("affinity", "nodeSelector", "tolerations", "topologySpreadConstraints")
)
_REFUSED: Final = "The API server refuses the pod, or the workload."
_DROPPED: Final = "kubectl refuses it; other clients have it dropped, with a warning at most."


def _rule_of(fault: Fault) -> str:
    within = _IN_AFFINITY.search(fault.path) is not None
    if fault.rule == UNKNOWN:
        if fault.path.rpartition(".")[2] in _OF_PODS:
            return "affinity-astray"
        return "affinity-field-unknown" if within else UNKNOWN
    return fault.rule or ("affinity-unreadable" if within else "field-refused")


def _finds(rule: str) -> Callable[[Written], Iterator[Spot]]:
    def check(written: Written) -> Iterator[Spot]:
        for fault in written.faults:
            if _rule_of(fault) == rule:
                yield Spot(fault.path, fault.message)

    return check


def _rule(name: str, what: str, why: str, fix: str) -> Rule[Written]:
    return Rule(name, Level.ERROR, what, why, fix, _finds(name))


RULES: Final = (
    _rule(
        "affinity-unreadable",
        "Affinity is not what the API takes: a missing topologyKey, an unknown operator, a wrong "
        "type, say.",
        _REFUSED,
        "Correct the field; kubectl explain pod.spec.affinity has the shape.",
    ),
    _rule(
        "affinity-field-unknown",
        "Affinity has a field that the API does not know, such as "
        "requiredDuringSchedulingRequiredDuringExecution.",
        _DROPPED,
        "Correct the name. Rules during execution go into an annotation: docs/annotations.md.",
    ),
    _rule(
        "affinity-astray",
        "Affinity, a node selector, tolerations or topology spread constraints are outside the "
        "spec of the pods.",
        _DROPPED,
        "Move the field to the pods' spec; that of a Deployment is spec.template.spec.",
    ),
    _rule(
        "weight-out-of-range",
        "The weight of a preferred term is not within 1 to 100.",
        _REFUSED,
        "Use a weight from 1 to 100.",
    ),
    _rule(
        "label-keys-without-selector",
        "A term, or a topology spread constraint, has label keys and no labelSelector.",
        _REFUSED,
        "Add the labelSelector that the keys narrow; labelSelector: {} for all pods with the same "
        "value.",
    ),
    _rule(
        "label-key-in-both",
        "A label key is in matchLabelKeys and in mismatchLabelKeys.",
        _REFUSED,
        "Remove it from one of the two.",
    ),
    _rule(
        "label-key-already-selected",
        "A key of matchLabelKeys is in the labelSelector as well.",
        "The API server refuses the pods: a workload is accepted and makes none.",
        "Remove it from one of the two.",
    ),
    _rule(
        UNKNOWN,
        "An object has a field that the API does not know.",
        _DROPPED,
        "Correct the name, or move the field to its place.",
    ),
    _rule(
        "field-refused",
        "A field has a value that the API does not take: a number for a label, a misspelt word, "
        "say.",
        "The API server refuses the object.",
        'Correct the field. In YAML, quote what is to be a string: "1.10", "yes".',
    ),
    _rule(
        REPEATED,
        "A field is there twice.",
        "The API server refuses the object; kubectl sends the last one alone, without a word.",
        "Remove one of them.",
    ),
)
