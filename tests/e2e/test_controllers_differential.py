"""What controllers do next, as this program says and as Kubernetes' own controllers do it.

What differs stands in docs/simulate.md, and is not drawn.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

from affinityctl.commands.simulate.applied import SimulationReader
from affinityctl.commands.simulate.carrier import cost_givers
from affinityctl.commands.simulate.whatif.deletion_order import Lives
from affinityctl.commands.simulate.whatif.scaling import CostGiver
from affinityctl.commands.simulate.whatif.turns import (
    Member,
    Size,
    next_of_deployment,
    next_of_stateful_set,
)
from affinityctl.reading.deletion_cost import COST_ANNOTATION, DELETION_COST
from affinityctl.reading.strategies import rollout
from affinityctl.reading.workloads import wanted
from extender.core.model.keys import Key
from extender.diagnosis.wire.workloads import read_workload
from simulation.apiserver.store import is_live
from simulation.controlling import first_to_go, is_going, next_of_set, rank
from tests.builders import HOST, ZONE, Pod, node, pod, selector, term
from tests.commands.simulate.whatif.cases import scheduler_of
from tests.conformance.drawing import look_at_each
from tests.e2e.controller_cases import (
    COSTS,
    HEALTH,
    Standing,
    deployments,
    jobs,
    limits_of,
    pod_of_job,
    replicas,
    standing_of,
    stateful_set,
    stateful_sets,
)
from tests.e2e.rolling_worlds import DeploymentWorld, StatefulWorld, turns_of, updates
from tests.e2e.stepping import (
    HASH,
    JSON,
    REVISION,
    api_pod,
    controllers,
    of_kind,
    replica_set,
    revisions_of,
    template,
    workload,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conformance.asking import Ask
    from tests.e2e.controlplane.binaries import Binaries

CASES_PER_QUESTION = 0.15
"""`--questions` is 2,000 in a usual run: 300 cases."""


@pytest.fixture(scope="module")
def ask(built: Callable[[Any], Binaries]) -> Iterator[Ask]:
    """Return what puts a question to the controllers, built on the first run."""
    with controllers(built) as asked:
        yield asked


@pytest.fixture
def examples(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--questions") * CASES_PER_QUESTION)


DEPLOYMENT = workload("Deployment", "web", replicas=3)


def test_a_scale_down_takes_the_pods_that_the_replica_set_controller_takes(
    ask: Ask, start: int, examples: int, say: Callable[[str], None]
) -> None:
    tally = Counter[str]()
    mine, other = (replica_set(DEPLOYMENT, name, 0, (0, 0)) for name in ("web-a", "web-b"))

    def look(case: JSON) -> None:
        pods, beside = case["pods"], case["beside"]
        reader = SimulationReader()
        read = [reader.read(json.dumps(each).encode()) for each in (*pods, *beside)]
        active = [not (each.status.deleting or each.status.terminal) for each in read]
        old = [pod for pod, counts in zip(read[: len(pods)], active, strict=False) if counts]
        around = [pod for pod, counts in zip(read, active, strict=True) if counts][len(old) :]
        left = min(case["left"], len(old))
        mine["spec"]["replicas"] = left
        looked = of_kind(ask, mine, pods=[*pods, *beside], replicasets=[mine, other])
        lives = Lives(reader.lives, time.time())
        gone = [pod.key for pod in lives.by_deletion(old, around)[: len(old) - left]]
        assert sorted(gone) == sorted(f"default/{name}" for name in looked.deleted)
        tally["pods gone"] += len(gone)
        tally["scale-downs that chose"] += bool(gone and left)

    pods = st.integers(2, 8).flatmap(lambda number: replicas(mine, number))
    beside = st.integers(0, 3).flatmap(lambda number: replicas(other, number))
    cases = st.fixed_dictionaries({"pods": pods, "beside": beside, "left": st.integers(0, 5)})
    look_at_each(cases, look, start=start, examples=examples)
    say(f"scale-downs: {dict(tally)}")
    assert tally["scale-downs that chose"] > examples / 6


def test_simulated_replica_sets_take_the_pods_that_real_ones_take(
    ask: Ask, start: int, examples: int
) -> None:
    mine = replica_set(DEPLOYMENT, "web-a", 0, (0, 0))
    found = Counter[bool]()

    def look(case: JSON) -> None:
        active = [
            each
            for each in case["pods"]
            if not is_going(each) and is_live(each) and each["status"]["phase"] != "Unknown"
        ]
        mine["spec"]["replicas"] = min(case["left"], len(active))
        gone = of_kind(ask, mine, pods=active, replicasets=[mine]).deleted
        together = Counter(each["spec"]["nodeName"] for each in active)
        in_order = [rank(each, together) for each in first_to_go(active, Random(1))]
        ranks = {each["metadata"]["name"]: rank(each, together) for each in active}
        assert sorted(ranks[name] for name in gone) == in_order[: len(gone)]
        found[0 < len(gone) < len(active)] += 1

    pods = replicas(mine, 6, costs=st.sampled_from(["-5", "0", "7"]))
    cases = st.fixed_dictionaries({"pods": pods, "left": st.integers(0, 5)})
    look_at_each(cases, look, start=start, examples=examples)
    assert found[True] > examples / 3


ZONES = {"n0": "a", "n1": "a", "n2": "b", "n3": "b", "n4": "c"}


@pytest.mark.parametrize("giver", cost_givers(), ids=lambda each: str(each.field))
def test_with_costs_from_the_extender_a_scale_down_leaves_the_zones_even(
    ask: Ask, giver: CostGiver, start: int, examples: int
) -> None:
    mine = replica_set(DEPLOYMENT, "web-a", 0, (0, 0))
    nodes = [node(name, {ZONE: zone, HOST: name}) for name, zone in ZONES.items()]
    web = pod("w").labels(app="web").owned_by("ReplicaSet/web-a")
    web = web.avoids(100, term(ZONE, selector(app="web")))

    def look(case: JSON) -> None:
        placed = [
            Pod(web | {"metadata": web["metadata"] | {"name": f"web-{number}"}}).on(name)
            for number, name in enumerate(case["on"])
        ]
        scheduler = scheduler_of(nodes, [], placed)
        pods = [*scheduler.state.pods.values()]
        costs = giver.given_costs(scheduler.state, pods)
        assert costs.keys() == {each.key for each in pods}
        api = [api_pod(each, scheduler.lives, mine, **{HASH: "web-a"}) for each in pods]
        for each, made in zip(pods, api, strict=True):
            made["metadata"]["annotations"] = {COST_ANNOTATION: str(costs[each.key])}
        mine["spec"]["replicas"] = case["left"]
        looked = of_kind(ask, mine, pods=api, replicasets=[mine])
        gone = {f"default/{name}" for name in looked.deleted}
        before = Counter(ZONES[str(each.node)] for each in pods)
        after = Counter(ZONES[str(each.node)] for each in pods if each.key not in gone)
        most = max(after.values(), default=0)
        assert all(after[zone] >= min(number, most - 1) for zone, number in before.items())

    places = st.lists(st.sampled_from([*ZONES]), min_size=1, max_size=9)
    cases = st.fixed_dictionaries({"on": places, "left": st.integers(0, 6)})
    look_at_each(cases, look, start=start, examples=examples)


def test_costs_are_read_as_the_controller_reads_them(ask: Ask, start: int, examples: int) -> None:
    def look(case: JSON) -> None:
        theirs = ask({"costs": case["costs"]})["costs"]
        found = []
        for each in case["costs"]:
            raw = {"metadata": {"name": "p", "annotations": {COST_ANNOTATION: each}}, "spec": {}}
            read = SimulationReader().read(json.dumps(raw).encode())
            found.append(read.facet(DELETION_COST) or 0)
        assert found == theirs

    cases = st.fixed_dictionaries({"costs": st.lists(COSTS, min_size=1, max_size=8)})
    look_at_each(cases, look, start=start, examples=examples)


def test_a_stateful_set_goes_on_as_its_controller_does(
    ask: Ask, start: int, examples: int, say: Callable[[str], None]
) -> None:
    before, _ = revisions = revisions_of(ask, "web")
    tally = Counter[str]()

    def look(case: JSON) -> None:
        owner = stateful_set(case, before)
        names = [each["metadata"]["name"] for each in revisions]
        pods = [
            standing_of(each, f"web-{number}", owner, names[not each.outdated], time.time())
            for number, each in case["there"].items()
        ]
        looked = of_kind(ask, owner, pods=pods, controllerrevisions=revisions)
        by = rollout(read_workload("StatefulSet", json.dumps(owner).encode()), 0)
        there = {
            number: Member(each.standing is Standing.AVAILABLE, each.outdated)
            for number, each in case["there"].items()
        }
        gone, created = next_of_stateful_set(by, case["wanted"], there)
        assert {f"web-{each}" for each in gone} == {*looked.deleted}
        assert [f"web-{each}" for each in created] == sorted(_names(looked.created))
        for each in looked.created:
            index = int(each["metadata"]["name"][4:]) - case["start"]
            kept = case["type"] == "RollingUpdate" and index < case["partition"]
            assert each["metadata"]["labels"][REVISION] == names[not kept]
        tally.update(what_came(case["policy"], gone, created))

    look_at_each(stateful_sets(HEALTH), look, start=start, examples=examples)
    say(f"StatefulSets: {dict(tally)}")
    assert len(tally) == 6


def test_simulated_stateful_sets_go_on_as_real_ones(ask: Ask, start: int, examples: int) -> None:
    revisions, tally = revisions_of(ask, "web"), Counter[str]()

    def look(case: JSON) -> None:
        plain = {"type": "RollingUpdate", "partition": 0, "unavailable": None, "start": 0}
        plain |= {"minReadySeconds": 0}
        owner = stateful_set(case | plain, revisions[0])
        names = [each["metadata"]["name"] for each in revisions]
        pods = {
            number: standing_of(each, f"web-{number}", owner, names[not each.outdated], time.time())
            for number, each in case["there"].items()
        }
        looked = of_kind(ask, owner, pods=[*pods.values()], controllerrevisions=revisions)
        old = {number for number, each in case["there"].items() if each.outdated}
        in_order = case["policy"] == "OrderedReady"
        gone, created = next_of_set(pods, old, case["wanted"], in_order=in_order)
        assert {f"web-{each}" for each in gone} == {*looked.deleted}
        assert [f"web-{each}" for each in created] == sorted(_names(looked.created))
        tally.update(what_came(case["policy"], gone, created))

    look_at_each(stateful_sets(), look, start=start, examples=examples)
    assert len(tally) == 6


def what_came(policy: str, gone: list[int], created: list[int]) -> Iterator[str]:
    """Yield what a look at a StatefulSet came to, in words to be counted."""
    came = {"deletes": gone, "creates": created, "waits": not gone and not created}
    return (f"{policy} {word}" for word, which in came.items() if which)


def _names(pods: list[JSON]) -> list[str]:
    return [each["metadata"]["name"] for each in pods]


def test_a_deployment_goes_on_as_its_controller_does(
    ask: Ask, start: int, examples: int, say: Callable[[str], None]
) -> None:
    tally = Counter[str]()

    def look(case: JSON) -> None:
        strategy = limits_of(case)
        if (
            not strategy["rollingUpdate"]["maxSurge"]
            and not strategy["rollingUpdate"]["maxUnavailable"]
        ):
            return  # which the API server refuses
        owner = workload(
            "Deployment", "web", template(9), replicas=case["wanted"], strategy=strategy
        )
        new = replica_set(owner, "web-new", 9, case["new"])
        old = [
            replica_set(owner, f"web-{number}", number, size, f"2025-02-0{number + 1}T00:00:00Z")
            for number, size in enumerate(case["old"])
        ]
        looked = of_kind(ask, owner, replicasets=[new, *old])
        sizes = {each["metadata"]["name"]: each["spec"]["replicas"] for each in (new, *old)}
        for each in looked.objects("update", "replicasets"):
            sizes[each["metadata"]["name"]] = each["spec"]["replicas"]
        by = rollout(read_workload("Deployment", json.dumps(owner).encode()), 0)
        grown, left = next_of_deployment(
            by, case["wanted"], Size(*case["new"]), [Size(*each) for each in case["old"]]
        )
        assert [grown, *left] == [*sizes.values()]
        tally[
            "grows"
            if grown > case["new"][0]
            else "is too large"
            if grown < case["new"][0]
            else "shrinks"
            if left != [each for each, _ in case["old"]]
            else "waits"
        ] += 1

    look_at_each(deployments(), look, start=start, examples=examples)
    say(f"Deployments: {dict(tally)}")
    assert min(tally[each] for each in ("grows", "shrinks", "waits")) > examples / 40


def test_a_job_lacks_the_pods_that_its_controller_makes(
    ask: Ask, start: int, examples: int
) -> None:
    found = Counter[bool]()

    def look(case: JSON) -> None:
        spec = {name: case[name] for name in ("parallelism", "suspend")}
        if case["completions"] is not None:
            spec["completions"] = case["completions"]
        made_of = template()
        made_of["spec"]["restartPolicy"] = "Never"
        owner = workload("Job", "web", made_of, backoffLimit=6, completionMode="NonIndexed", **spec)
        owner["spec"]["podReplacementPolicy"] = "TerminatingOrFailed"
        owner["status"] = {"succeeded": case["succeeded"], "startTime": "2026-01-01T00:00:00Z"}
        pods = [pod_of_job(owner, f"web-{number}") for number in range(case["active"])]
        looked = of_kind(ask, owner, pods=pods)
        asked = wanted(read_workload("Job", json.dumps(owner).encode()), 3)
        assert max(0, asked - case["active"]) == len(looked.created)
        found[bool(looked.created)] += 1

    look_at_each(jobs(), look, start=start, examples=examples)
    assert min(found[each] for each in (True, False)) > examples / 50


def test_an_update_of_a_deployment_goes_as_its_controllers_carry_it_out(
    ask: Ask, start: int, examples: int, say: Callable[[str], None]
) -> None:
    tally = Counter[str]()

    def look(case: JSON) -> None:
        real, told = DeploymentWorld(case), DeploymentWorld(case)
        turns, step = real.theirs(ask), told.ours()
        assert turns_of(step) == turns
        assert told.standing() == real.standing()
        assert step.update is not None
        done = sum(pod.node is not None for pod in real.old) == len(case["old"])
        done &= all(pod.key in real.members["web-new"] for pod in real.old)
        assert (step.update.stuck is None) is done
        tally["done" if done else "stuck"] += 1

    look_at_each(updates(), look, start=start, examples=examples)
    say(f"updates of Deployments: {dict(tally)}")
    assert min(tally["done"], tally["stuck"]) > examples / 40


@pytest.mark.parametrize("rolls", [True, False])
def test_a_stateful_set_is_updated_and_scaled_as_its_controller_does_it(
    ask: Ask, start: int, examples: int, rolls: bool, say: Callable[[str], None]
) -> None:
    revisions, tally = revisions_of(ask, "web"), Counter[str]()

    def look(case: JSON) -> None:
        real, told = (StatefulWorld(case, revisions, rolls=rolls) for _ in range(2))
        turns, step = real.theirs(ask), told.ours()
        if rolls:
            assert turns_of(step) == turns
            assert step.update is not None
            done = is_whole(real)
            assert (step.update.stuck is None) is done
            tally["done" if done else "stuck"] += 1
        assert told.standing() == real.standing()
        tally["came to more" if len(real.old) > len(case["old"]) else "or not"] += 1

    look_at_each(updates(), look, start=start, examples=examples)
    say(f"StatefulSets, {'updated' if rolls else 'scaled'}: {dict(tally)}")
    assert min(tally.values()) > examples / 40


def is_whole(real: StatefulWorld) -> bool:
    """Return whether all pods are there, and those that an update is about run in their version."""
    keys = [f"default/web-{each}" for each in range(real.by.start, real.by.start + real.wanted)]
    about = [real.state.pods.get(Key(each)) for each in keys[real.by.partition :]]
    runs = all(pod is not None and real.lives.is_available(pod) for pod in about)
    return runs and {*keys} == {*real.state.pods} and {*keys[real.by.partition :]} <= real.updated
