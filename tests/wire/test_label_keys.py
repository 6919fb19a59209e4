"""Label keys are merged for pods that nobody has created yet, and left alone for all others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extender.model.labels import Operator, Requirement, Selector
from extender.wire.objects import PodReader
from tests.builders import HOST, pod, requirement, selector, term

WEB = Requirement("app", Operator.IN, frozenset(("web",)))
V1 = Requirement("version", Operator.IN, frozenset(("1",)))
NOT_V1 = Requirement("version", Operator.NOT_IN, frozenset(("1",)))

OWNER = pod("x").labels(app="web", version="1")
WRITTEN = OWNER.affinity(
    term(HOST, selector(app="web"), matchLabelKeys=["version"]),
    term(HOST, selector(app="web"), mismatchLabelKeys=["version"]),
)
MERGED = OWNER.affinity(
    term(HOST, selector(requirement("version", "In", "1"), app="web"), matchLabelKeys=["version"]),
    term(
        HOST,
        selector(requirement("version", "NotIn", "1"), app="web"),
        mismatchLabelKeys=["version"],
    ),
)

ADDED = [Selector.of((WEB, V1)), Selector.of((WEB, NOT_V1))]
AS_WRITTEN = [Selector.of((WEB,)), Selector.of((WEB,))]

FILES, LIVE = PodReader(), PodReader(stored=True)


@pytest.mark.parametrize(
    ("reader", "raw", "expected"),
    [
        pytest.param(FILES, WRITTEN, ADDED, id="a manifest, as it will be once it is created"),
        pytest.param(
            FILES,
            WRITTEN.stored_at("7"),
            AS_WRITTEN,
            id="a dump of a cluster: the label came after the pod",
        ),
        pytest.param(FILES, MERGED.stored_at("7"), ADDED, id="a dump: merged at its creation"),
        pytest.param(FILES, MERGED, ADDED, id="a dump without versions: nothing is added"),
        pytest.param(
            LIVE, WRITTEN.stored_at("7"), AS_WRITTEN, id="an API server: the label came after"
        ),
        pytest.param(LIVE, WRITTEN, AS_WRITTEN, id="an API server, whatever it leaves out"),
        pytest.param(LIVE, MERGED.stored_at("7"), ADDED, id="an API server: merged at creation"),
    ],
)
def test_where_label_keys_are_merged(
    reader: PodReader, raw: dict[str, Any], expected: list[Selector]
) -> None:
    found = reader.read(json.dumps(raw).encode()).pod_class.affinity.required
    assert [term.pods.selector for term in found] == expected


def test_a_label_that_came_late_has_drifted() -> None:
    late = LIVE.read(json.dumps(WRITTEN).encode()).pod_class
    assert {(drift.key, drift.merged) for drift in late.drift()} == {("version", frozenset())}
    for raw in (WRITTEN, MERGED):
        assert list(FILES.read(json.dumps(raw).encode()).pod_class.drift()) == []
