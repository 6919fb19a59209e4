"""Each fault that is planted in a scheduler's file, ours or a role is found, and no other."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import pytest

from affinityctl.commands.lint.rulebook import BY_ID, OF_BUDGET, OF_WORKLOAD, OF_WRITTEN
from extender.core.config.conditions import REPLACE
from extender.core.config.features import features
from tests.beside import needs_rules
from tests.commands.lint.asking import found, linted, ours, shipped
from tests.deploy.places import MANIFESTS, read_objects

Change = Callable[[dict[str, Any]], object]


def entry(**fields: Any) -> Change:
    """Change the entry of the extender; None takes a field away."""

    def change(file: dict[str, Any]) -> None:
        only = file["extenders"][0]
        for name, value in fields.items():
            only[name] = value
            if value is None:
                del only[name]

    return change


def top(**fields: Any) -> Change:
    return lambda file: file.update(fields)


def plugins(**points: list[str]) -> Change:
    """Disable plugins at points of the first profile; at no others."""

    def change(file: dict[str, Any]) -> None:
        disabled = {
            point: {"disabled": [{"name": name} for name in names]}
            for point, names in points.items()
        }
        file["profiles"][0]["plugins"] = disabled

    return change


def another_profile(file: dict[str, Any]) -> None:
    file["profiles"].append({"schedulerName": "forgotten"})


def second_entry(**fields: Any) -> Change:
    other = {"urlPrefix": "http://127.0.0.1:9999", "nodeCacheCapable": True, **fields}
    return lambda file: file["extenders"].append(other)


def arguments(plugin: str = "InterPodAffinity", **args: Any) -> Change:
    config = [{"name": plugin, "args": args}]
    return lambda file: file["profiles"][0].update(pluginConfig=config)


POD = "InterPodAffinity"
NODE = "NodeAffinity"
BOTH = [POD, NODE]
SPREAD = "PodTopologySpread"
HARD_SPREAD = {
    "defaultConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"},
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"},
    ],
    "defaultingType": "List",
}
GPU = {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}
ON_GPUS = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [GPU]}}
TLS = {"tlsCertFile": "c", "tlsPrivateKeyFile": "k"}
REMOTE = {"urlPrefix": "https://10.0.0.1:10280", "enableHTTPS": True}
OFF_LOOPBACK = {"bindAddress": "0.0.0.0"}

ANNOTATED: dict[str, Any] = {"annotations": {"namespaceSelector": {}}}
CARRYING = [f"components/{each.component}" for each in features() if each.carries]
_FILES: list[Any] = [
    ("extender-missing", "assist", top(extenders=[]), {}),
    ("two-binders", "replace", second_entry(bindVerb="bind"), {}),
    ("filter-verb-missing", "shadow", entry(filterVerb=None), {}),
    ("prioritize-verb-missing", "assist", entry(prioritizeVerb=None), {}),
    ("bind-verb-missing", "replace", entry(bindVerb=None), {}),
    ("preempt-verb-missing", "replace", entry(preemptVerb=None), {}),
    *(
        ("preempt-verb-missing", "assist", entry(filterVerb="filter", ignorable=None), ANNOTATED)
        for _ in CARRYING
    ),
    ("verb-misspelt", "assist", entry(prioritizeVerb="priorities"), {}),
    ("verb-misspelt", "assist", entry(prioritizeVerb="/prioritize"), {}),
    ("verb-without-use", "shadow", entry(preemptVerb="preempt"), {}),
    ("verb-without-use", "assist", entry(filterVerb="filter", preemptVerb="preempt"), {}),
    ("whole-nodes-sent", "assist", entry(nodeCacheCapable=None), {}),
    ("managed-resources", "replace", entry(managedResources=[{"name": "a.b/gpu"}]), {}),
    ("hard-rules-off", "assist", plugins(multiPoint=[POD]), {}),
    ("plugin-half-off", "assist", plugins(preFilter=[POD], preScore=[POD], score=[POD]), {}),
    ("soft-rules-off", "shadow", plugins(preScore=[POD], score=[POD]), {}),
    ("hard-rules-twice", "replace", plugins(preScore=[POD], score=[POD]), {}),
    ("soft-rules-twice", "assist", another_profile, {}),
    ("profile-not-named", "replace", another_profile, {}),
    ("profile-missing", "replace", lambda file: file["profiles"].pop(), {}),
    ("idle-pre-score", "assist", plugins(score=[POD]), {}),
    (
        "node-affinity-pre-filter-off",
        "replace",
        plugins(multiPoint=BOTH),
        {"plugins": BOTH},
    ),
    ("https-unverified", "assist", entry(**REMOTE), {"serving": TLS}),
    ("plain-http-off-loopback", "assist", entry(urlPrefix="http://10.0.0.1:10280"), {}),
    ("tls-on-one-side", "assist", entry(**REMOTE, tlsConfig={"caFile": "ca"}), {}),
    (
        "client-certificate-missing",
        "assist",
        entry(**REMOTE, tlsConfig={"caFile": "ca"}),
        {"serving": {**TLS, "clientCAFile": "ca"}},
    ),
    ("address-mismatch", "assist", entry(urlPrefix="http://127.0.0.1:8888"), {}),
    ("ignorable-binder", "replace", entry(ignorable=True), {}),
    ("pods-wait-for-nothing", "shadow", entry(ignorable=False), {}),
    ("timeout-too-short", "assist", entry(httpTimeout="500ms"), {}),
    ("timeout-too-long", "assist", entry(httpTimeout="1m30s"), {}),
    ("weight-missing", "assist", entry(weight=None), {}),
    ("score-range", "assist", entry(weight=5), {}),
    ("score-range", "assist", entry(), {"prioritize": {"maxScore": 10}}),
    (
        "extender-listed-twice",
        "assist",
        second_entry(urlPrefix="http://localhost:10280", prioritizeVerb="prioritize", weight=1),
        {},
    ),
    ("arguments-differ", "replace", arguments(hardPodAffinityWeight=7), {}),
    ("every-node-scored", "assist", top(percentageOfNodesToScore=100), {}),
    ("sample-without-hints", "replace", entry(), {"hints": {"enabled": False}}),
    ("slow-api-client", "replace", top(clientConnection={}), {}),
    ("no-leader-election", "assist", top(leaderElection={"leaderElect": False}), {}),
    (
        "plugin-arguments-broken",
        "assist",
        arguments("NodeResourcesFit", ignoredResourceGroups=["a/b"]),
        {},
    ),
    ("added-affinity-differs", "replace", arguments(NODE, addedAffinity=ON_GPUS), {}),
    ("added-affinity-differs", "replace", entry(), {"nodeAffinity": {"addedAffinity": ON_GPUS}}),
    (
        "scheduler-arguments-unknown",
        "replace",
        arguments("NodeResourcesFit", ignoredResources=["example.com/foo"]),
        {},
    ),
    (
        "scheduler-arguments-unknown",
        "replace",
        arguments("NodeResourcesFit", ignoredResourceGroups=["example.com"]),
        {},
    ),
    ("scheduler-arguments-unknown", "replace", arguments(SPREAD, **HARD_SPREAD), {}),
    *(
        ("scheduler-arguments-unknown", "replace", plugins(multiPoint=[POD], filter=[each]), {})
        for each in ("NodeUnschedulable", "TaintToleration", "NodePorts", "NodeResourcesFit")
    ),
    ("idle-pre-filter", "replace", plugins(filter=[POD], preScore=[POD], score=[POD]), {}),
    ("resolvable-refusals", "replace", entry(), {"filter": {"resolvable": True}}),
    ("candidates-sampled", "replace", entry(), {"schedulerVersion": "1.38"}),
    (
        "candidates-sampled",
        "replace",
        arguments("DefaultPreemption", minCandidateNodesAbsolute=500),
        {"schedulerVersion": "1.38"},
    ),
    (
        "callers-not-authenticated",
        "assist",
        entry(),
        {"serving": {**OFF_LOOPBACK, "insecureServing": True}},
    ),
    (
        "any-client-certificate",
        "assist",
        entry(**REMOTE, tlsConfig={"caFile": "ca", "certFile": "c"}),
        {"serving": {**OFF_LOOPBACK, **TLS, "clientCAFile": "ca"}},
    ),
    ("preemption-off", "replace", entry(), {"preemption": {"enabled": False}}),
]
FILES = [each for each in _FILES if each[0] in BY_ID]
"""Some rules are about what a feature gives."""


@pytest.mark.parametrize(
    ("rule", "mode", "change", "config"),
    [pytest.param(*each, id=f"{number} {each[0]}") for number, each in enumerate(FILES)],
)
def test_a_fault_in_a_file_is_found(
    rule: str, mode: str, change: Change, config: dict[str, Any]
) -> None:
    file = copy.deepcopy(shipped(mode))
    change(file)
    assert found(linted(file, ours(mode, **config))) == [rule]


def test_rules_are_not_ignorable_in_replace_without_bind_either() -> None:
    file = shipped("replace")
    entry(ignorable=True, bindVerb=None)(file)
    report = linted(file, ours("replace"))
    assert found(report) == ["bind-verb-missing", "ignorable-rules"]


@pytest.mark.parametrize("mode", ["assist", "replace", "shadow"])
def test_without_our_file_the_mode_is_that_of_the_verbs(mode: str) -> None:
    assert found(linted(shipped(mode))) == []


def test_few_candidates_are_no_fault_where_all_nodes_are() -> None:
    file = copy.deepcopy(shipped("replace"))
    arguments("DefaultPreemption", minCandidateNodesPercentage=100)(file)
    assert found(linted(file, ours("replace", schedulerVersion="1.38"))) == []


def test_a_file_of_another_mode_is_found() -> None:
    report = linted(shipped("replace"), ours("assist"))
    assert {"hard-rules-off", "verb-without-use"} <= set(found(report))


def roles(*folders: str) -> list[dict[str, Any]]:
    return [one for folder in folders for one in read_objects(MANIFESTS / folder / "rbac.yaml")]


def widened() -> list[dict[str, Any]]:
    changed = copy.deepcopy(roles("base"))
    changed[1]["rules"][0]["resources"] = ["*"]
    return changed


def reading_budgets() -> list[dict[str, Any]]:
    """The rights that every mode had until only replace did."""
    changed = copy.deepcopy(roles("base"))
    budgets = {"apiGroups": ["policy"], "resources": ["poddisruptionbudgets"]}
    changed[1]["rules"].append(budgets | {"verbs": ["list", "watch"]})
    return changed


REPLACING = [f"components/{each.component}" for each in features() if each.effect is REPLACE]
JUDGING = [f"components/{each.component}" for each in features() if each.plugin and each.rights]
RIGHTS: list[Any] = [
    ("right-missing", "replace", roles("base"), {}),
    ("right-too-wide", "assist", widened(), {}),
    *(("right-without-use", "assist", roles("base", each), {}) for each in REPLACING),
    *(("right-without-use", "replace", roles("base", *REPLACING, each), {}) for each in JUDGING),
    ("right-without-use", "assist", reading_budgets(), {}),
    ("right-without-use", "shadow", reading_budgets(), {}),
    *(("right-missing", "assist", roles("base", *JUDGING), ANNOTATED) for _ in CARRYING),
    *(("right-without-use", "assist", roles("base", each), {}) for each in CARRYING),
]


@pytest.mark.parametrize(
    ("rule", "mode", "manifests", "config"),
    [pytest.param(*each, id=f"{number} {each[0]}") for number, each in enumerate(RIGHTS)],
)
def test_a_fault_in_rights_is_found(
    rule: str, mode: str, manifests: list[dict[str, Any]], config: dict[str, Any]
) -> None:
    assert found(linted(*manifests, ours(mode, **config))) == [rule]


@pytest.mark.parametrize("rule", ["right-missing", "right-without-use"])
def test_the_fix_names_every_component_with_rights(rule: str) -> None:
    components = {file.parent.name for file in MANIFESTS.glob("components/*/rbac.yaml")}
    assert components or not any(each.rights for each in features())
    assert components <= {*re.findall(r"[\w-]+", BY_ID[rule].fix)}


def test_a_role_that_is_not_there_may_have_what_is_missing() -> None:
    base = roles("base")
    base[2]["roleRef"]["name"] = "elsewhere"
    assert found(linted(*base, ours("replace"))) == []


def test_every_rule_about_configurations_and_rights_has_a_fault() -> None:
    planted = {each[0] for each in (*FILES, *RIGHTS)} | {"ignorable-rules"}
    elsewhere = {rule.id for rules in (OF_WORKLOAD, OF_BUDGET, OF_WRITTEN) for rule in rules}
    assert planted == BY_ID.keys() - elsewhere


@needs_rules
def test_rules_that_no_scheduler_has_are_not_ignorable_in_assist() -> None:
    file = shipped("assist")
    entry(filterVerb="filter", preemptVerb="preempt", ignorable=True)(file)
    assert found(linted(file, ours("assist", **ANNOTATED))) == ["ignorable-rules"]


@needs_rules
def test_assist_may_refuse_pods_for_rules_in_annotations() -> None:
    file = shipped("assist")
    entry(filterVerb="filter", preemptVerb="preempt", ignorable=None)(file)
    assert found(linted(file, ours("assist", **ANNOTATED))) == []
    # Nor without our file, which would tell what the verbs are for.
    assert found(linted(file)) == []


@needs_rules
@pytest.mark.parametrize("mode", ["shadow", "assist"])
def test_the_rights_for_annotations_are_enough(mode: str) -> None:
    manifests = roles("base", "components/annotations")
    idle = ["right-without-use"] if mode == "shadow" else []
    assert found(linted(*manifests, ours(mode, **ANNOTATED))) == idle


@needs_rules
def test_where_annotations_count_filter_has_to_be_asked() -> None:
    assert found(linted(shipped("assist"), ours("assist", **ANNOTATED))) == ["filter-verb-missing"]
