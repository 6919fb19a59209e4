"""When node affinity is looked at, and what may be configured."""

from __future__ import annotations

import argparse
import json
from typing import Any

import pytest

from extender.core.config.document import decode, effective, parse, to_yaml
from extender.core.config.effects import without_effect
from extender.core.config.features import Want, enabled, refuses_in_assist, wants
from extender.core.config.layers import load
from extender.core.config.schema import API_VERSION, KIND, Config
from extender.core.enabled import enforced, filter_plugins, score_plugins
from extender.core.errors import ConfigError
from extender.core.source import empty_state, pod_reader
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.node_selection import NodeSelectionPlugin
from extender.diagnosis.explained import explained
from extender.features.node_affinity.section import FEATURE, NodeAffinityArgs
from tests.builders import Pod, pod
from tests.features.node_affinity.example import ADDED, GPU, ON, ON_GPUS, PREFERRED, REQUIRED

HEADER = {"apiVersion": API_VERSION, "kind": KIND}
ANNOTATED: dict[str, Any] = {"annotations": {"namespaceSelector": {}}}
ADDS = {"nodeAffinity": {"addedAffinity": ON_GPUS}}
NAMED = {"matchFields": [{"key": "metadata.name", "operator": "Gt", "values": ["1"]}]}
PREFERS = {PREFERRED: [{"weight": 3, "preference": GPU}]}
ASKS = pod("new").selects(disk="ssd")


def loaded(fields: dict[str, Any]) -> Config:
    return load(argparse.Namespace(config="c.yaml"), lambda _: json.dumps({**HEADER, **fields}))


