"""Figures of report files: of those that clusterloader2 itself wrote, and of our own."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from clusterload.figures import Row, number, read_runs, rows, table
from clusterload.reports import Limit, Summary
from extender.core.errors import ConfigError, UnreadableError
from tests.deploy.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

REPORTS = ROOT / "loadtest" / "reports"
TESTS = sorted(path.name for path in REPORTS.iterdir() if path.is_dir())
SHOWN = {
    "create to schedule, ms": "PodStartupLatency create_to_schedule",
    "scheduling cycle, ms": "SchedulingMetrics schedulingLatency",
    "extender's prioritize, ms": "Extender latency prioritize",
}


def perf(*items: dict[str, Any]) -> dict[str, Any]:
    return {"version": "v1", "dataItems": list(items)}


@pytest.mark.parametrize("test", TESTS)
def test_what_clusterloader2_wrote_is_what_its_readme_says(test: str) -> None:
    text = (REPORTS / "README.md").read_text()
    head, _, *lines = (line.strip("| ").split(" | ") for line in text.splitlines() if "|" in line)
    (line,) = (line for line in lines if line[0] == f"`{test}`")
    told = dict(zip(head, line, strict=True))
    (run,) = read_runs(REPORTS / test)
    assert run.test == test
    assert run.rows["SchedulingThroughput"].values["max"] == float(told["best second"])
    for column, name in SHOWN.items():
        values = run.rows[name].values
        digits = len(told[column].partition(" ")[0].partition(".")[2])
        shown = " / ".join(f"{values[each]:.{digits}f}" for each in ("p50", "p99"))
        assert (shown, run.rows[name].unit) == (told[column], "ms")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        pytest.param(
            "PodStartupLatency_PodStartupLatency",
            perf({"data": {"Perc50": 1.5}, "unit": "ms", "labels": {"Metric": "run"}}),
            [Row("PodStartupLatency", "run", "ms", {"p50": 1.5})],
            id="a name that is there twice",
        ),
        pytest.param(
            "PodStartupLatency_Pods", perf(), [], id="an identifier of its own, and no samples"
        ),
        pytest.param(
            "GenericPrometheusQuery Extender errors",
            perf({"data": {"Errors": 0}, "unit": "calls"}),
            [Row("Extender errors", "", "calls", {"errors": 0})],
            id="a query",
        ),
        pytest.param(
            "SchedulingThroughput",
            {"perc50": 1, "max": 2},
            [Row("SchedulingThroughput", "", "pods/s", {"p50": 1, "max": 2})],
            id="pods a second",
        ),
        pytest.param(
            "SchedulingMetrics",
            {"a": {"Bind": {"Perc50": 2_000_000}}, "b": {"Perc99": 500_000}},
            [
                Row("SchedulingMetrics", "Bind", "ms", {"p50": 2.0}),
                Row("SchedulingMetrics", "b", "ms", {"p99": 0.5}),
            ],
            id="nanoseconds, at two depths",
        ),
        pytest.param("x_failedpods", [{"name": "a"}], [], id="no figures"),
        pytest.param("x", {"version": "v1", "dataItems": None}, [], id="null"),
    ],
)
def test_rows_of_a_report(name: str, content: Any, expected: list[Row]) -> None:
    assert rows(name, content) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, "0"), (0.04567, "0.0457"), (2.5, "2.5"), (99.94, "99.9"), (1234.5, "1,234"), (None, "-")],
)
def test_figures_have_three_digits_at_least(value: float | None, expected: str) -> None:
    assert number(value) == expected


STARTUP = perf(
    {"data": {"Perc50": 20, "Perc99": 7000}, "unit": "ms", "labels": {"Metric": "pod_startup"}},
    {"data": {"Perc50": 10, "Perc99": 90}, "unit": "ms", "labels": {"Metric": "schedule_to_run"}},
    {"data": {"Perc50": 0, "Perc99": 0}, "unit": "ms", "labels": {"Metric": "run_to_watch"}},
)
OF_STARTUP = [Limit(each, 5000.0, "pod_startup") for each in ("Perc50", "Perc99")]


def test_the_table_has_figures_limits_and_verdicts() -> None:
    errors = perf({"data": {"Errors": 0, "Calls": 1234}, "unit": "calls"})
    pods = {"perc50": 5.0, "max": 9.5}
    summaries = [
        Summary("SchedulingThroughput", pods, limits=[Limit("max", 9.0, at_least=True)]),
        Summary("PodStartupLatency_A", STARTUP, limits=OF_STARTUP),
        Summary("StatelessPodStartupLatency_A", STARTUP, limits=OF_STARTUP),
        Summary("GenericPrometheusQuery Errors", errors, limits=[Limit("Errors", 0.0)]),
        Summary("GenericPrometheusQuery Nothing", perf(), limits=[Limit("Errors", 0.0)]),
    ]
    head, *lines = (re.split(r" {3,}", line) for line in table(summaries).splitlines())
    assert head == ["measurement", "unit", "p50", "p90", "p99", "max", "other", "limit"]
    assert lines == [
        ["Errors", "calls", "errors 0, calls 1,234", "errors at most 0", "passed"],
        [
            *("PodStartupLatency_A pod_startup", "ms", "20", "7,000"),
            *("p50, p99 at most 5000", "FAILED"),
        ],
        ["PodStartupLatency_A schedule_to_run", "ms", "10", "90"],
        ["SchedulingThroughput", "pods/s", "5", "9.5", "max at least 9", "passed"],
    ]
    assert table([]) == ""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the reports of one test of clusterloader2."""
    return shutil.copytree(REPORTS / "affinity", tmp_path / "reports")


