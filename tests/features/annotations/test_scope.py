"""By which rules a namespace that is chosen may spare other revisions, and when it is chosen."""

from __future__ import annotations

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.config.document import decode
from extender.core.config.schema import API_VERSION, KIND
from extender.core.model.workload import OF_SPECS, REVISIONS
from extender.features.annotations.carried import scope
from tests.builders import model_namespace, namespace


@pytest.mark.parametrize(
    ("mode", "marks"), [("replace", {REVISIONS, OF_SPECS}), ("assist", {REVISIONS})]
)
def test_in_a_chosen_namespace_revisions_are_spared_by_the_rules_that_are_ours(
    mode: str, marks: set[str]
) -> None:
    chosen = {"matchLabels": {"team": "shop"}}
    annotations = {"annotations": {"namespaceSelector": chosen}, "mode": mode}
    config = decode({"apiVersion": API_VERSION, "kind": KIND, **annotations})
    state = ClusterState(scope=scope(config))
    for team, expected in (("shop", marks), ("other", set()), ("shop", marks)):
        state.upsert_namespace(model_namespace(namespace("default", {"team": team})))
        assert {*state.namespace_labels("default")} & {REVISIONS, OF_SPECS} == expected
        assert state.scope.covers("default") is bool(expected)
    # One that comes to be known has been asked about before.
    assert not state.scope.covers("later")
    state.upsert_namespace(model_namespace(namespace("later", {"team": "shop"})))
    assert state.scope.covers("later")
