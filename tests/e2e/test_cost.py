"""What an answer costs, as ratios within one run: a slow machine slows both sides of each.

The limits leave room for a machine that is shared; bench/ has the targets, and measures for longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.intree.driver import cycles_program, running_cycles
from bench.intree.scenarios import Plan, measure
from bench.intree.workshop import Workshop
from bench.servers import echo_server
from bench.workloads import Rules

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench.intree.scenarios import Scenario
    from tests.e2e.controlplane.binaries import Binaries

    Build = Callable[[Callable[[str], None]], Binaries]

pytestmark = pytest.mark.long

FEW, MANY = 10_000, 50_000
PLAN = Plan(nodes=5000, pods=(FEW, MANY), names=(500,), rules=(), rounds=5, calls=24, pause=0.002)


@pytest.fixture(scope="module")
def scenario(
    built: Callable[[Build], Binaries],
    say: Callable[[str], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Scenario:
    """Measure pods with preferred rules, in-tree and by an extender that does not think as well."""
    program = built(cycles_program)
    folder: Path = tmp_path_factory.mktemp("cost")
    with echo_server("echo") as echo, running_cycles(program) as cycles:
        return measure(PLAN, Rules.PREFERRED, Workshop(cycles, echo, folder, say))


def test_answers_are_in_trees(scenario: Scenario) -> None:
    assert scenario.compared
    assert not scenario.differences


def test_thinking_costs_little_beside_being_asked(scenario: Scenario) -> None:
    for cell in scenario.cells:
        assert cell.ours.over(cell.echo) < 2.0, cell


def test_five_times_the_pods_cost_the_same(scenario: Scenario) -> None:
    few, many = scenario.cells
    assert many.ours.over(few.ours) < 1.6


def test_a_large_cluster_is_far_cheaper_than_in_tree(scenario: Scenario) -> None:
    many = scenario.cells[-1]
    assert many.in_tree.over(many.ours) > 8