def test_of_a_measurement_the_newest_report_counts(folder: Path) -> None:
    for day, best in ((20, 1), (22, 3)):
        path = folder / f"SchedulingThroughput_affinity_2026-11-{day}T17:21:09Z.json"
        path.write_text(json.dumps({"max": best}))
    (run,) = read_runs(folder)
    assert run.rows["SchedulingThroughput"].values == {"max": 3}
    assert run.at == "2026-11-22T17:21:09Z"


def test_parts_of_the_startup_are_told_where_they_differ(folder: Path) -> None:
    (run,) = read_runs(folder)
    assert not [name for name in run.rows if name.startswith("State")]
    (path,) = folder.glob("StatefulPodStartupLatency_*")
    path.write_text(json.dumps(STARTUP))
    (run,) = read_runs(folder)
    assert [name for name in run.rows if name.startswith("State")] == [
        "StatefulPodStartupLatency pod_startup",
        "StatefulPodStartupLatency schedule_to_run",
    ]


def test_tests_of_a_suite_are_told_apart_by_the_files_of_their_configuration(
    tmp_path: Path,
) -> None:
    for test in ("small", "small_two"):
        (tmp_path / f"generatedConfig_{test}.yaml").touch()
        path = tmp_path / f"SchedulingThroughput_{test}_2026-11-21T17:21:09Z.json"
        path.write_text(json.dumps({"max": len(test)}))
    found = {
        run.test: run.rows["SchedulingThroughput"].values["max"] for run in read_runs(tmp_path)
    }
    assert found == {"small": 5, "small_two": 9}


def test_a_report_alone_is_a_run() -> None:
    (path,) = (REPORTS / "affinity").glob("SchedulingThroughput_*")
    (run,) = read_runs(path)
    assert (run.test, list(run.rows)) == ("affinity", ["SchedulingThroughput"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("{", "not the report of a measurement", id="no JSON"),
        pytest.param('{"max": "fast"}', "Expected `float`, got `str`", id="no figure"),
        pytest.param('{"dataItems": 3}', "Expected `array | null`", id="no items"),
    ],
)
def test_a_file_that_is_no_report_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "SchedulingThroughput_a_2026-11-21T17:21:09Z.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=re.escape(str(path))) as caught:
        read_runs(tmp_path)
    assert said in str(caught.value)


def test_a_folder_without_reports_is_refused(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("{}")
    with pytest.raises(ConfigError, match="there is no report of a measurement"):
        read_runs(tmp_path)
    with pytest.raises(UnreadableError, match="cannot read"):
        read_runs(tmp_path / "SchedulingThroughput_a_2026-11-21T17:21:09Z.json")
