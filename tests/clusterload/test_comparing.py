"""Two runs side by side, and when the second is worse."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from clusterload.cli import main
from clusterload.comparing import Pair
from tests.clusterload.test_figures import REPORTS, TESTS, perf

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Compare = Callable[..., tuple[int, str]]

AT = "2026-11-21T17:21:09Z"


@pytest.fixture
def compare(capsys: pytest.CaptureFixture[str]) -> Compare:
    """Return what compares two folders: its exit code and what it says."""

    def run(before: Path, after: Path, *flags: str) -> tuple[int, str]:
        code = main(["compare", str(before), str(after), *flags])
        said = capsys.readouterr()
        return code, said.out or said.err

    return run


def folder(path: Path, **reports: Any) -> Path:
    """Make a folder of reports, by the names of measurements."""
    path.mkdir()
    for name, content in reports.items():
        (path / f"{name}_small_{AT}.json").write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("test", TESTS)
def test_a_run_is_no_worse_than_itself(compare: Compare, test: str) -> None:
    code, said = compare(REPORTS / test, REPORTS / test, "--threshold", "1")
    assert code == 0
    assert said.endswith("\n0 figures are more than 1 times worse\n")
    ratios = re.findall(r"\S+$", said.partition("\n\n")[0], re.MULTILINE)[1:]
    assert len(ratios) > 40
    assert set(ratios) == {"1.00"}


def test_real_runs_are_side_by_side(compare: Compare) -> None:
    code, said = compare(REPORTS / "affinity", REPORTS / "anti-affinity")
    assert code == 0
    lines = [re.split(r" {3,}", line) for line in said.splitlines()]
    assert lines[0] == ["measurement", "figure", "unit", "A", "B", "ratio"]
    assert ["SchedulingThroughput", "max", "pods/s", "96", "39", "0.41"] in lines
    assert ["SchedulingMetrics schedulingLatency", "p50", "ms", "2.52", "2.76", "1.10"] in lines


@pytest.mark.parametrize(
    ("flags", "code", "last"),
    [
        (["--threshold", "6"], 0, "0 figures are more than 6 times worse"),
        (["--threshold", "5"], 1, "1 figure is more than 5 times worse"),
        (
            ["--threshold", "2", "--measurement", "SchedulingThroughput"],
            1,
            "4 figures are more than 2 times worse",
        ),
        (
            ["--threshold", "2", "--measurement", "PodStartup", "--measurement", "Extender"],
            0,
            "0 figures are more than 2 times worse",
        ),
    ],
)
def test_real_runs_differ_by_some_times(
    compare: Compare, flags: list[str], code: int, last: str
) -> None:
    ended, said = compare(REPORTS / "affinity", REPORTS / "anti-affinity", *flags)
    assert (ended, said.splitlines()[-1]) == (code, last)
    assert said.count("   worse\n") == int(last.partition(" ")[0])


@pytest.mark.parametrize(
    ("unit", "before", "after", "ratio", "worse"),
    [
        pytest.param("ms", 10.0, 15.0, 1.5, False, id="as slow as is allowed"),
        pytest.param("ms", 10.0, 15.1, 1.51, True, id="slower"),
        pytest.param("ms", 15.0, 1.5, 0.1, False, id="faster"),
        pytest.param("ms", 0.0, 9.0, None, False, id="not measured before"),
        pytest.param("ms", 9.0, 0.0, None, False, id="not measured any more"),
        pytest.param("pods/s", 30.0, 20.0, 2 / 3, False, id="as few pods as are allowed"),
        pytest.param("pods/s", 30.0, 19.0, 19 / 30, True, id="fewer pods"),
        pytest.param("pods/s", 30.0, 90.0, 3.0, False, id="more pods"),
        pytest.param("pods/s", 30.0, 0.0, 0.0, True, id="no pod any more"),
        pytest.param("pods/s", 0.0, 30.0, None, False, id="no pod before"),
        pytest.param("calls", 0.0, 0.0, 1.0, False, id="no error, as before"),
        pytest.param("calls", 0.0, 1.0, float("inf"), True, id="the first error"),
        pytest.param("calls", 1.0, 0.0, 0.0, False, id="no error any more"),
        pytest.param("ms", None, 9.0, None, False, id="only in B"),
        pytest.param("ms", 9.0, None, None, False, id="only in A"),
    ],
)
def test_what_is_worse(
    unit: str, before: float | None, after: float | None, ratio: float | None, worse: bool
) -> None:
    pair = Pair("", "A", unit, "p50", before, after)
    assert pair.ratio == (None if ratio is None else pytest.approx(ratio))
    assert pair.worse(1.5) is worse


def test_what_one_run_alone_has_is_shown_and_not_judged(compare: Compare, tmp_path: Path) -> None:
    more = {"GenericPrometheusQuery Extender errors": perf({"data": {"E": 1}, "unit": "calls"})}
    one = folder(tmp_path / "one", SchedulingThroughput={"max": 5})
    two = folder(tmp_path / "two", SchedulingThroughput={"max": 5, "perc50": 4}, **more)
    for pair, expected in (
        ((one, two), ["- 4 -", "- 1 -"]),
        ((two, one), ["4 - -", "1 - -"]),
    ):
        code, said = compare(*pair, "--threshold", "1")
        assert code == 0
        lines = [" ".join(line.split()[-3:]) for line in said.partition("\n\n")[0].splitlines()[1:]]
        assert sorted(lines) == sorted(["5 5 1.00", *expected])


def test_tests_of_one_name_are_compared(compare: Compare, tmp_path: Path) -> None:
    for name in ("affinity", "mixed"):
        for path in (REPORTS / name).iterdir():
            (tmp_path / "all").mkdir(exist_ok=True)
            shutil.copy(path, tmp_path / "all")
    code, said = compare(tmp_path / "all", REPORTS / "mixed")
    assert code == 0
    assert "mixed: SchedulingThroughput" in said
    assert "affinity" not in said


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--threshold", "0.9"], "--threshold: 0.9 is less than 1"),
        (["--threshold", "nan"], "--threshold: nan is less than 1"),
        (["--measurement", "Nothing"], "it has no such measurement in common with "),
    ],
)
def test_wrong_usage(compare: Compare, flags: list[str], said: str) -> None:
    code, complaint = compare(REPORTS / "mixed", REPORTS / "affinity", *flags)
    assert code == 2
    assert said in complaint


def test_runs_with_nothing_in_common_are_refused(compare: Compare, tmp_path: Path) -> None:
    timer = perf({"data": {"create": 3}, "unit": "s", "labels": {"test": "phases"}})
    code, said = compare(REPORTS / "mixed", folder(tmp_path / "one", Timer=timer))
    assert code == 2
    assert "it has no such measurement in common with " in said
