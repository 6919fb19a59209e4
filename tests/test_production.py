"""The generated cluster has the shape of the traces that it names, and keeps its own rules."""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice, product
from typing import TYPE_CHECKING, Any

import pytest

from bench.production import AtMost, Production

if TYPE_CHECKING:
    from collections.abc import Iterable

FULL = Production()
TENTH = Production(scale=0.1)


def share(part: Iterable[int], whole: Iterable[int]) -> float:
    return sum(part) / sum(whole)


@pytest.mark.parametrize(("made", "times"), [(FULL, 1.0), (TENTH, 0.1)])
def test_there_are_as_many_of_everything_as_in_the_trace(made: Production, times: float) -> None:
    assert made.machines == 6000 * times
    assert len(made.sizes) == round(9338 * times)
    assert sum(made.sizes) == pytest.approx(68_224 * times, rel=0.03)
    assert sum(1 for _ in made.rules()) == pytest.approx(33_416 * times, abs=1)


def test_a_few_apps_are_large_and_most_have_one_or_two_instances() -> None:
    sizes = FULL.sizes
    assert list(sizes) == sorted(sizes, reverse=True)
    assert 600 <= sizes[0] <= 610
    assert share(sizes[:934], sizes) == pytest.approx(0.668, abs=0.01)
    assert sizes.count(1) / len(sizes) == pytest.approx(0.292, abs=0.01)
    assert sizes.count(2) / len(sizes) == pytest.approx(0.323, abs=0.01)


def test_three_of_five_rules_are_beyond_pod_anti_affinity() -> None:
    rules = list(FULL.rules())
    assert sum(rule.k > 0 for rule in rules) / len(rules) == pytest.approx(0.603, abs=0.005)
    assert {rule.k for rule in rules} == {0, 1, 2, 3, 4}
    own = Counter(rule.k for rule in rules if rule.app == rule.other)
    assert own.total() == len(FULL.sizes)
    assert own[2] / own.total() == pytest.approx(0.982, abs=0.005)
    of_others = Counter(rule.k for rule in rules if rule.app != rule.other)
    assert of_others[0] / of_others.total() == pytest.approx(0.546, abs=0.005)


def test_no_pair_of_apps_has_two_rules() -> None:
    pairs = [(rule.app, rule.other) for rule in FULL.rules()]
    assert len(set(pairs)) == len(pairs)


@pytest.mark.parametrize(
    ("end", "apps", "most", "top"), [("app", 2376, 624, 0.633), ("other", 4635, 623, 0.564)]
)
def test_few_apps_have_most_of_the_rules_about_others(
    end: str, apps: int, most: int, top: float
) -> None:
    of = Counter(getattr(rule, end) for rule in FULL.rules() if rule.app != rule.other)
    counts = sorted(of.values(), reverse=True)
    assert len(counts) == apps
    assert most / 2 < counts[0] <= most
    assert share(counts[: apps // 10], counts) == pytest.approx(top, abs=0.04)
    assert counts[apps // 2] in {2, 3}


def test_large_apps_have_more_rules() -> None:
    sizes = FULL.sizes
    holders = [sizes[rule.app] for rule in FULL.rules() if rule.app != rule.other]
    assert sum(holders) / len(holders) > 5 * sum(sizes) / len(sizes)


def test_placements_keep_every_rule() -> None:
    """Counted anew from the pods that were written, pair by pair."""
    on: dict[str, Counter[str]] = {}
    pods = [item for item in TENTH.items() if item["kind"] == "Pod"]
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if node is not None:
            on.setdefault(node, Counter())[pod["metadata"]["labels"]["app"]] += 1
    placed = sum(there.total() for there in on.values())
    assert placed / len(pods) == pytest.approx(61_254 / 68_224, abs=0.03)
    assert len(on) == TENTH.machines
    assert broken(on, TENTH.rules()) == []
    stricter = [AtMost(rule.app, rule.other, 0) for rule in TENTH.rules()]
    assert len(broken(on, stricter)) > 100  # Rules with k of 1 and more do make room.


def broken(on: dict[str, Counter[str]], rules: Iterable[AtMost]) -> list[tuple[str, AtMost]]:
    about = {(f"app-{rule.app}", f"app-{rule.other}"): rule for rule in rules}
    return [
        (node, rule)
        for node, there in on.items()
        for app, other in product(there, repeat=2)
        if (rule := about.get((app, other))) is not None and there[other] - (app == other) > rule.k
    ]


def test_pods_carry_the_rules_that_anti_affinity_can_say_and_no_others() -> None:
    told = {
        (pod["metadata"]["labels"]["app"], other)
        for pod in TENTH.items()
        if pod["kind"] == "Pod"
        for other in shunned(pod["spec"])
    }
    zero = {(f"app-{r.app}", f"app-{r.other}") for r in TENTH.rules() if r.k == 0}
    assert told == zero


def shunned(spec: dict[str, Any]) -> list[str]:
    if "affinity" not in spec:
        return []
    (side,) = spec["affinity"].values()
    (term,) = side["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["topologyKey"] == "kubernetes.io/hostname"
    (among,) = term["labelSelector"]["matchExpressions"]
    values: list[str] = among["values"]
    return values


def test_the_same_seed_makes_the_same_cluster_and_another_seed_another() -> None:
    def begin(made: Production) -> str:
        return json.dumps(list(islice(made.items(), 2000)))

    assert begin(TENTH) == begin(Production(scale=0.1))
    assert begin(TENTH) != begin(Production(seed=1, scale=0.1))


def test_objects_come_one_by_one() -> None:
    kinds = [item["kind"] for item in islice(FULL.items(), 6002)]
    assert Counter(kinds) == {"Namespace": 1, "Node": 6000, "Pod": 1}


def test_half_of_the_gpu_instances_have_a_maximum_per_node() -> None:
    groups = list(FULL.gpu_groups())
    total = sum(group.instances for group in groups)
    assert len(groups) == 2 * 156
    assert total == pytest.approx(23_871, rel=0.03)
    limited = Counter[int | None]()
    for group in groups:
        limited[group.at_most] += group.instances
    assert 1 - limited[None] / total == pytest.approx(0.487, abs=0.01)
    assert limited[2] / total == pytest.approx(0.284, abs=0.01)
    assert set(limited) == {None, 2, 4, 8, 10, 16}
    on_gpus = [group for group in groups if group.role == "gpu"]
    no_maximum = sum(group.instances for group in on_gpus if group.at_most is None)
    assert no_maximum / sum(group.instances for group in on_gpus) < 0.02
