"""Rules that nothing in the cluster can meet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.lint.finding import Level, Rule, Spot
from affinityctl.lint.selectors import no_common_pod
from affinityctl.lint.template import REQUIRED, Template


def _no_pod(template: Template) -> Iterator[Spot]:
    terms = [at.term for at in template.of(against=False)]
    broken = any(term.pods.selector.matches_nothing for term in terms)
    if not terms or broken or no_common_pod(term.pods for term in terms) is not None:
        return  # said by rules of their own
    if all(map(template.matches_itself, terms)):
        return  # the first pod of a group may start it
    if not template.around.some_pod_meets(terms):
        path = template.owner.list_of("podAffinity", REQUIRED)
        yield Spot(path, "no pod and no template in the cluster meets it, nor does the pod itself")


def _no_node(template: Template) -> Iterator[Spot]:
    if template.around.nodes and not template.eligible_nodes():
        count = len(template.around.nodes)
        yield Spot(template.owner.path, f"none of {count} nodes matches")


RULES: Final = (
    Rule(
        "affinity-matches-no-pod",
        Level.ERROR,
        "Required affinity is about pods that do not exist.",
        "No node will do, and the pod waits until such a pod comes. Often a label is misspelt, or "
        "the pods are in another namespace: without namespaces, a term is about its own.",
        "Correct the selector or the namespaces.",
        _no_pod,
    ),
    Rule(
        "no-node-matches",
        Level.ERROR,
        "No node matches the node selector and the required node affinity.",
        "The pod waits until such a node comes.",
        "Correct the labels, or label a node.",
        _no_node,
    ),
)
