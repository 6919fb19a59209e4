"""The command advise: the census, the costs by the fitted model, the mode and the traps."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import msgspec
import pytest

from affinityctl import cli
from affinityctl.commands.advise import run as advise_command
from affinityctl.commands.advise.census import Census, RuleCount, RuleGroup, census
from affinityctl.commands.advise.costs import Advice, Costs, Share, busiest_minute, costs, model
from bench.cost_model import FITTED, line, text
from extender.core.cluster.state import ClusterState
from tests.builders import HOST, ZONE, node, pod, selector, state_of, term, workload

WEB, DB = selector(app="web"), selector(app="db")
NODES = [node(name, {HOST: name, ZONE: "z"}) for name in ("n1", "n2")]

Advise = Callable[..., tuple[int, str]]


@pytest.fixture
def advise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Advise:
    """Run the command on a dump; return its exit code and what it said."""

    def run(line: str, *objects: Any) -> tuple[int, str]:
        dump = tmp_path / "dump.json"
        dump.write_text(json.dumps({"kind": "List", "items": [*NODES, *objects]}))
        code = cli.main(["advise", *line.split(), "--cluster", str(dump)])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run


def test_the_model_in_the_package_is_what_the_measurements_say() -> None:
    assert FITTED.read_text() == text(), "run `python -m bench.cost_model`"


def test_a_line_through_points_on_it_is_that_line() -> None:
    assert line([(0, 100.0), (1000, 600.0), (4000, 2100.0)], level=False) == {
        "fixed": 100.0,
        "each": 0.5,
        "error": 0.0,
    }


def test_a_level_line_says_how_far_it_is_off() -> None:
    found = line([(0, 100.0), (1000, 300.0)], level=True)
    assert (found["fixed"], found["each"]) == (120.0, 0.0)
    assert found["error"] == pytest.approx(0.6)


@pytest.mark.parametrize("kind", RuleGroup)
def test_the_model_knows_every_kind(kind: RuleGroup) -> None:
    assert model().kinds[kind.value].in_tree.filter.fixed >= 0


def test_each_kind_is_counted_with_the_pods_that_it_is_about() -> None:
    anywhere = term(HOST, WEB, namespaceSelector={})
    pods = [
        pod("a").labels(app="web").anti_affinity(term(HOST, WEB)).on("n1"),
        pod("b").labels(app="web").anti_affinity(anywhere).on("n2"),
        pod("c").labels(app="db").on("n1"),
        pod("d").affinity(term(ZONE, DB)).prefers(1, term(ZONE, WEB)),
        pod("e"),
    ]
    found = census(state_of(NODES, [], pods))
    assert (found.nodes, found.pods, found.with_rules) == (2, 5, 3)
    assert [(each.kind, each.carriers, each.matched) for each in found.rules] == [
        (RuleGroup.PREFERRED, 1, 2),
        (RuleGroup.APART_BY_HOST, 1, 2),
        (RuleGroup.APART_BY_HOST_ANYWHERE, 1, 2),
        (RuleGroup.OTHER_REQUIRED, 1, 1),
    ]


@pytest.mark.parametrize(
    ("kind", "carriers", "advice"),
    [
        pytest.param(RuleGroup.PREFERRED, 500, Advice.NOTHING, id="few pods with rules"),
        pytest.param(RuleGroup.PREFERRED, 100_000, Advice.ASSIST, id="many preferences"),
        pytest.param(RuleGroup.APART_BY_HOST, 100_000, Advice.REPLACE, id="many hard rules"),
    ],
)
def test_the_mode_to_take(kind: RuleGroup, carriers: int, advice: Advice) -> None:
    found = costs(Census(5000, carriers, carriers, [RuleCount(kind, carriers, carriers)]))
    assert found.advice is advice


@pytest.mark.parametrize(
    ("needed", "advice"),
    [
        pytest.param(None, Advice.REPLACE, id="not known"),
        pytest.param(3, Advice.NOTHING, id="3 a second, of 48"),
        pytest.param(24, Advice.NOTHING, id="half of what the scheduler alone does"),
        pytest.param(25, Advice.REPLACE, id="more than half"),
    ],
)
def test_where_the_scheduler_alone_places_pods_as_fast_as_they_come_nothing_is_taken(
    needed: float | None, advice: Advice
) -> None:
    assert Costs(20.8, 20.0, 4.0, 0.1, needed).advice is advice


@pytest.mark.parametrize(
    ("created", "needed"),
    [
        pytest.param([], None, id="nothing known"),
        pytest.param([7.0], 1 / 60, id="one"),
        pytest.param([0, 59, 60, 61], 3 / 60, id="a minute begins with any pod"),
        pytest.param([500, 0, 501, 1, 502], 3 / 60, id="in any order"),
        pytest.param([9] * 600, 10, id="at the same moment"),
    ],
)
def test_the_busiest_minute(created: list[float], needed: float | None) -> None:
    assert busiest_minute(created) == needed


@pytest.mark.parametrize(
    ("at", "need", "take"),
    [
        pytest.param(
            "2026-01-01T00:00:{second:02}Z",
            "In your busiest minute, pods were created at a rate of 1 a second",
            "Take: nothing, for the scheduler alone gets 88 pods a second through affinity, and "
            "your busiest minute needed 1.",
            id="few a second",
        ),
        pytest.param(
            None,
            "Nothing says when pods were created. The scheduler alone is taken to be enough for",
            "What it risks: pods wait while the extender is down, and those with hard rules",
            id="nobody knows when",
        ),
        pytest.param("soon", "Nothing says when pods were created", "Take: replace", id="no time"),
    ],
)
def test_how_many_pods_come_in_a_second_decides(
    advise: Advise, monkeypatch: pytest.MonkeyPatch, at: str | None, need: str, take: str
) -> None:
    pods = [pod(f"p{second}").labels(app="web") for second in range(60)]
    for second, each in enumerate(pods):
        each["metadata"]["creationTimestamp"] = at and at.format(second=second)
    monkeypatch.setattr(advise_command, "census", as_if_of(35_000))
    said = " ".join(advise("", *pods)[1].split())
    assert need in said
    assert take in said
    told = json.loads(advise("-o json", *pods)[1])
    assert told["podsPerSecond"]["needed"] == (1.0 if at and "second" in at else None)
    assert (told["risk"] is None) == (told["mode"] != "replace")


def as_if_of(carriers: int) -> Callable[[ClusterState], Census]:
    rules = [RuleCount(RuleGroup.APART_BY_HOST, carriers, carriers)]
    return lambda state: Census(len(state.nodes), carriers, carriers, rules)


@pytest.mark.parametrize(
    ("kind", "without", "said"),
    [
        pytest.param(
            RuleGroup.APART_BY_HOST,
            20_000,
            "20% of the pods carry no rule, and a scheduler asks the extender about them as well. "
            "Of such pods, `replace` placed 43% to 57% of what the scheduler alone did",
            id="replace",
        ),
        pytest.param(RuleGroup.PREFERRED, 60_000, "`assist` placed 73% to 75%", id="assist"),
        pytest.param(RuleGroup.PREFERRED, 0, None, id="every pod carries a rule"),
        pytest.param(None, 80_000, None, id="no mode pays"),
    ],
)
def test_what_pods_without_rules_lose_by_the_mode_to_take(
    advise: Advise,
    monkeypatch: pytest.MonkeyPatch,
    kind: RuleGroup | None,
    without: int,
    said: str | None,
) -> None:
    carriers = 80_000
    rules = [] if kind is None else [RuleCount(kind, carriers, carriers)]
    found = Census(5000, carriers + without, carriers, rules)
    monkeypatch.setattr(advise_command, "census", lambda _: found)
    shares = {
        "assist": Share(least=0.73, median=0.74, most=0.75),
        "replace": Share(least=0.43, median=0.5, most=0.57),
    }
    measured = msgspec.structs.replace(model(), without_rules=shares)
    monkeypatch.setattr(advise_command, "model", lambda: measured)
    page = " ".join(advise("")[1].split())
    assert ("carry no rule, and" in page) is (said is not None)
    assert (said or "") in page
    assert ("Take: nothing" in page) is (kind is None)
    assert ("in a second scheduler first" in page) is (kind is not None)
    told = json.loads(advise("-o json")[1])
    assert told["rateWithoutRules"]["assist"]["median"] == 0.74


def test_without_rules_nothing_pays() -> None:
    assert costs(Census(5000, 150_000, 0, [])).advice is Advice.NOTHING


def test_the_page(advise: Advise) -> None:
    stuck = pod("t").labels(app="web").anti_affinity(term(HOST, WEB))
    code, said = advise("", workload("Deployment", "web", stuck, replicas=3))
    assert code == 0
    assert said.startswith("3 of 3 pods on 2 nodes carry affinity rules.\n")
    assert "required, apart by host   3                     0" in said
    assert "Take: nothing, for the scheduler's own plugin is as fast" in said
    assert "- more-replicas-than-domains: " in said


def test_the_same_as_json(advise: Advise) -> None:
    told = json.loads(advise("-o json", pod("p").on("n1"))[1])
    assert (told["mode"], told["podsWithRules"], told["rules"], told["traps"]) == (
        "nothing",
        0,
        [],
        [],
    )
    assert told["millisecondsPerPod"]["replace"] > told["millisecondsPerPod"]["inTree"]


def test_a_dump_from_standard_input_is_read_once_for_costs_and_traps(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    apart = pod("").labels(app="web").anti_affinity(term("no-such-key", WEB))
    items = [*NODES, workload("Deployment", "web", apart, replicas=2)]
    dump = io.BytesIO(json.dumps({"kind": "List", "items": items}).encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(dump))
    assert cli.main(["advise", "--cluster", "-"]) == 0
    assert "topology-key-unknown" in capsys.readouterr().out


@pytest.mark.parametrize("line", ["-o json", ""])
def test_the_order_of_a_file_changes_nothing(advise: Advise, line: str) -> None:
    objects = [
        pod("nowhere").affinity(term("rack", WEB)),
        pod("twice").anti_affinity(term(HOST, WEB), term(ZONE, WEB)),
        pod("web").labels(app="web"),
        workload("Deployment", "web", pod("t").labels(app="web").affinity(term("row", WEB))),
    ]
    said = {advise(line, *order) for order in permutations(objects)}
    assert len(said) == 1


def zones(*, apps: int, placed: dict[str, int]) -> list[Any]:
    """Build apps that prefer zones apart, each with so many pods by zone; three hosts a zone."""
    room = {"pods": "110", "cpu": "64"}
    nodes = [
        node(f"{zone}{host}", {HOST: f"{zone}{host}", ZONE: zone}, room)
        for zone in "abc"
        for host in range(3)
    ]
    pods = [
        pod(f"{zone}{number}", f"app-{app}")
        .labels(app="web")
        .avoids(100, term(ZONE, WEB))
        .avoids(1, term(HOST, WEB))
        .owned_by("ReplicaSet/web-5d")
        .on(f"{zone}{number % 3}")
        for app in range(apps)
        for zone, pods in placed.items()
        for number in range(pods)
    ]
    return [*nodes, *pods]


def test_after_a_lost_zone_has_come_back_it_takes_a_third_of_the_pods(advise: Advise) -> None:
    objects = zones(apps=10, placed={"a": 15, "b": 15})
    code, told = advise("", *objects)
    assert code == 0
    assert "300 pods sit worse than they have to by preferred rules." in " ".join(told.split())
    assert "takes 100 moves" in " ".join(told.split())


@pytest.mark.parametrize("placed", [{"a": 10, "b": 10, "c": 10}, {"a": 11, "b": 10, "c": 10}])
def test_pods_that_sit_well_are_left_alone(advise: Advise, placed: dict[str, int]) -> None:
    assert "No pod would sit better" in advise("", *zones(apps=2, placed=placed))[1]


def test_who_moves_is_told_in_json_as_well(advise: Advise) -> None:
    objects = zones(apps=1, placed={"a": 2})
    told = json.loads(advise("-o json", *objects)[1])["placements"]
    assert (told["podsThatSitWorse"], told["complete"]) == (2, True)
    ((pod, where),) = [(each["pod"], each["from"]) for each in told["moves"]]
    assert where == {"app-0/a0": "a0", "app-0/a1": "a1"}[pod]


def annotated(each: Any) -> None:
    kept = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
    each["metadata"].update(annotations=kept)


def with_claim(each: Any) -> None:
    each["spec"].update(volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}])


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda each: each.owned_by("Job/web"), id="of a Job"),
        pytest.param(lambda each: each.owned_by("DaemonSet/web"), id="of a DaemonSet"),
        pytest.param(lambda each: each["metadata"].pop("ownerReferences") and None, id="of nobody"),
        pytest.param(annotated, id="not safe to evict"),
        pytest.param(with_claim, id="with a claim"),
    ],
)
def test_who_is_not_moved_for_a_preference(advise: Advise, change: Callable[[Any], Any]) -> None:
    *nodes, first, second = zones(apps=1, placed={"a": 2})
    assert "takes 1 move" in " ".join(advise("", *nodes, first, second)[1].split())
    pods = [change(each) or each for each in (first, second)]
    assert "No pod would sit better" in advise("", *nodes, *pods)[1]