def told(fields: dict[str, Any]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        loaded(fields)
    return str(caught.value).splitlines()


def test_its_defaults() -> None:
    config = decode(HEADER)
    assert effective(config)["nodeAffinity"] == {"addedAffinity": {}, "weight": 2}
    assert config.section(NodeAffinityArgs).added_affinity.empty


@pytest.mark.parametrize("mode", ["shadow", "assist", "replace"])
@pytest.mark.parametrize(
    ("fields", "on"),
    [
        pytest.param({}, False, id="neither"),
        pytest.param(ON, True, id="its plugin"),
        pytest.param(ANNOTATED, True, id="annotations"),
        pytest.param(ADDS, True, id="what the scheduler adds"),
    ],
)
def test_when_it_is_on(mode: str, fields: dict[str, Any], *, on: bool) -> None:
    config = decode({**HEADER, **fields, "mode": mode})
    assert (FEATURE in enabled(config)) is on
    (nodes,) = (each for each in explained(config) if isinstance(each, NodeSelectionPlugin))
    assert not nodes.of_annotations
    judging = [each for each in filter_plugins(config) if isinstance(each, NodeSelectionPlugin)]
    assert [each.of_annotations for each in judging] == ([fields is not ON] if on else [])
    assert all(each.added == nodes.added for each in judging)
    assert (nodes.added.required is not None) is (fields is ADDS)
    refusing = [each for each in enforced(config) if isinstance(each, NodeSelectionPlugin)]
    if mode == "replace":
        assert refusing == judging
    else:
        assert bool(refusing) is (mode == "assist" and fields is ANNOTATED)


@pytest.mark.parametrize(
    ("fields", "read"),
    [
        pytest.param({}, False, id="neither"),
        pytest.param(ON, True, id="its plugin"),
        pytest.param(ANNOTATED, False, id="annotations, whose rules are read in any case"),
        pytest.param(ADDS, False, id="what the scheduler adds"),
    ],
)
def test_what_pods_ask_for_is_read_where_it_counts(fields: dict[str, Any], *, read: bool) -> None:
    config = decode({**HEADER, **fields})
    assert wants(config, Want.NODES) is read
    placed = json.dumps(Pod(ASKS).on("a")).encode()
    assert (pod_reader(config).read(placed).node_selection is not None) is read
    assert ("node_rules" in vars(empty_state(config))) is read


def test_plugins_keep_their_order() -> None:
    config = loaded({"plugins": ["NodeAffinity", "InterPodAffinity"]})
    assert config.plugins == ("NodeAffinity", "InterPodAffinity")
    assert [each.name for each in filter_plugins(config)][:2] == list(config.plugins)
    assert not refuses_in_assist(config)


def test_its_arguments() -> None:
    config = loaded(
        {"plugins": ["NodeAffinity"], "nodeAffinity": {"addedAffinity": PREFERS, "weight": 7}}
    )
    plugin, other = score_plugins(config)
    assert other == InterPodAffinity(of_annotations=True)
    assert isinstance(plugin, NodeSelectionPlugin)
    assert plugin.weight == 7
    assert plugin.added.required is None
    assert plugin.added.preferred is not None
    assert plugin.added.preferred.judge("n", {"gpu": ""}) == 3


def test_terms_survive() -> None:
    terms = [GPU, {"matchFields": [{"key": "n", "operator": "In", "values": ["x"]}]}]
    required = {REQUIRED: {"nodeSelectorTerms": terms}}
    decoded = decode({**HEADER, "nodeAffinity": {"addedAffinity": required}})
    added = decoded.section(NodeAffinityArgs).added_affinity
    kept = added.required_during_scheduling_ignored_during_execution
    assert kept is not None
    assert [bool(term.match_fields) for term in kept.node_selector_terms] == [False, True]
    assert decode(parse(to_yaml(decoded), "written")) == decoded


@pytest.mark.parametrize(
    ("plugins", "term", "said"),
    [
        pytest.param(["InterPodAffinity"], GPU, None, id="the scheduler enforces it"),
        pytest.param(["NodeAffinity"], GPU, None, id="it is taken"),
        pytest.param(["NodeAffinity", "InterPodAffinity"], GPU, None, id="with others"),
        pytest.param(
            ["NodeAffinity"],
            {**GPU, **NAMED},
            "matchFields[0]: 'Gt' is not an operator for fields",
            id="a field that is compared",
        ),
        pytest.param(
            ["NodeAffinity"],
            {"matchExpressions": [{"key": "a b", "operator": "Exists"}]},
            "matchExpressions[0]: 'a b' is not a label key",
            id="no label key",
        ),
    ],
)
def test_what_is_added(plugins: list[str], term: object, said: str | None) -> None:
    required = {REQUIRED: {"nodeSelectorTerms": [term]}}
    fields = {"plugins": plugins, "nodeAffinity": {"addedAffinity": required}}
    if said is None:
        assert not loaded(fields).section(NodeAffinityArgs).added_affinity.empty
    else:
        assert told(fields) == [f"c.yaml: {ADDED}.{REQUIRED}.nodeSelectorTerms[0].{said}"]


def test_faults_deep_in_a_list() -> None:
    broken = [{"weight": 0, "preference": {"matchExpressions": [{"operator": "Like"}]}}, {}]
    terms = f"{ADDED}.{PREFERRED}"
    document = {"nodeAffinity": {"addedAffinity": {PREFERRED: broken}}}
    assert "; ".join(told(document)) == "; ".join(
        f"c.yaml: {each}"
        for each in (
            f"{terms}[0].weight: 0 is not in 1..100",
            (
                f"{terms}[0].preference.matchExpressions[0].operator: 'Like' is not one of In, "
                "NotIn, Exists, DoesNotExist, Gt, Lt"
            ),
            f"{terms}[0].preference.matchExpressions[0].key: missing; expected a string",
            f"{terms}[1].weight: missing; expected a whole number in 1..100",
            f"{terms}[1].preference: missing; expected a mapping of fields",
        )
    )


def test_no_terms_match_no_node() -> None:
    required: dict[str, Any] = {REQUIRED: {"nodeSelectorTerms": []}}
    assert told({"nodeAffinity": {"addedAffinity": required}}) == [
        f"c.yaml: {ADDED}.{REQUIRED}.nodeSelectorTerms: an empty list is not a list of 1 or more"
    ]


@pytest.mark.parametrize(
    ("block", "path", "mode", "giving"),
    [
        pytest.param({"addedAffinity": PREFERS}, f"{ADDED}.{PREFERRED}", "assist", ON, id="terms"),
        pytest.param({"weight": 3}, "nodeAffinity.weight", "shadow", ANNOTATED, id="weight"),
    ],
)
def test_what_gives_a_field_an_effect(
    block: dict[str, Any], path: str, mode: str, giving: dict[str, Any]
) -> None:
    fields = {**HEADER, "nodeAffinity": block, "mode": mode}
    assert [each.path for each in without_effect(decode(fields))] == [path]
    assert [each.path for each in without_effect(decode({**fields, **giving}))] == []
