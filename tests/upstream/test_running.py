"""What is read from a log of `go test -v`, and what the report makes of it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.upstream.expected import reason
from tests.upstream.grouped import run_group
from tests.upstream.modes import ALONE, ASSIST, REPLACE, RULELESS
from tests.upstream.report import report, unexpected
from tests.upstream.results import keep, kept
from tests.upstream.running import (
    FAIL,
    PASS,
    SKIP,
    Results,
    only,
    outcomes,
    read,
    run,
)

LOG = """\
=== RUN   TestFilters
=== RUN   TestFilters/near_a_pod
I1123 14:00:00.000000 scheduler.go:1] "Attempted" --- FAIL: not a line of its own
--- FAIL: TestFilters (1.00s)
    --- PASS: TestFilters/near_a_pod (0.50s)
    --- FAIL: TestFilters/apart_from_it (0.50s)
=== RUN   TestSkipped
--- SKIP: TestSkipped (0.00s)
=== RUN   TestHung
=== RUN   TestHung/forever
panic: test timed out after 90m
"""


def test_a_log_tells_what_became_of_each_test_that_holds_no_others() -> None:
    assert outcomes(LOG) == {
        "TestFilters/near_a_pod": PASS,
        "TestFilters/apart_from_it": FAIL,
        "TestSkipped": SKIP,
        "TestHung/forever": FAIL,
    }


def test_a_test_that_passes_by_itself_is_flaky(tmp_path: Path) -> None:
    (tmp_path / "1.log").write_text(LOG)
    (tmp_path / "2.log").write_text("--- PASS: TestFilters/apart_from_it (0.50s)\n")
    found = read(tmp_path)
    assert found.flaky == ("TestFilters/apart_from_it",)
    assert found.failed == ("TestHung/forever",)


def test_a_test_of_groups_on_several_nodes_may_fail_in_replace_alone() -> None:
    test = "TestPreemption/multiple_victim_CPGs,_only_subset_selected_for_preemption_(Async)"
    assert reason(REPLACE, test) is not None
    assert reason(ASSIST, test) is None
    assert reason(REPLACE, "TestPreemption/basic_pod_preemption") is None


def test_who_is_woken_by_the_scheduler_itself_may_fail_in_replace_alone() -> None:
    test = "TestCoreResourceEnqueue/InterPodAffinity/Pod_rejected_by_the_PodAffinity_plugin"
    assert reason(REPLACE, test) is not None
    assert reason(ASSIST, test) is None
    assert reason(REPLACE, "TestCoreResourceEnqueue/Pod_rejected_by_the_NodeAffinity") is None


def test_what_fails_only_beside_the_extender_is_not_expected() -> None:
    found = {
        "filters": {
            ALONE: Results(2, ("TestB",)),
            REPLACE: Results(
                1,
                ("TestA", "TestB"),
            ),
            RULELESS: Results(
                0,
                ("TestA", "TestB", "TestC"),
            ),
        }
    }

    assert unexpected(found) == ["replace: TestA"]
    written = report(found, "1.37.2")
    assert "| `filters` | 2 / 1 / 0 | 1 / 2 / 0 | 0 / 3 / 0 | 1 |" in written
    assert "**Not expected.**\n\n- replace: `TestA`\n" in written
    assert "- `TestB`" in written


def test_results_are_kept_from_run_to_run(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    assert kept(path, "1.37.2") == {}
    first, second = Results(2, ("TestB",), 1, ("TestA",)), Results(3)

    keep(path, "1.37.2", "filters", REPLACE, first)
    keep(path, "1.37.2", "filters", ALONE, first)
    keep(path, "1.37.2", "filters", ALONE, second)
    keep(path, "1.38.0", "filters", ALONE, first)

    found = kept(path, "1.37.2")
    assert found == {"filters": {ALONE: second, REPLACE: first}}
    assert list(found["filters"]) == [ALONE, REPLACE]
    assert "| 3 / 0 / 0 | 2 / 1 / 1, 1 flaky | 0 |" in report(found, "1.37.2")


def test_what_failed_is_named_level_by_level() -> None:
    pattern = only(["TestA/near_(a)", "TestB", "TestA/far/now"])
    first, second, third = map(re.compile, pattern.split("/"))
    assert [bool(first.search(name)) for name in ("TestA", "TestB", "TestAB")] == [
        True,
        True,
        False,
    ]
    assert [bool(second.search(name)) for name in ("near_(a)", "far", "a")] == [True, True, False]
    assert third.search("now")


def test_what_a_test_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    script = f"(sleep 30; echo still here) > {pipe} & sleep 0.1; exit 3"

    code = run_group(["sh", "-c", script], tmp_path / "log", folder=tmp_path, environment={})

    assert code == 3
    os.set_blocking(reading, True)
    assert os.read(reading, 1) == b""  # the other end is closed, and nothing came
    os.close(reading)


def test_a_folder_that_would_break_the_command_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="spaces"):
        run(Path("/bin/true"), RULELESS, tmp_path, tmp_path / "a folder")
