"""When quotas are looked at, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from extender.core.callbacks.filtering import Filters
from extender.core.callbacks.passing import Passing
from extender.core.callbacks.preempting import Preemptions
from extender.core.config.document import decode, effective
from extender.core.config.effects import without_effect
from extender.core.config.features import enabled, refuses_in_assist
from extender.core.config.schema import API_VERSION, KIND
from extender.core.enabled import enforced, filter_plugins
from extender.core.resources import needed
from extender.diagnosis.explained import explained
from extender.features.quota.rules import CrossNamespacePodAffinity
from extender.features.quota.section import FEATURE
from tests.builders import state_of
from tests.serving import NODES
from tests.wired import wired

HEADER = {"apiVersion": API_VERSION, "kind": KIND}
PLUGIN = {"plugins": ["CrossNamespacePodAffinity", "InterPodAffinity"]}
ANNOTATED: dict[str, Any] = {"annotations": {"namespaceSelector": {}}}
LIMITED = {"crossNamespacePodAffinity": {"limitedByDefault": True}}


def test_its_defaults() -> None:
    assert effective(decode(HEADER))[FEATURE.fields[0]] == {"limitedByDefault": False}


@pytest.mark.parametrize(
    ("fields", "on"),
    [
        pytest.param({}, False, id="neither"),
        pytest.param(PLUGIN, True, id="its plugin"),
        pytest.param(ANNOTATED, True, id="annotations"),
        pytest.param(PLUGIN | ANNOTATED, True, id="both"),
    ],
)
@pytest.mark.parametrize("mode", ["shadow", "assist", "replace"])
def test_when_it_is_on(mode: str, fields: dict[str, Any], *, on: bool) -> None:
    config = decode({**HEADER, **fields, **LIMITED, "mode": mode})
    assert (FEATURE in enabled(config)) is on
    assert ("resourcequotas" in {each.name for each in needed(config)}) is on
    plugin = CrossNamespacePodAffinity(limited=True, of_annotations="plugins" not in fields)
    assert (plugin in filter_plugins(config)) is (plugin in explained(config)) is on
    assert (plugin in enforced(config)) is (on and mode != "shadow")
    assert [each.path for each in without_effect(config)] == (
        [] if on else ["crossNamespacePodAffinity.limitedByDefault"]
    )


@pytest.mark.parametrize(
    ("fields", "kinds"),
    [
        pytest.param({}, (Passing, Passing), id="off"),
        pytest.param({"plugins": ["CrossNamespacePodAffinity"]}, (Filters, Preemptions), id="on"),
    ],
)
def test_in_assist_filter_and_preempt_are_answered_for_it(
    fields: dict[str, Any], kinds: tuple[type, type]
) -> None:
    config = decode({**HEADER, **fields, "mode": "assist"})
    verbs = wired(config, state_of(NODES, [], []))
    assert (type(verbs["filter"]), type(verbs["preempt"])) == kinds


def test_plugins_keep_their_order() -> None:
    config = decode({**HEADER, **PLUGIN})
    assert config.plugins == ("CrossNamespacePodAffinity", "InterPodAffinity")
    assert [each.name for each in filter_plugins(config)][:2] == list(config.plugins)
    assert refuses_in_assist(config)
