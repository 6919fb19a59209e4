"""Changes to a question that take the cause of a rule about nodes away, or turn it round."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tests.conformance.asked import Asked
from tests.conformance.changes import Change
from tests.conformance.terms import PREFERRED, REQUIRED
from tests.strategies import CORES

_EVERY_NODE = {"matchExpressions": [{"key": "absent", "operator": "DoesNotExist"}]}


def _own(change: Callable[[dict[str, Any]], object]) -> Change:
    """Change the pod's own node affinity, if it has some."""

    def changed(asked: Asked) -> Asked:
        pod = copy.deepcopy(dict(asked.pod))
        rules = pod["spec"].get("affinity", {}).get("nodeAffinity")
        if rules is not None:
            change(rules)
        return replace(asked, pod=pod)

    return changed


def _selector_dropped(asked: Asked) -> Asked:
    pod = copy.deepcopy(dict(asked.pod))
    pod["spec"].pop("nodeSelector", None)
    return replace(asked, pod=pod)


def _one_term(rules: dict[str, Any]) -> None:
    if REQUIRED in rules:
        rules[REQUIRED]["nodeSelectorTerms"] = rules[REQUIRED]["nodeSelectorTerms"][:1]


def _equal_weights(rules: dict[str, Any]) -> None:
    for weighted in rules.get(PREFERRED, ()):
        weighted["weight"] = 1


def _one_requirement(term: dict[str, Any]) -> None:
    if "matchExpressions" in term:
        term["matchExpressions"] = term["matchExpressions"][:1]


def _empty_terms_match(term: dict[str, Any]) -> None:
    if not term:
        term.update(copy.deepcopy(_EVERY_NODE))


def _expressions(operator: str, *instead: dict[str, Any]) -> Change:
    """Put these requirements, about the same key, in the place of each with an operator."""

    def change(term: dict[str, Any]) -> None:
        term["matchExpressions"] = [
            {**found, "key": each["key"]} if instead else found
            for each in term.get("matchExpressions", ())
            for found in (instead if each["operator"] == operator else [each])
        ]

    return lambda asked: asked.with_node_terms(change)


def _names_dropped(operator: str) -> Change:
    def change(term: dict[str, Any]) -> None:
        term["matchFields"] = [
            each for each in term.get("matchFields", ()) if each["operator"] != operator
        ]

    return lambda asked: asked.with_node_terms(change)


def _added_dropped(strength: str) -> Change:
    return lambda asked: replace(
        asked, added={name: rules for name, rules in asked.added.items() if name != strength}
    )


def _every_label_is_a_number(labels: dict[str, str]) -> None:
    if labels.get(CORES) == "many":
        labels[CORES] = "9"


RULES: Mapping[str, Change] = {
    "nodeSelector": _selector_dropped,
    "own required node affinity": _own(lambda rules: rules.pop(REQUIRED, None)),
    "one of several terms about nodes is enough": _own(_one_term),
    "each requirement of a term about nodes": lambda asked: asked.with_node_terms(_one_requirement),
    "an empty term about nodes matches none": lambda asked: asked.with_node_terms(
        _empty_terms_match
    ),
    "In, of nodes": _expressions("In"),
    "NotIn, of nodes": _expressions("NotIn"),
    "NotIn matches a node without the label": _expressions(
        "NotIn", {"operator": "NotIn", "values": ["other"]}, {"operator": "Exists"}
    ),
    "Exists, of nodes": _expressions("Exists", {"operator": "DoesNotExist"}),
    "DoesNotExist, of nodes": _expressions("DoesNotExist"),
    "Gt": _expressions("Gt"),
    "Lt": _expressions("Lt"),
    "Gt and Lt compare numbers only": lambda asked: asked.with_node_labels(
        _every_label_is_a_number
    ),
    "a node's name": _names_dropped("In"),
    "all names but one": _names_dropped("NotIn"),
    "own preferred node affinity": _own(lambda rules: rules.pop(PREFERRED, None)),
    "weights of terms about nodes": _own(_equal_weights),
    "required node affinity that is added": _added_dropped(REQUIRED),
    "preferred node affinity that is added": _added_dropped(PREFERRED),
}
"""What each change takes away."""
