"""Topology keys: on no node, on some, or of the past."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from affinityctl.lint.finding import Level, Rule, Spot
from affinityctl.lint.template import Template

_SUCCESSORS: Final[Mapping[str, str]] = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
}


def _unknown(template: Template) -> Iterator[Spot]:
    if not template.around.nodes:
        return
    for at in template.terms:
        key = at.term.topology_key
        if not template.around.has_key(key):
            yield Spot(f"{at.path}.topologyKey", f"no node has the label {key}, so {at.if_unmet}")


def _partial(template: Template) -> Iterator[Spot]:
    for at in template.of(against=True):
        key = at.term.topology_key
        nodes, without = len(template.eligible_nodes()), template.eligible_nodes_without(key)
        if 0 < without < nodes:
            message = f"{without} of {nodes} nodes that the pods may use lack the label {key}"
            yield Spot(f"{at.path}.topologyKey", message)


def _old(template: Template) -> Iterator[Spot]:
    for at in template.terms:
        if successor := _SUCCESSORS.get(at.term.topology_key):
            message = f"{at.term.topology_key} is deprecated; use {successor}"
            yield Spot(f"{at.path}.topologyKey", message)


RULES: Final = (
    Rule(
        "topology-key-unknown",
        Level.ERROR,
        "No node has the topology key of a term.",
        "Required affinity can then be met nowhere and the pod waits for ever; any other term does "
        "nothing. Often the key is misspelt, or the cluster has no zones.",
        "Correct the key, or label the nodes.",
        _unknown,
    ),
    Rule(
        "topology-key-partial",
        Level.WARNING,
        "Some nodes lack the topology key of required anti-affinity.",
        "A node without the key is in no domain: the rule does not keep pods apart there, and all "
        "of them may end up on it.",
        "Label all nodes, or keep the pods to those that have the label with a node selector.",
        _partial,
    ),
    Rule(
        "topology-key-deprecated",
        Level.WARNING,
        "A topology key is deprecated.",
        "New nodes may come without the old label, and the rule does not hold there.",
        "Use the label that took its place.",
        _old,
    ),
)
