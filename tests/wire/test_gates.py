"""What is left of a term while a gate is off."""

from __future__ import annotations

from typing import Any

import pytest

from extender.core.model.labels import Operator, Requirement, Selector
from extender.core.model.pod_affinity import PodSelector, Term
from extender.core.wire.affinity import EVERY_GATE_ON, Gates
from tests.builders import HOST, model_pod, pod, requirement, selector, term

NO_KEYS, NO_NAMESPACE_SELECTOR = Gates(match_label_keys=False), Gates(namespace_selector=False)
OWN = frozenset(("default",))

WEB = Requirement("app", Operator.IN, frozenset(("web",)))
V1 = Requirement("version", Operator.IN, frozenset(("1",)))
NOT_V1 = Requirement("version", Operator.NOT_IN, frozenset(("1",)))


def web(**fields: Any) -> dict[str, Any]:
    return term(HOST, selector(app="web"), **fields)


MERGED = selector(requirement("version", "In", "1"), app="web")
BOTH = {"matchLabelKeys": ["app"], "mismatchLabelKeys": ["version"]}
EVERYWHERE: dict[str, Any] = {"namespaceSelector": {}}


@pytest.mark.parametrize(
    ("gates", "written", "expected"),
    [
        pytest.param(
            EVERY_GATE_ON,
            web(**BOTH),
            PodSelector(Selector.of((WEB, NOT_V1)), OWN),
            id="on: keys are merged",
        ),
        pytest.param(
            NO_KEYS, web(**BOTH), PodSelector(Selector((WEB,)), OWN), id="off: keys are ignored"
        ),
        pytest.param(
            NO_KEYS,
            term(HOST, MERGED, matchLabelKeys=["version"]),
            PodSelector(Selector.of((WEB, V1)), OWN),
            id="off: what the API server has merged stays",
        ),
        pytest.param(
            EVERY_GATE_ON,
            web(**EVERYWHERE),
            PodSelector(Selector((WEB,)), frozenset(), Selector()),
            id="on: namespaces are selected",
        ),
        pytest.param(
            NO_NAMESPACE_SELECTOR,
            web(**EVERYWHERE),
            PodSelector(Selector((WEB,)), OWN),
            id="off: without a list it is the owner's namespace",
        ),
        pytest.param(
            NO_NAMESPACE_SELECTOR,
            web(namespaces=["red"], **EVERYWHERE),
            PodSelector(Selector((WEB,)), frozenset(("red",))),
            id="off: a list of namespaces stays",
        ),
        pytest.param(
            NO_NAMESPACE_SELECTOR,
            web(matchLabelKeys=["version"]),
            PodSelector(Selector.of((WEB, V1)), OWN),
            id="one gate has nothing to do with the other",
        ),
    ],
)
def test_gates(gates: Gates, written: dict[str, Any], expected: PodSelector) -> None:
    owner = pod("x").labels(app="web", version="1")
    owner = owner.affinity(written).anti_affinity(written).prefers(1, written).avoids(1, written)
    rules = model_pod(owner, gates).pod_class.affinity
    terms = (*rules.required, *rules.required_anti, *(each.term for each in rules.preferred))
    assert terms == (Term(expected, HOST),) * 4
