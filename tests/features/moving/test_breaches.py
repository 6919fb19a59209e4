"""Rules that running pods break are found from events, whatever these were."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest
from hypothesis.stateful import invariant

from extender.core.cluster.state import ClusterState
from extender.core.model.labels import EVERYTHING, Operator, Requirement, Selector
from extender.core.model.objects import Pod as ModelPod
from extender.features.moving.rules import rule_watch
from extender.features.moving.rules.breaches import (
    breaches,
    excludes,
    in_force,
    in_the_way,
    suspects,
)
from extender.features.moving.rules.execution import (
    Execution,
    ExecutionRule,
    RuleKind,
    execution_rules,
)
from extender.features.moving.rules.rule_watch import RuleWatch
from tests.beside import COVERS_ALL
from tests.builders import (
    Json,
    Pod,
    model_namespace,
    model_node,
    model_pod,
    namespace,
    node,
    node_term,
    pod,
    requirement,
    selector,
    term,
)
from tests.calls import calls_during
from tests.cluster.test_events_equal_recount import FURTHER, EventStream
from tests.features.moving.booked import books_over

HOST, ZONE = "kubernetes.io/hostname", "zone"
WEB, DB = selector(app="web"), selector(app="db")
EVERYWHERE = Execution(plain=EVERYTHING)

REQUIRED_DURING_EXECUTION = "requiredDuringSchedulingRequiredDuringExecution"

NEAR_DB = pod("api").affinity(term(ZONE, DB))
SOLO = pod("solo").labels(app="web").anti_affinity(term(ZONE, WEB))
GUARD = pod("guard").anti_affinity(term(ZONE, WEB))
DATABASE = pod("db").labels(app="db")
ON_SSD = pod("disk").requires_nodes(node_term(requirement("disk", "In", "ssd")))


class Cluster:
    """A state with events, and what is known to be broken by judging only those that they name."""

    def __init__(self, execution: Execution = EVERYWHERE) -> None:
        self.execution = execution
        self.state = ClusterState(scope=COVERS_ALL)
        self.watch = books_over(self.state, execution).watch
        for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b")):
            self.label(name, zone=zone)
        self.broken: dict[str, list[str]] = {}
        self.judged = 0

    def label(self, name: str, **labels: str) -> None:
        """Add a node or give it other labels."""
        self.state.upsert_node(model_node(node(name, {HOST: name} | labels)))

    def place(self, raw: Pod, on: str, name: str = "") -> None:
        """Place a pod, under another name if one is given."""
        metadata = raw["metadata"]
        made = Pod({**raw, "metadata": {**metadata, "name": name, "uid": f"default-{name}"}})
        self.state.upsert_pod(model_pod((made if name else raw).on(on)))

    def remove(self, name: str) -> None:
        self.state.remove_pod(f"default/{name}", f"default-{name}")

    def settle(self) -> dict[str, list[str]]:
        """Judge whom events have named; return what is broken, by pod."""
        self.judged = take(self.watch, self.execution, self.broken)
        return self.broken


def take(watch: RuleWatch, execution: Execution, broken: dict[str, list[str]]) -> int:
    """Judge the pods that events have named; return how many these were."""
    judged = list(suspects(watch, 100_000))
    for key, uid in judged:
        found = watch.state.pod(key, uid)
        told = [] if found is None else in_force(watch, execution, found)
        broken.pop(uid, None)
        if told:
            broken[uid] = sorted(_shown(each.rule, each.domain) for each in told)
    return len(judged)


def _shown(rule: ExecutionRule, domain: str | None) -> str:
    key = "" if rule.term is None else rule.term.topology_key
    return f"{rule.kind.value} {key}={domain} {rule.term!r}"


def kinds(found: dict[str, list[str]]) -> dict[str, str]:
    """Return the kind of what each pod breaks."""
    return {uid.removeprefix("default-"): told[0].split()[0] for uid, told in found.items()}


def test_a_node_that_loses_its_label_breaks_the_node_affinity_of_its_pods() -> None:
    cluster = Cluster()
    cluster.label("a1", zone="a", disk="ssd")
    cluster.place(ON_SSD, "a1")
    assert cluster.settle() == {}
    cluster.label("a1", zone="a")
    assert kinds(cluster.settle()) == {"disk": "nodeAffinity"}
    cluster.label("a1", zone="a", disk="ssd")
    assert cluster.settle() == {}


def unlike(number: int, terms: int = 200) -> list[Json]:
    """Build terms that no other pod has, which are about nearly everybody."""
    found = [requirement("app", "NotIn", f"x{number}-{each}") for each in range(terms)]
    return [term(ZONE, {"matchExpressions": [each]}, namespaceSelector={}) for each in found]


def calls_of_the_watch(event: Callable[[], object]) -> int:
    """Return how many Python functions are called from the module that watches rules."""

    def is_of_the_watch(frame: FrameType) -> bool:
        caller = frame.f_back
        return caller is not None and caller.f_code.co_filename == rule_watch.__file__

    return calls_during(event, of=is_of_the_watch)[1]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "event",
    [
        pytest.param(lambda on: on.place(DATABASE, "a1"), id="a pod comes"),
        pytest.param(lambda on: on.remove("plain"), id="a pod goes"),
        pytest.param(lambda on: on.label("a1", zone="c"), id="a node is relabelled"),
        pytest.param(
            lambda on: on.state.upsert_namespace(model_namespace(namespace("x", {"new": "y"}))),
            id="a namespace is relabelled",
        ),
    ],
)
def test_an_event_is_compared_with_the_rules_of_many_pods_later_in_steps(
    event: Callable[[Cluster], None],
) -> None:
    cluster = Cluster()
    cluster.place(pod("plain"), "a2")
    for number in range(20):
        cluster.place(pod("ruled").anti_affinity(*unlike(number)), "a1", f"ruled-{number}")
    cluster.settle()
    assert calls_of_the_watch(lambda: event(cluster)) < 20 * 10, "not every rule"
    steps = 0
    while cluster.watch.pending:
        steps += 1
        assert calls_of_the_watch(lambda: list(suspects(cluster.watch, 10))) < 4000
    assert steps > 1


def test_terms_that_are_one_set_are_compared_with_a_namespace_once() -> None:
    cluster = Cluster()
    cluster.place(pod("ruled").affinity(*unlike(0, 300)), "a1")
    cluster.settle()
    cluster.state.upsert_namespace(model_namespace(namespace("x", {"new": "y"})))

    def look() -> None:
        while cluster.watch.pending:
            list(suspects(cluster.watch, 10))

    assert calls_during(look)[1] < 300 * 20, "not each of them with each"


def test_with_too_many_events_at_a_time_all_rules_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rule_watch, "MOST_NOTED", 3)
    cluster = Cluster()
    cluster.place(GUARD, "a1")
    cluster.place(NEAR_DB, "b1")
    cluster.place(DATABASE, "b1")
    assert cluster.settle() == {}
    cluster.place(pod("web").labels(app="web"), "b1")
    for number in range(10):
        cluster.place(DATABASE, "a2", f"db-{number}")
    cluster.remove("db")
    # Its pod is filed under another zone as well, where the other one is.
    cluster.label("a1", zone="b")
    assert kinds(cluster.settle()) == {"guard": "podAntiAffinity", "api": "podAffinity"}


@pytest.mark.thorough
def test_pods_with_long_rules_are_judged_a_few_at_a_time() -> None:
    cluster = Cluster()
    below = [requirement("number", "Lt", f"{number}") for number in range(3200)]
    for number in range(20):
        ruled = pod("ruled").requires_nodes(node_term(*below))
        cluster.place(ruled, "a1", f"ruled-{number}")
    assert 1 <= len(list(suspects(cluster.watch, 200))) <= 4


def test_the_last_partner_that_goes_breaks_affinity() -> None:
    cluster = Cluster()
    cluster.place(DATABASE, "a1", "db-1")
    cluster.place(DATABASE, "a2", "db-2")
    cluster.place(NEAR_DB, "a2")
    assert cluster.settle() == {}
    cluster.remove("db-1")
    assert cluster.settle() == {}
    cluster.remove("db-2")
    assert kinds(cluster.settle()) == {"api": "podAffinity"}
    cluster.place(DATABASE, "a1", "db-3")
    assert cluster.settle() == {}


def test_a_node_that_leaves_the_domain_takes_company_along_and_brings_trouble() -> None:
    cluster = Cluster()
    cluster.place(DATABASE, "a1")
    cluster.place(NEAR_DB, "a2")
    cluster.place(GUARD, "b1")
    cluster.place(pod("web").labels(app="web"), "a1")
    assert cluster.settle() == {}
    cluster.label("a1", zone="b")
    assert kinds(cluster.settle()) == {"api": "podAffinity", "guard": "podAntiAffinity"}


def test_a_pod_that_is_relabelled_comes_under_the_rules_of_others() -> None:
    cluster = Cluster()
    cluster.place(GUARD, "a1")
    cluster.place(pod("other"), "a2")
    assert cluster.settle() == {}
    cluster.place(pod("other").labels(app="web"), "a2")
    assert kinds(cluster.settle()) == {"guard": "podAntiAffinity"}


def test_one_that_matches_its_own_rule_breaks_it_only_in_company() -> None:
    cluster = Cluster()
    cluster.place(SOLO, "a1", "one")
    assert cluster.settle() == {}
    cluster.place(SOLO, "a2", "two")
    assert kinds(cluster.settle()) == {"one": "podAntiAffinity", "two": "podAntiAffinity"}
    cluster.remove("one")
    assert cluster.settle() == {}


def test_a_namespace_that_is_relabelled_is_spoken_of_from_then_on() -> None:
    cluster = Cluster()
    cluster.place(
        pod("guard").anti_affinity(term(ZONE, WEB, namespaceSelector=selector(team="red"))), "a1"
    )
    cluster.state.upsert_namespace(model_namespace(namespace("other")))
    cluster.state.upsert_pod(model_pod(pod("web", "other").labels(app="web").on("a2")))
    assert cluster.settle() == {}
    cluster.state.upsert_namespace(model_namespace(namespace("other", {"team": "red"})))
    assert kinds(cluster.settle()) == {"guard": "podAntiAffinity"}


def test_ordinary_rules_count_in_the_chosen_namespaces_alone() -> None:
    chosen = Selector.of([Requirement("evict", Operator.EXISTS)])
    cluster = Cluster(Execution(plain=chosen))
    cluster.place(NEAR_DB, "a1")
    assert cluster.settle() == {}
    cluster.state.upsert_namespace(model_namespace(namespace("default", {"evict": "yes"})))
    assert kinds(cluster.settle()) == {"api": "podAffinity"}
    cluster.state.upsert_namespace(model_namespace(namespace("default")))
    assert cluster.settle() == {}


def test_without_a_selector_ordinary_rules_are_not_even_watched() -> None:
    cluster = Cluster(Execution())
    cluster.place(NEAR_DB, "a1")
    assert len(cluster.watch) == 0
    assert not cluster.watch.pending


def test_rules_by_annotation_count_everywhere_if_they_are_for_execution_too() -> None:
    cluster = Cluster(Execution())
    cluster.label("a1", zone="a", disk="ssd")
    ssd = {"nodeSelectorTerms": [node_term(requirement("disk", "In", "ssd"))]}
    for strength in (REQUIRED_DURING_EXECUTION, "requiredDuringSchedulingIgnoredDuringExecution"):
        rules = {
            "nodeAffinity": {strength: ssd},
            "podAffinity": {strength: [term(ZONE, DB)]},
            "podAntiAffinity": {strength: [term(ZONE, WEB)]},
        }
        made = pod("ruled").annotated("affinity-extender.io/affinity", json.dumps(rules))
        cluster.place(made, "a1", f"ruled-{strength}")
    cluster.place(DATABASE, "a2", "db-1")
    assert cluster.settle() == {}
    cluster.label("a1", zone="a")
    cluster.remove("db-1")
    cluster.place(pod("web").labels(app="web"), "a2")
    assert {
        name: [each.split()[0] for each in told] for name, told in cluster.settle().items()
    } == {
        f"default-ruled-{REQUIRED_DURING_EXECUTION}": [
            "nodeAffinity",
            "podAffinity",
            "podAntiAffinity",
        ]
    }


def test_a_node_that_is_gone_breaks_nothing() -> None:
    cluster = Cluster()
    cluster.place(NEAR_DB, "a1")
    assert cluster.settle()
    cluster.state.remove_node("a1")
    assert cluster.settle() == {}
    cluster.label("a1", zone="a")
    assert cluster.settle()


def test_who_is_in_the_way_is_named_and_whose_rule_it_is_as_well() -> None:
    cluster = Cluster()
    cluster.place(GUARD, "a1")
    cluster.place(SOLO, "a2", "one")
    cluster.place(SOLO, "b1", "two")
    state = cluster.state
    guard, one = state.pods["default/guard"], state.pods["default/one"]
    (breach,) = breaches(cluster.watch, guard)
    assert [each.key for each in in_the_way(cluster.watch, guard, breach)] == ["default/one"]
    assert excludes(cluster.watch, EVERYWHERE, guard, one, ZONE)
    assert not excludes(cluster.watch, EVERYWHERE, one, guard, ZONE)
    assert excludes(cluster.watch, EVERYWHERE, one, state.pods["default/two"], ZONE)


@pytest.mark.thorough
@pytest.mark.parametrize("others", [10, 1000])
def test_an_event_names_those_that_it_concerns_however_many_others_there_are(others: int) -> None:
    cluster = Cluster()
    for number in range(others):
        cluster.label(f"n{number}", zone=f"z{number}", disk="ssd")
        cluster.place(ON_SSD, f"n{number}", f"disk-{number}")
        cluster.place(DATABASE, f"n{number}", f"db-{number}")
        cluster.place(NEAR_DB, f"n{number}", f"api-{number}")
    cluster.settle()
    cluster.label("n0", zone="z0", disk="hdd")
    assert kinds(cluster.settle()) == {"disk-0": "nodeAffinity"}
    assert cluster.judged == 2
    cluster.remove("db-1")
    assert kinds(cluster.settle()) == {"disk-0": "nodeAffinity", "api-1": "podAffinity"}
    assert cluster.judged == 1


def exclusive(number: int) -> Pod:
    """Build the leader of a job that has its zone to itself."""
    own = f"j{number}"
    others = [requirement("job", "Exists"), requirement("job", "NotIn", own)]
    return pod("leader").labels(job=own).anti_affinity(term(ZONE, {"matchExpressions": others}))


def test_a_pod_costs_the_rules_of_its_domain_where_all_others_rules_are_about_it() -> None:
    def cost(jobs: int) -> int:
        cluster = Cluster()
        for number in range(jobs):
            cluster.label(f"n{number}", zone=f"z{number}")
            cluster.place(exclusive(number), f"n{number}", f"leader-{number}")
        cluster.settle()
        cluster.place(exclusive(2), "n1", "late")
        broken, calls = calls_during(cluster.settle)
        assert kinds(broken) == {"leader-1": "podAntiAffinity", "late": "podAntiAffinity"}
        return calls

    assert cost(200) <= cost(20) + 10


CHOSEN = Execution(plain=Selector.of([Requirement("team", Operator.EXISTS)]))


class RunningStream(EventStream):
    """What is known by judging only whom events have named, against judging everybody."""

    def __init__(self) -> None:
        super().__init__()
        self.begun()

    def begun(self) -> None:
        """Watch a state from its first event on."""
        self.broken: dict[str, list[str]] = {}
        self.watch = books_over(self.state, CHOSEN).watch

    @invariant()
    def nothing_is_missed(self) -> None:
        """Judge the pods that events have named, and compare with all pods."""
        take(self.watch, CHOSEN, self.broken)
        if self.most_sets == 100:
            assert self.broken == dict(_by_the_letter(self.state))


def _by_the_letter(state: ClusterState) -> Iterator[tuple[str, list[str]]]:
    """Compare every pod with every other."""
    placed = [each for each in state.pods.values() if each.node and each.node in state.nodes]
    for each in placed:
        labels = state.namespace_labels(each.pod_class.namespace)
        rules = [rule for rule in execution_rules(each) if CHOSEN.has(rule, labels)]
        found = sorted(
            _shown(rule, _domain(state, each, rule))
            for rule in rules
            if _is_broken(state, placed, each, rule)
        )
        if found:
            yield each.uid, found


def _domain(state: ClusterState, each: ModelPod, rule: ExecutionRule) -> str | None:
    key = None if rule.term is None else rule.term.topology_key
    return None if key is None else state.nodes.labels(str(each.node)).get(key)


def _is_broken(
    state: ClusterState, placed: list[ModelPod], each: ModelPod, rule: ExecutionRule
) -> bool:
    if rule.node_rule is not None:
        return not rule.node_rule.judge(str(each.node), state.nodes.labels(str(each.node)))
    domain = _domain(state, each, rule)
    there = [
        other
        for other in placed
        if domain is not None
        and _domain(state, other, rule) == domain
        and all(_matches(state, pods, other) for pods in rule.counted)
    ]
    if rule.kind is RuleKind.AFFINITY:
        return not there
    return any(other.uid != each.uid for other in there)


def _matches(state: ClusterState, pods: Any, other: ModelPod) -> bool:
    labels = state.namespace_labels(other.pod_class.namespace)
    return bool(pods.matches(other.pod_class.namespace, labels, other.pod_class.labels))


TestRunningStream = pytest.mark.thorough(RunningStream.TestCase)
TestRunningStream.settings = FURTHER
