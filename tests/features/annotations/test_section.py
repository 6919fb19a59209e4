"""Where rules in annotations count, as the configuration says, and who answers then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from extender.core.callbacks.filtering import Filters
from extender.core.callbacks.preempting import Preemptions
from extender.core.config import API_VERSION, KIND, parse_yaml, to_yaml
from extender.core.config.document import decode
from extender.core.config.features import more_rules, refuses_in_assist
from extender.core.enabled import filter_plugins
from extender.core.model.labels import EVERYTHING
from extender.features.annotations.section import Annotations
from tests.builders import state_of
from tests.wired import wired

if TYPE_CHECKING:
    from extender.core.config import Config


def loaded(**fields: Any) -> Config:
    return decode({"apiVersion": API_VERSION, "kind": KIND, **fields})


def test_they_count_nowhere_everywhere_or_where_a_selector_says() -> None:
    for each in (loaded(), loaded(annotations={"namespaceSelector": None})):
        assert each.section(Annotations).selector is None
        assert not more_rules(each)
    everywhere = loaded(annotations={"namespaceSelector": {}})
    assert everywhere.section(Annotations).selector == EVERYTHING
    assert decode(parse_yaml(to_yaml(everywhere), "a test")) == everywhere
    assert refuses_in_assist(everywhere)
    chosen = loaded(annotations={"namespaceSelector": {"matchLabels": {"team": "shop"}}})
    selector = chosen.section(Annotations).selector
    assert selector is not None
    assert selector.matches({"team": "shop"})
    assert not selector.matches({})


def test_in_assist_filter_and_preempt_judge() -> None:
    config = loaded(mode="assist", annotations={"namespaceSelector": {}})
    verbs = wired(config, state_of([], [], []))
    assert (type(verbs["filter"]), type(verbs["preempt"])) == (Filters, Preemptions)


@pytest.mark.parametrize("plugins", [["InterPodAffinity"], ["NodeAffinity"]])
def test_limits_come_last_and_go_with_inter_pod_affinity(plugins: list[str]) -> None:
    config = loaded(mode="replace", plugins=plugins, annotations={"namespaceSelector": {}})
    *others, limits = (each for each in filter_plugins(config) if each.compares_pods)
    assert limits.name == "MaxMatchingPods"
    assert [each.name for each in others] == ["InterPodAffinity"]
    assert limits.of_annotations is ("InterPodAffinity" not in plugins)
