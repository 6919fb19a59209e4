"""What rules say of nodes that they refuse, and what would help."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from extender.core.model.objects import Pod as ModelPod
from extender.core.model.verdict import Reason
from extender.core.verbs.node_selection import (
    NamedNodes,
    NodeSelectionPlugin,
    NodeSelectionRule,
)
from extender.core.verbs.plugins import FilterPlugin
from extender.core.verbs.rules import UNKNOWN, Refusal, RefusalGroup, Rule
from tests.builders import Pod, model_pod, node, node_term, pod, requirement, state_of
from tests.verbs.test_node_selection import IN_A, added

STATE = state_of([node("a1"), node("b1")], [], [])
SSD = pod("x").selects(disk="ssd")
NAMING = pod("x").requires_nodes(node_term(requirement("disk", "In", "ssd"), In="a1"))
PLUGIN = NodeSelectionPlugin()


def rule_of(plugin: FilterPlugin, raw: Pod) -> Rule:
    (rule,) = plugin.rules(STATE, model_pod(raw))
    return rule


def annotated() -> Rule:
    rule = rule_of(PLUGIN, SSD)
    assert isinstance(rule, NodeSelectionRule)
    rule.annotated = True
    return rule


@pytest.mark.parametrize(
    ("rule", "cause", "statement", "one", "two"),
    [
        pytest.param(
            rule_of(PLUGIN, SSD),
            "node affinity",
            "Your node selector or node affinity does not match 2 nodes; it asks for disk in (ssd)",
            " if it had the labels that the node affinity asks for",
            " if they had the labels that the node affinity asks for",
            id="its own",
        ),
        pytest.param(
            rule_of(added(IN_A), pod("x")),
            "node affinity that the scheduler adds",
            "Node affinity that the scheduler adds does not match 2 nodes; "
            "it asks for topology.kubernetes.io/zone in (a)",
            " if it had the labels that the node affinity asks for",
            " if they had the labels that the node affinity asks for",
            id="what is added",
        ),
        pytest.param(
            annotated(),
            "your annotation's node affinity",
            "Node affinity in your annotation does not match 2 nodes; it asks for disk in (ssd)",
            " if it had the labels that the node affinity asks for",
            " if they had the labels that the node affinity asks for",
            id="an annotation's",
        ),
        pytest.param(
            rule_of(NamedNodes(Reason.NOT_NAMED), NAMING),
            "node affinity",
            "Your node selector or node affinity does not match 2 nodes; "
            "it asks for disk in (ssd),metadata.name in (a1)",
            " if the node affinity named it",
            " if the node affinity named them",
            id="names of nodes",
        ),
    ],
)
def test_what_is_said_of_node_affinity(
    rule: Rule, cause: str, statement: str, one: str, two: str
) -> None:
    assert rule.cause(RefusalGroup()) == cause
    assert rule.statement(Refusal(rule, None, "", hits=2)) == statement
    assert rule.remedy(None, 1) == one
    assert rule.remedy(None, 2) == two


def test_what_is_said_of_unknown_nodes() -> None:
    nodes = ["n1", "n2", "n3", "n4"]
    assert UNKNOWN.statement(Refusal(UNKNOWN, None, "", nodes)) == "Unknown: n1, n2, n3 and 1 more"


def pods(*names: str) -> Sequence[ModelPod]:
    return [model_pod(pod(name)) for name in names]


@pytest.mark.parametrize(
    ("refusals", "expected"),
    [
        pytest.param(
            [Refusal(UNKNOWN, "a", "", count=1, pods=pods("p"))], "default/p", id="one, named"
        ),
        pytest.param(
            [
                Refusal(UNKNOWN, "a", "", count=2, pods=pods("p", "q")),
                Refusal(UNKNOWN, "a", "", count=2, pods=pods("q", "p")),
                Refusal(UNKNOWN, "b", "", count=1, pods=pods("p")),
            ],
            "default/p, default/q",
            id="the same ones in several places are told once",
        ),
        pytest.param(
            [
                Refusal(UNKNOWN, "a", "", count=3, pods=pods("p", "q")),
                Refusal(UNKNOWN, "b", "", count=2, pods=pods("r", "s")),
            ],
            "default/p, default/q, default/r and 2 more",
            id="where one is not named, the numbers are added up",
        ),
        pytest.param(
            [Refusal(UNKNOWN, "a", "", count=2, unnamed=2)],
            "2 pods of other namespaces",
            id="none may be named",
        ),
        pytest.param([Refusal(UNKNOWN, "a", "")], "pods that have gone meanwhile", id="none left"),
    ],
)
def test_who_is_in_the_way_of_a_group(refusals: list[Refusal], expected: str) -> None:
    assert RefusalGroup.of(refusals).in_the_way == expected
