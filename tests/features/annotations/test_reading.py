"""Rules in annotations: what is read, what is refused, and by which words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extender.core.model.exclusive import MOST_LETTERS
from extender.core.model.labels import Operator, Requirement, Selector
from extender.core.model.node_selection import NodeRule
from extender.core.model.pod_affinity import PodSelector, Term
from extender.core.model.workload import REVISION, REVISIONS, WORKLOAD
from extender.core.wire.limits import OF_RULES
from extender.core.wire.manifests import (
    EXCLUSIVE_ANNOTATION,
    REVISIONS_ANNOTATION,
)
from extender.core.wire.objects import PodReader
from extender.features.annotations.manifests import OF_ANNOTATIONS as MOST
from extender.features.annotations.reading import POLICY_REMOVED
from tests.annotating import DURING, PREFERRED, REQUIRED, annotated, digest_of
from tests.beside import AFFINITY_ANNOTATION, POLICY_ANNOTATION, RULES
from tests.builders import (
    HOST,
    ZONE,
    Pod,
    every_facet,
    model_namespace,
    model_pod,
    namespace,
    node_term,
    pod,
    requirement,
    selector,
    term,
)

AT = f"metadata.annotations[{AFFINITY_ANNOTATION}]"
POLICY_AT = f"metadata.annotations[{POLICY_ANNOTATION}]"
WEB, DB, CACHE = (selector(app=app) for app in ("web", "db", "cache"))
OWN = pod("new").labels(app="web", version="7").affinity(term(ZONE, DB))
SSD = node_term(requirement("disk", "In", "ssd"))
ARM = node_term(requirement("arch", "In", "arm64"))


def test_a_pod_without_annotations_has_the_rules_of_its_spec() -> None:
    read = model_pod(OWN.annotated("example.com/other", "{"))
    assert read.spec.broken_rules is None
    assert read.pod_class.annotated is None
    assert read.pod_class == model_pod(OWN).pod_class
    assert read.pod_class.during_execution.required == ()


def test_rules_are_added() -> None:
    rules = {
        "podAffinity": {REQUIRED: [term(HOST, CACHE)], DURING: [term(ZONE, CACHE)]},
        "podAntiAffinity": {
            DURING: [term(HOST, WEB)],
            PREFERRED: [{"weight": 7, "podAffinityTerm": term(ZONE, WEB)}],
        },
    }
    found = model_pod(annotated(OWN, rules)).pod_class
    assert [each.topology_key for each in found.affinity.required] == [ZONE, HOST, ZONE]
    assert [each.topology_key for each in found.affinity.required_anti] == [HOST]
    assert [each.weight for each in found.affinity.preferred] == [-7]
    assert found.during_execution.required == (meant(ZONE, "cache"),)
    assert found.during_execution.required_anti == (meant(HOST, "web"),)
    assert found.by_annotation.affinity.required == (meant(HOST, "cache"), meant(ZONE, "cache"))


def test_limits_are_kept_apart() -> None:
    rules = {
        "podAntiAffinity": {
            REQUIRED: [
                term(HOST, WEB),
                term(ZONE, WEB, maxMatchingPods=2, matchLabelKeys=["version"]),
            ],
            DURING: [term(ZONE, WEB, maxMatchingPods=0)],
        },
    }
    found = model_pod(annotated(OWN, rules)).pod_class
    assert found.affinity.required_anti == (meant(HOST, "web"),)
    assert [each.most for each in found.affinity.limits] == [2, 0]
    assert found.affinity.limits[0].pods.selector.requires("version", Operator.IN)
    assert [each.most for each in found.during_execution.limits] == [0]
    assert found.of_spec.affinity.limits == ()


def test_the_annotation_about_exclusive_domains_is_no_rule() -> None:
    plain = pod("new").labels(job="7").affinity(term(ZONE, DB))
    for value in ("job by rack", "job", "", "x" * 100_000):
        found = model_pod(plain.annotated(EXCLUSIVE_ANNOTATION, value))
        assert found.pod_class == model_pod(plain).pod_class
        assert (found.spec.broken_rules, found.spec.unannotated) == (None, None)
        assert found.spec.exclusive == value[:MOST_LETTERS]


def test_what_earlier_releases_have_put_on_record_goes_on_counting() -> None:
    rules = anti(term(HOST, WEB, matchLabelKeys=["v"]))
    written = annotated(pod("p").labels(app="web", v="7"), rules)
    assert digest_of(written) == "ab6bb01e8cd74cf36188bfcc994ad951f50b2dd4c21adc8cdf004ad5cc49eb9b"


def test_revisions_are_told_apart_where_one_says_own() -> None:
    raw = pod("new").labels({"pod-template-hash": "5d"}).owned_by("ReplicaSet/web-5d")
    found = model_pod(raw.annotated(REVISIONS_ANNOTATION, "Own"))
    marks = {WORKLOAD: "default/Deployment/web", REVISION: "5d", REVISIONS: "Own"}
    assert found.pod_class.labels == {"pod-template-hash": "5d", **marks}
    assert (found.pod_class.annotated, found.pod_class.digest) == (None, "")
    space = namespace("default", {"team": "shop"})
    space["metadata"]["annotations"] = {REVISIONS_ANNOTATION: "Own"}
    assert model_namespace(space).labels == {"team": "shop", REVISIONS: "Own"}
    space["metadata"]["annotations"] = {REVISIONS_ANNOTATION: "own"}
    assert model_namespace(space).labels == {"team": "shop"}


@pytest.mark.parametrize("value", ["own", "All", ""])
def test_there_is_no_other_choice_of_revisions(value: str) -> None:
    raw = pod("new").annotated(REVISIONS_ANNOTATION, value)
    assert model_pod(raw).spec.broken_rules == (
        f"metadata.annotations[{REVISIONS_ANNOTATION}]",
        "not a choice; there is Own alone",
    )


def test_a_limit_in_a_spec_means_nothing() -> None:
    raw = pod("new").anti_affinity(term(ZONE, WEB, maxMatchingPods=2))
    (found,) = model_pod(raw).pod_class.affinity.required_anti
    assert found == meant(ZONE, "web")


def test_node_affinity_is_added_as_one_more_requirement() -> None:
    rules = {
        "nodeAffinity": {
            REQUIRED: {"nodeSelectorTerms": [ARM]},
            DURING: {"nodeSelectorTerms": [node_term(requirement("zone", "Exists"))]},
            PREFERRED: [{"weight": 3, "preference": SSD}],
        }
    }
    found = model_pod(annotated(OWN.requires_nodes(SSD), rules)).node_selection
    assert found is not None
    assert len([*found.required_rules]) == 3
    assert isinstance(found.during_execution, NodeRule)
    assert found.during_execution.judge("n", {"zone": "z"})
    assert [rule.judge("n", {"disk": "ssd"}) for rule in found.preferred_rules] == [3]


def test_node_affinity_of_an_annotation_is_read_where_that_of_specs_is_not() -> None:
    reader = PodReader(rules=RULES)
    rules = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [ARM]}}}
    raw = annotated(OWN.requires_nodes(SSD).selects(pool="a"), rules)
    found = reader.read(json.dumps(raw).encode()).node_selection
    assert found is not None
    assert found.required is None
    assert len([*found.required_rules]) == 1


def test_label_keys_are_merged_by_the_labels_of_the_pod() -> None:
    rules = {"podAntiAffinity": {REQUIRED: [term(ZONE, WEB, matchLabelKeys=["version", "none"])]}}
    stored = OWN.stored_at("9")
    read = model_pod(annotated(stored, rules)).pod_class
    (found,) = read.affinity.required_anti
    assert Requirement("version", Operator.IN, frozenset("7")) in found.pods.selector.requirements
    edited = model_pod(annotated(stored.labels(version="8"), rules)).pod_class
    after = read.relabelled(edited)
    assert after.affinity == read.affinity
    assert (after.namespace, after.labels["version"]) == ("default", "8")


def test_an_edited_annotation_brings_new_rules() -> None:
    rule = {"podAntiAffinity": {REQUIRED: [term(ZONE, WEB)]}}
    lasting = {"podAntiAffinity": {DURING: [term(ZONE, WEB)]}}
    before = model_pod(annotated(OWN, rule)).pod_class
    after = before.relabelled(model_pod(annotated(OWN, lasting)).pod_class)
    assert after.affinity == before.affinity
    assert after.during_execution.required_anti
    assert not before.during_execution.required_anti


def test_pods_with_the_same_annotation_share_what_is_read() -> None:
    rules = nodes(ARM) | anti(term(ZONE, WEB))
    reader = PodReader(node_selection=True, rules=RULES)
    one, other = (
        reader.read(json.dumps(annotated(OWN.uid(uid), rules)).encode()) for uid in ("1", "2")
    )
    assert one.pod_class is other.pod_class
    assert one.node_selection is other.node_selection


def meant(key: str, app: str) -> Term:
    chosen = Selector.of([Requirement("app", Operator.IN, frozenset((app,)))])
    return Term(PodSelector(chosen, frozenset(("default",))), key)


def anti(*terms: Any, **fields: Any) -> dict[str, Any]:
    return {"podAntiAffinity": {REQUIRED: [*terms]} | fields}


def nodes(*terms: Any) -> dict[str, Any]:
    return {"nodeAffinity": {DURING: {"nodeSelectorTerms": [*terms]}}}


def soft(weight: Any) -> dict[str, Any]:
    return {"podAffinity": {PREFERRED: [{"weight": weight, "podAffinityTerm": term(ZONE, WEB)}]}}


FIRST = f"{AT}.podAntiAffinity.{REQUIRED}[0]"
NODE = f"{AT}.nodeAffinity.{DURING}.nodeSelectorTerms"


@pytest.mark.parametrize(
    ("value", "path", "what"),
    [
        pytest.param("", AT, "not valid JSON", id="nothing"),
        pytest.param("{", AT, "not valid JSON", id="half an object"),
        pytest.param("[]", AT, "Expected `object`", id="a list"),
        pytest.param("null", AT, "Expected `object`", id="null"),
        pytest.param('{"podAffinity":{},"podAffinity":{}}', AT, "twice", id="a field twice"),
        pytest.param({"podAntiaffinity": {}}, AT, "unknown field", id="a misspelt side"),
        pytest.param(anti(x=[]), f"{AT}.podAntiAffinity", "unknown field", id="no strength"),
        pytest.param(anti(term(ZONE, WEB, topologykey="x")), FIRST, "unknown", id="of a term"),
        pytest.param(anti({"labelSelector": WEB}), FIRST, "topologyKey", id="no topology key"),
        pytest.param(anti(term("", WEB)), f"{FIRST}.topologyKey", "not a label key", id="no key"),
        pytest.param(anti(term("a b", WEB)), f"{FIRST}.topologyKey", "'a b'", id="no label key"),
        pytest.param(
            anti(term(ZONE, {"matchLabels": {"app": 1}})),
            f"{FIRST}.labelSelector.matchLabels[...]", "Expected `str`", id="a number for a label",
        ),
        pytest.param(
            anti(term(ZONE, {"matchLabels": {"app": "?"}})),
            f"{FIRST}.labelSelector.matchLabels", "not a label value", id="no label value",
        ),
        pytest.param(
            anti(term(ZONE, selector(requirement("app", "in", "web")))),
            f"{FIRST}.labelSelector.matchExpressions[0].operator", "Invalid enum", id="in",
        ),
        pytest.param(
            anti(term(ZONE, selector(requirement("app", "Gt", "1")))),
            f"{FIRST}.labelSelector.matchExpressions[0].operator", "Invalid enum", id="Gt of a pod",
        ),
        pytest.param(
            anti(term(ZONE, selector(requirement("app", "In")))),
            f"{FIRST}.labelSelector.matchExpressions[0].values", "at least one", id="In nothing",
        ),
        pytest.param(
            anti(term(ZONE, WEB, namespaceSelector=selector(requirement("t", "Exists", "v")))),
            f"{FIRST}.namespaceSelector.matchExpressions[0].values", "no values", id="Exists v",
        ),
        pytest.param(
            anti(term(ZONE, WEB, namespaces=["A"])), f"{FIRST}.namespaces[0]", "'A'", id="namespace"
        ),
        pytest.param(
            anti({"topologyKey": ZONE, "matchLabelKeys": ["app"]}),
            f"{FIRST}.matchLabelKeys", "labelSelector is not set", id="keys without a selector",
        ),
        pytest.param(
            anti(term(ZONE, WEB, matchLabelKeys=["app"])),
            f"{FIRST}.matchLabelKeys[0]", "labelSelector as well", id="a key that is selected",
        ),
        pytest.param(
            anti(term(ZONE, WEB, matchLabelKeys=["v"], mismatchLabelKeys=["v"])),
            f"{FIRST}.matchLabelKeys[0]", "mismatchLabelKeys", id="a key on both sides",
        ),
        pytest.param(
            anti(term(ZONE, WEB, maxMatchingPods=-1)), f"{FIRST}.maxMatchingPods", ">= 0",
            id="a limit below 0",
        ),
        pytest.param(
            anti(term(ZONE, WEB, maxMatchingPods="2")), f"{FIRST}.maxMatchingPods",
            "not a number", id="a limit that is no number",
        ),
        pytest.param(
            anti(term(ZONE, selector(), maxMatchingPods=2, namespaceSelector={})),
            f"{FIRST}.maxMatchingPods", "matchLabels", id="a limit about everybody",
        ),
        pytest.param(
            anti(term(ZONE, WEB, maxMatchingPods="20%")), f"{FIRST}.maxMatchingPods",
            "percentages are no longer read. Write how many pods may match",
            id="a percentage",
        ),
        pytest.param(
            anti(**{PREFERRED: [
                {"weight": 1, "podAffinityTerm": term(ZONE, WEB, maxMatchingPods=2)}
            ]}),
            f"{AT}.podAntiAffinity.{PREFERRED}[0].podAffinityTerm.maxMatchingPods",
            f"no longer read on preferred terms: move the term to {REQUIRED}",
            id="a limit on a preferred term",
        ),
        pytest.param(
            {"podAffinity": {REQUIRED: [term(ZONE, WEB, maxMatchingPods=2)]}},
            f"{AT}.podAffinity.{REQUIRED}[0].maxMatchingPods", "only podAntiAffinity",
            id="a limit of affinity",
        ),
        pytest.param(
            anti(*[term(ZONE, WEB, maxMatchingPods=2)] * (MOST.limits + 1)),
            f"{AT}.podAntiAffinity", f"more than {MOST.limits}", id="too many limits",
        ),
        pytest.param(soft(0), f"{AT}.podAffinity.{PREFERRED}[0].weight", "1-100", id="weight 0"),
        pytest.param(soft(101), f"{AT}.podAffinity.{PREFERRED}[0].weight", "1-100", id="101"),
        pytest.param(soft("1"), f"{AT}.podAffinity.{PREFERRED}[0].weight", "`int`", id="a string"),
        pytest.param(nodes(), NODE, "at least one term", id="no term about nodes"),
        pytest.param(
            nodes(node_term(requirement("cpus", "Gt", "x"))), f"{NODE}[0].matchExpressions[0]",
            "one integer", id="Gt x",
        ),
        pytest.param(
            nodes({"matchFields": [requirement("metadata.uid", "In", "x")]}),
            f"{NODE}[0].matchFields[0].key", "metadata.name", id="another field",
        ),
        pytest.param(
            nodes({"matchFields": [requirement("metadata.name", "In", "a", "b")]}),
            f"{NODE}[0].matchFields[0]", "one value", id="two names",
        ),
        pytest.param(
            {"nodeAffinity": {PREFERRED: [{"weight": -1, "preference": SSD}]}},
            f"{AT}.nodeAffinity.{PREFERRED}[0].weight", "1-100", id="a weight below 0",
        ),
        pytest.param(
            {"podAffinity": {PREFERRED: [], "x": "y" * MOST.size}}, AT, "bytes", id="too long"
        ),
        pytest.param(
            anti(term(ZONE, selector(requirement("a", "In", *map(str, range(MOST.entries)))))),
            AT, "more than", id="too much in it",
        ),
        pytest.param(
            nodes(node_term(*[requirement("a", "Exists")] * (MOST.conditions + 1))),
            AT, "conditions on nodes", id="too many conditions on nodes",
        ),
        pytest.param(
            '{"podAffinity":' * 10_000, f"{AT}.podAffinity", "unknown", id="objects without an end"
        ),
        pytest.param(
            '{"nodeAffinity":' + "[" * 100_000, AT + ".nodeAffinity", "Expected `object | null`",
            id="lists without an end",
        ),
    ],
)  # fmt: skip
def test_what_is_broken_is_named(value: Any, path: str, what: str) -> None:
    text = value if isinstance(value, str) else json.dumps(value)
    raw = OWN.annotated(AFFINITY_ANNOTATION, text)
    read = model_pod(raw)
    assert read.spec.broken_rules is not None
    assert read.spec.broken_rules[0] == path
    assert what in read.spec.broken_rules[1]
    assert read.pod_class == model_pod(OWN).pod_class


@pytest.mark.parametrize("side", ["podAffinity", "podAntiAffinity"])
@pytest.mark.parametrize("strength", [REQUIRED, DURING, PREFERRED])
def test_terms_are_checked_and_counted_on_each_side_in_each_strength(
    side: str, strength: str
) -> None:
    weighs = strength == PREFERRED

    def broken(*terms: Any) -> tuple[str, str]:
        weighted = [{"weight": 1, "podAffinityTerm": each} for each in terms]
        read = model_pod(annotated(OWN, {side: {strength: weighted if weighs else [*terms]}}))
        assert read.spec.broken_rules is not None
        return read.spec.broken_rules

    path, what = broken(term("a b", WEB))
    below = ".podAffinityTerm" if weighs else ""
    assert (path, "'a b'" in what) == (f"{AT}.{side}.{strength}[0]{below}.topologyKey", True)
    path, what = broken(*[term(ZONE, WEB)] * (OF_RULES.terms + 1))
    assert path == AT
    assert what == f"{OF_RULES.terms + 1} terms are more than {OF_RULES.terms}"


@pytest.mark.parametrize("value", ["Replace", "Add", ""])
def test_a_policy_is_refused_in_words_that_say_what_to_write(value: str) -> None:
    read = model_pod(Pod(annotated(OWN, {})).annotated(POLICY_ANNOTATION, value))
    assert read.spec.broken_rules == (POLICY_AT, POLICY_REMOVED)
    # A placed pod counts with the rules of its spec.
    assert read.pod_class == model_pod(OWN).pod_class


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param({"podAntiAffinity": {"x" * 200_000: 1}}, id="an unknown field"),
        pytest.param({"podAntiAffinity": {REQUIRED: [term("a b" * 60_000, WEB)]}}, id="a value"),
        pytest.param(
            {"podAntiAffinity": {REQUIRED: [term(ZONE, selector(**{"k" * 200_000: "a b"}))]}},
            id="a key",
        ),
    ],
)
def test_what_is_said_of_a_broken_one_is_bounded(rules: Any) -> None:
    broken = model_pod(annotated(OWN, rules)).spec.broken_rules
    assert broken is not None
    assert [len(each) < 600 for each in broken] == [True, True]


def test_where_none_counts_they_are_not_read() -> None:
    rules = {"podAntiAffinity": {REQUIRED: [term(ZONE, WEB)]}}
    reader = PodReader()
    for reads in (reader, reader.another()):
        broken: dict[str, Any] = {"podAntiAffinity": []}
        for value in (rules, broken):
            read = reads.read(json.dumps(annotated(OWN, value)).encode())
            assert read == reads.read(json.dumps(OWN).encode())


ALONE = anti(term(ZONE, WEB))
BARE = pod("p").labels({"app": "web", "pod-template-hash": "5d"}).affinity(term(ZONE, DB))
SAME = BARE.owned_by("ReplicaSet/web-5d")
LIKE = {
    "no annotation": SAME,
    "rules": Pod(annotated(SAME, ALONE)),
    "the same rules, and own revisions": Pod(annotated(SAME, ALONE)).annotated(
        REVISIONS_ANNOTATION, "Own"
    ),
    "own revisions alone": SAME.annotated(REVISIONS_ANNOTATION, "Own"),
    "the same rules, and a removed policy": Pod(annotated(SAME, ALONE)).annotated(
        POLICY_ANNOTATION, "Replace"
    ),
    "the same rules, and an exclusive domain": Pod(annotated(SAME, ALONE)).annotated(
        EXCLUSIVE_ANNOTATION, "app by rack"
    ),
    "the same rules, and some about nodes": Pod(annotated(SAME, ALONE | nodes(ARM))),
    "the same rules, and a limit": Pod(
        annotated(SAME, anti(term(ZONE, WEB), term(ZONE, WEB, maxMatchingPods=1)))
    ),
    "the same rules during execution": Pod(annotated(SAME, anti(**{DURING: [term(ZONE, WEB)]}))),
    "the same rules, and nodes in the spec": Pod(annotated(SAME.requires_nodes(SSD), ALONE)),
    "the same rules, and a node selector": Pod(annotated(SAME.selects(pool="a"), ALONE)),
    "the same rules, stored": Pod(annotated(SAME, ALONE)).stored_at("1"),
    "the same rules of another owner": Pod(annotated(BARE.owned_by("ReplicaSet/db-5d"), ALONE)),
    "the same rules in another namespace": Pod(
        annotated({**SAME, "metadata": {**SAME["metadata"], "namespace": "other"}}, ALONE)
    ),
}


@pytest.mark.parametrize("first", LIKE)
def test_what_a_pod_is_read_as_does_not_hang_on_what_was_read_before(first: str) -> None:
    def told(reader: PodReader, raw: Pod) -> object:
        read = reader.read(json.dumps(raw).encode())
        return read, read.pod_class, dict(read.pod_class.labels), read.pod_class.digest

    seen: list[object] = []
    for raw in LIKE.values():
        reader = PodReader(node_selection=True, owners=True, facets=every_facet(), rules=RULES)
        told(reader, LIKE[first])
        alone = told(
            PodReader(node_selection=True, owners=True, facets=every_facet(), rules=RULES), raw
        )
        assert told(reader, raw) == alone
        seen.append(alone)
    # All differ, so each pair could be taken for one another.
    assert not any(one == other for at, one in enumerate(seen) for other in seen[:at])
