"""Objects are read as the API has them, and broken ones are named."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from typing import Any

import pytest

from extender.core.errors import ObjectError
from extender.core.model import memory
from extender.core.model.labels import NOTHING, Operator, Requirement, Selector
from extender.core.model.objects import Pod as ModelPod
from extender.core.model.pod_affinity import Affinity, PodSelector, Term, WeightedTerm
from extender.core.wire.objects import NodeReader, PodReader, read_namespace
from extender.core.wire.placement import RULES_AT_PLACEMENT
from tests.beside import AFFINITY_ANNOTATION, RULES
from tests.builders import ZONE, Pod, every_facet, pod, requirement, selector, term

WEB = Selector((Requirement("app", Operator.IN, frozenset(("web",))),))
OWN = frozenset(("default",))


def read(raw: Any) -> Any:
    return PodReader(rules=RULES).read(json.dumps(raw).encode())


def test_a_manifest_without_uid_namespace_and_status_is_a_waiting_pod() -> None:
    found = read({"metadata": {"name": "bare"}})
    assert (found.key, found.uid, found.node) == ("default/bare", "default/bare", None)
    assert not found.status.terminal
    assert found.pod_class.affinity == Affinity()


def test_what_preemption_looks_at() -> None:
    plain = read(pod("plain"))
    assert plain.spec.priority == 0
    assert (plain.status.deleting, plain.status.nominated) == (False, None)
    waiting = read({**pod("w").priority(-7), "status": {"nominatedNodeName": "a"}})
    assert (waiting.spec.priority, waiting.status.nominated) == (-7, "a")
    placed = pod("p").on("b").being_deleted()
    placed["status"]["nominatedNodeName"] = "a"
    found = read(placed).status
    assert (found.deleting, found.nominated) == (True, None), "it has its node: no wish is left"


def _target(status: str = "True", reason: str = "PreemptionByScheduler") -> dict[str, str]:
    return {"type": "DisruptionTarget", "status": status, "reason": reason}


READY = {"type": "Ready", "status": "True"}


@pytest.mark.parametrize(
    ("conditions", "deleting", "expected"),
    [
        pytest.param([READY, _target()], True, True, id="marked and on its way out"),
        pytest.param([_target()], False, False, id="marked, but not being deleted yet"),
        pytest.param([READY], True, False, id="deleted by somebody else"),
        pytest.param(None, True, False, id="no conditions"),
        pytest.param([_target(reason="EvictionByEvictionAPI")], True, False, id="another reason"),
        pytest.param([_target("False")], True, False, id="a mark that was taken back"),
        pytest.param([_target("False"), _target()], True, False, id="the first mark counts"),
    ],
)
def test_who_goes_for_a_more_important_pod(
    conditions: object, deleting: bool, expected: bool
) -> None:
    raw = pod("p").on("b").being_deleted() if deleting else pod("p").on("b")
    assert read({**raw, "status": {"conditions": conditions}}).status.preempted is expected


@pytest.mark.parametrize(
    ("status", "marked"), [("True", True), ("False", False), ("Unknown", False), ("", False)]
)
def test_a_condition_counts_that_is_true(status: str, marked: bool) -> None:
    raw = pod("p").on("b").preempted("uid-1", status).stored_at("1")
    rules = {"type": RULES_AT_PLACEMENT, "status": status, "message": "digest"}
    raw["status"]["conditions"].append(rules)
    found = read(raw).status
    assert (found.victim_of, found.record) == (("uid-1", "digest") if marked else (None, ""))


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        pytest.param(None, None, id="none"),
        pytest.param({}, None, id="a group of a kind to come"),
        pytest.param({"podGroupName": "gang"}, "shop/gang", id="of the pod's namespace"),
    ],
)
def test_the_pod_group(group: Any, expected: str | None) -> None:
    raw = pod("p", "shop")
    raw["spec"]["schedulingGroup"] = group
    assert read(raw).spec.group == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param(term(ZONE), PodSelector(NOTHING, OWN), id="no selector matches nothing"),
        pytest.param(
            term(ZONE, selector()), PodSelector(Selector(), OWN), id="an empty one everything"
        ),
        pytest.param(
            term(ZONE, selector(app="web")), PodSelector(WEB, OWN), id="the owner's namespace"
        ),
        pytest.param(
            term(ZONE, selector(app="web"), namespaces=["b", "a"]),
            PodSelector(WEB, frozenset(("a", "b"))),
            id="named namespaces instead of the owner's",
        ),
        pytest.param(
            term(ZONE, selector(app="web"), namespaceSelector={}),
            PodSelector(WEB, frozenset(), Selector()),
            id="an empty namespace selector without the owner's namespace",
        ),
        pytest.param(
            term(ZONE, selector(app="web"), namespaces=["a"], namespaceSelector={}),
            PodSelector(WEB, frozenset(("a",)), Selector()),
            id="both together",
        ),
        pytest.param(
            term(ZONE, selector(app="web"), namespaces=[], namespaceSelector=None),
            PodSelector(WEB, OWN),
            id="an empty list and a null selector are as if absent",
        ),
    ],
)
def test_which_pods_a_term_speaks_of(written: dict[str, Any], expected: PodSelector) -> None:
    (found,) = read(pod("x").affinity(written)).pod_class.affinity.required
    assert found == Term(expected, ZONE)


def test_preferred_anti_affinity_has_a_negative_weight() -> None:
    raw = pod("x").prefers(3, term(ZONE, selector(app="web"))).avoids(5, term("rack", selector()))
    assert read(raw).pod_class.affinity.preferred == (
        WeightedTerm(Term(PodSelector(WEB, OWN), ZONE), 3),
        WeightedTerm(Term(PodSelector(Selector(), OWN), "rack"), -5),
    )


def test_pods_of_a_workload_share_their_class() -> None:
    reader = PodReader(rules=RULES)
    template = pod("a").labels(app="web").anti_affinity(term(ZONE, selector(app="web")))
    raw = [json.dumps(template.uid(uid)).encode() for uid in ("1", "2")]
    assert reader.read(raw[0]).pod_class is reader.read(raw[1]).pod_class


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(pod("p"), id="plain"),
        pytest.param(pod("p").priority(1_000_000).never_preempts(), id="priority"),
        pytest.param(pod("p").requests(cpu="1", memory="2Gi").host_port(80), id="room"),
        pytest.param(pod("p").in_group("gang").owned_by("ReplicaSet/web"), id="its makers"),
        pytest.param(pod("p").anti_affinity(term(ZONE, namespaces=["a"])), id="charged"),
        pytest.param(pod("p").annotated(AFFINITY_ANNOTATION, "{}"), id="an empty annotation"),
        pytest.param(pod("p").annotated(AFFINITY_ANNOTATION, "{"), id="a broken annotation"),
    ],
)
def test_pods_of_a_workload_share_what_they_ask_for(made: Pod) -> None:
    reader = PodReader(facets=every_facet(), rules=RULES, owners=True, requirements=True)
    raw = [json.dumps(Pod(made).uid(uid).on(uid)).encode() for uid in ("1", "2")]
    one, other = map(reader.read, raw)
    assert one.spec is other.spec
    assert one.status is other.status
    assert one == reader.another().read(raw[0]), "another one shares nothing"
    more = reader.read(json.dumps(Pod(made).priority(7).being_deleted()).encode())
    assert more.spec.priority == 7
    assert more.status.deleting


def test_what_no_pod_asks_for_any_more_is_forgotten() -> None:
    reader = PodReader(rules=RULES)
    kept = [
        reader.read(json.dumps(pod("p").on("n").priority(number)).encode())
        for number in range(1, 101)
    ]
    assert len({id(each.spec) for each in kept}) == len(reader._specs) == 100
    del kept[1:]
    assert [*reader._specs.values()] == [kept[0].spec]


def test_pods_that_come_and_go_get_their_own_specs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REQUESTS", "REQUIREMENTS"):
        monkeypatch.setattr(memory, name, 8 * 1024)
    monkeypatch.setattr(memory, "MOST_OWNERS", 10)
    dice = random.Random(1)
    reader = PodReader(owners=True, requirements=True, rules=RULES)
    kept: dict[int, ModelPod] = {}
    for _ in range(2000):
        made = pod("p").priority(dice.randrange(300)).requests(cpu=f"{dice.randrange(99)}m")
        made = made.on("n").host_port(dice.randrange(1, 99)).owned_by(f"Job/{dice.randrange(99)}")
        raw = json.dumps(made).encode()
        found = kept[dice.randrange(20)] = reader.read(raw)
        assert found == PodReader(owners=True, requirements=True, rules=RULES).read(raw)


def test_a_reader_that_forgets_still_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "CLASSES", 8 * 1024)
    reader = PodReader(rules=RULES)
    raw = [json.dumps(pod("x").labels(app=app)).encode() for app in ("a", "b", "a")]
    classes = [reader.read(each).pod_class for each in raw]
    assert classes[0] == classes[2]
    assert classes[0] != classes[1]


PREFERRED = "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution"
ANTI = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        pytest.param({"metadata": {}}, "metadata.name", id="no name"),
        pytest.param({"metadata": {"name": ""}}, "metadata.name", id="an empty name"),
        pytest.param({"metadata": {"name": 7}}, "metadata.name", id="a name that is a number"),
        pytest.param({}, "", id="no metadata"),
        pytest.param([], "", id="no object at all"),
        pytest.param(
            {"metadata": {"name": "x", "labels": {"a": 1}}},
            "metadata.labels[...]",
            id="a label that is a number",
        ),
        pytest.param(
            pod("x").anti_affinity({"labelSelector": {}}),
            ANTI,
            id="a term without a topology key",
        ),
        pytest.param(
            pod("x").anti_affinity(term("", selector())),
            f"{ANTI}.topologyKey",
            id="an empty topology key",
        ),
        pytest.param(
            pod("x").anti_affinity(term(ZONE, selector(requirement("a", "In")))),
            f"{ANTI}.labelSelector.matchExpressions[0].values",
            id="In without values",
        ),
        pytest.param(
            pod("x").anti_affinity(term(ZONE, selector(requirement("a", "Exists", "b")))),
            f"{ANTI}.labelSelector.matchExpressions[0].values",
            id="Exists with values",
        ),
        pytest.param(
            pod("x").prefers(1 << 31, term(ZONE)),
            f"{PREFERRED}[0].weight",
            id="a weight of more than 32 bits",
        ),
        pytest.param(
            pod("x").priority(1 << 31), "spec.priority", id="a priority of more than 32 bits"
        ),
    ],
)
def test_a_broken_pod_is_refused_by_the_path_of_its_field(raw: Any, path: str) -> None:
    with pytest.raises(ObjectError) as caught:
        read(raw)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("when", "started"),
    [
        pytest.param("1970-01-01T00:01:00Z", 60, id="a usual one"),
        pytest.param("0000-01-01T00:00:00Z", None, id="the year 0, which Go reads"),
        pytest.param("10000-01-01T23:58:59Z", None, id="the year 10000, which Go writes"),
        pytest.param("0001-01-01T00:00:00", None, id="a time of no offset"),
    ],
)
def test_a_pod_that_started_when_nobody_can_say_counts(when: str, started: int | None) -> None:
    assert read(pod("x").on("a").started(when)).started == started


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff\xfe", b'{"metadata":{"name":"\xc3\x28"}}'])
def test_bytes_that_are_not_json_are_refused(raw: bytes) -> None:
    with pytest.raises(ObjectError, match="not valid JSON"):
        PodReader(rules=RULES).read(raw)


@pytest.mark.parametrize("value", [b'{"\xff": 1}', b"[" * 5_000 + b"]" * 5_000])
@pytest.mark.parametrize("field", ["requests", "x"])
def test_what_is_decoded_later_is_refused_like_the_rest(field: str, value: bytes) -> None:
    made = pod("x").requests(cpu="1")
    made["spec"]["containers"][0]["resources"] = {field: "MARK"}
    raw = json.dumps(made).encode().replace(b'"MARK"', value)
    with suppress(ObjectError):
        assert PodReader().read(raw).key == "default/x"


def test_nodes_and_namespaces_have_names_and_labels() -> None:
    node = NodeReader().read(b'{"metadata":{"name":"n","labels":null,"uid":"u"},"spec":{}}')
    assert (node.name, node.labels) == ("n", {})
    namespace = read_namespace(b'{"metadata":{"name":"s","labels":{"team":"red"}}}')
    assert (namespace.name, namespace.labels) == ("s", {"team": "red"})


@pytest.mark.parametrize("name", ['a"', "a\\", "a\n", "é", ""], ids=repr)
def test_no_node_has_a_name_that_json_would_write_otherwise(name: str) -> None:
    with pytest.raises(ObjectError, match=r"metadata\.name: no node can have"):
        NodeReader().read(json.dumps({"metadata": {"name": name}}).encode())


@pytest.mark.parametrize(
    ("waiting", "node_name", "written", "told"),
    [
        pytest.param(True, None, "1970-01-01T00:01:00Z", (60, True), id="one that waits"),
        pytest.param(True, None, None, (None, True), id="a manifest, which has null"),
        pytest.param(True, None, "soon", (None, True), id="no time"),
        pytest.param(True, None, "0001-01-01T00:00:00Z", (-62135596800, True), id="no time in Go"),
        pytest.param(
            True, None, "0001-01-01T00:00:00+23:59", (None, True), id="before all that can be shown"
        ),
        pytest.param(True, "n1", "1970-01-01T00:01:00Z", (None, False), id="one that has a node"),
        pytest.param(False, None, "1970-01-01T00:01:00Z", (None, False), id="nobody asks"),
    ],
)
def test_who_made_a_pod_and_when_is_read_of_those_that_wait(
    waiting: bool, node_name: str | None, written: str | None, told: tuple[int | None, bool]
) -> None:
    made = pod("p").owned_by("ReplicaSet/web")
    if node_name is not None:
        made = made.on(node_name)
    made["metadata"]["creationTimestamp"] = written
    found = PodReader(waiting=waiting, rules=RULES).read(json.dumps(made).encode())
    assert (found.status.created, found.spec.owner is not None) == told
