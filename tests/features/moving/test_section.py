"""What may be configured, what is refused, and which Lease and rights that needs."""

from __future__ import annotations

import argparse
import re
from typing import Any

import pytest
import yaml

from extender.core.config import Config
from extender.core.config.checks import faults
from extender.core.config.document import decode, effective
from extender.core.config.features import LeaseName, lease_name
from extender.core.config.layers import load
from extender.core.config.schema import API_VERSION, KIND
from extender.core.errors import ConfigError
from extender.core.source import lease_key
from extender.features.moving.rules.execution import Execution
from extender.features.moving.section import FEATURE, RequiredDuringExecution
from tests.commands.lint.asking import found, linted, ours, shipped
from tests.features.test_rights import roles

HEADER = {"apiVersion": API_VERSION, "kind": KIND}
NODE = "NodeAffinity"
ON_GPUS = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}]
    }
}
EVICTS = {"enabled": True, "dryRun": False}
SECTIONS = pytest.mark.parametrize(
    "section", ["requiredDuringExecution", "preferredDuringExecution"]
)


def load_fields(fields: dict[str, Any]) -> Config:
    flags = argparse.Namespace(config="c.yaml")
    return load(flags, lambda _: yaml.safe_dump({**HEADER, **fields}))


def test_their_defaults() -> None:
    told = effective(decode(HEADER))
    assert told["requiredDuringExecution"] == {
        "enabled": False,
        "dryRun": True,
        "evictionsPerMinute": 10,
        "gracePeriodSeconds": 60,
        "maxAffected": "10%",
        "plainRules": {},
        "leaseName": "affinity-extender",
    }
    assert told["preferredDuringExecution"] == {
        "enabled": False,
        "dryRun": True,
        "minGain": 1,
        "settleSeconds": 300,
        "restSeconds": 60,
    }


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("preferred", [True, False])
def test_each_can_be_on_without_the_other(*, required: bool, preferred: bool) -> None:
    fields = {
        "requiredDuringExecution": {"enabled": required},
        "preferredDuringExecution": {"enabled": preferred},
    }
    assert FEATURE.enabled(decode({**HEADER, **fields})) == (required or preferred)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"maxAffected": "ten"}, "maxAffected: 'ten' is not a percentage", id="share"),
        pytest.param({"maxAffected": "110%"}, "maxAffected: '110%' is not a", id="above 100 %"),
        pytest.param(
            {"plainRules": {"matchExpressions": [{"key": "team", "operator": "In"}]}},
            "plainRules.matchExpressions[0].values: operator In takes at least one value",
            id="selector",
        ),
        pytest.param(
            {"plainRules": {"matchLabels": {"team": 1}}},
            "plainRules.matchLabels: not a mapping of strings to strings",
            id="labels of namespaces",
        ),
        pytest.param(
            {"evictionsPerMinute": 0}, "evictionsPerMinute: 0 is not in 1..6000", id="evictions"
        ),
    ],
)
def test_what_cannot_be_evicted_by_is_refused(fields: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"requiredDuringExecution.{expected}")):
        load_fields({"requiredDuringExecution": fields})


def test_no_selector_means_nowhere_and_one_without_values_means_some() -> None:
    nowhere = load_fields({"mode": "assist"}).section(RequiredDuringExecution)
    assert Execution(nowhere.plain) == Execution()
    chosen = {"matchExpressions": [{"key": "team", "operator": "Exists"}]}
    fields = {"requiredDuringExecution": {"plainRules": chosen}}
    plain = load_fields(fields).section(RequiredDuringExecution).plain
    assert plain is not None
    assert plain.matches({"team": "red"})
    assert not plain.matches({})


@pytest.mark.parametrize(
    ("mode", "on", "moves", "fits"),
    [
        ("replace", False, True, False),
        ("replace", False, False, True),
        ("replace", True, True, True),
        ("assist", True, True, True),
    ],
)
def test_moves_for_preferences_need_the_hints_that_steer_their_successors(
    mode: str, *, on: bool, moves: bool, fits: bool
) -> None:
    fields = {
        **HEADER,
        "mode": mode,
        "hints": {"enabled": on},
        "preferredDuringExecution": {"enabled": moves},
    }
    told = [each.path for each in faults(decode(fields))]
    assert told == ([] if fits else ["hints.enabled"])


def test_the_lease_of_all_features_is_the_one_that_its_fields_name() -> None:
    assert lease_name(decode(HEADER)) == LeaseName(None, "affinity-extender")
    fields = {"leaseNamespace": "mine", "leaseName": "one"}
    named = decode({**HEADER, "requiredDuringExecution": fields})
    assert lease_name(named) == LeaseName("mine", "one")


@SECTIONS
@pytest.mark.parametrize("fields", [EVICTS, {"enabled": True}])
def test_the_rights_to_evict_are_needed_and_enough(section: str, fields: dict[str, bool]) -> None:
    manifests = roles("base", "components/moving")
    switched = ours("assist", **{section: fields})
    assert found(linted(*manifests, switched)) == []
    assert found(linted(*roles("base"), switched)) == ["right-missing"]


def test_moved_pods_keep_to_the_nodes_that_the_scheduler_allows() -> None:
    file = shipped("assist")
    arguments = {"name": NODE, "args": {"addedAffinity": ON_GPUS}}
    file["profiles"][0].setdefault("pluginConfig", []).append(arguments)
    rule = "added-affinity-differs"
    assert rule in found(linted(file, ours("assist", preferredDuringExecution=EVICTS)))
    assert rule not in found(linted(file, ours("assist")))


@pytest.mark.parametrize(
    ("configured", "place", "expected"),
    [
        pytest.param(None, "elsewhere", "elsewhere", id="where it runs"),
        pytest.param("mine", "elsewhere", "mine", id="where the configuration says"),
        pytest.param(None, None, "kube-system", id="on a host"),
    ],
)
def test_the_lease_is_where_the_extender_runs(
    configured: str | None, place: str | None, expected: str
) -> None:
    lease: dict[str, Any] = {"requiredDuringExecution": {"leaseNamespace": configured}}
    lease["preferredDuringExecution"] = {"enabled": True}
    assert lease_key(decode(HEADER | lease), place) == f"{expected}/affinity-extender"
