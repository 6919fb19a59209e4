"""Pictures of runs, from the reports that clusterloader2 itself wrote."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from clusterload.cli import NO_MATPLOTLIB, clusterload, main
from clusterload.plotting import drawn, size
from tests.clusterload.test_figures import REPORTS, TESTS

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

SIZES = {
    "affinity": 1000,
    "anti-affinity": 10,
    "mixed": 2410,
    "namespace-selector": 60,
    "rolling-update": 5,
}
THROUGHPUT = ("--measurement", "SchedulingThroughput")


def panels(*line: str | Path) -> list[Axes]:
    return drawn(clusterload().parse(["plot", *map(str, line)])).axes


def test_each_run_is_a_group_of_bars() -> None:
    axes = panels(*(REPORTS / test for test in TESTS))
    assert [each.get_title() for each in axes] == [
        "SchedulingThroughput",
        "PodStartupLatency create_to_schedule",
        "PodStartupLatency pod_startup",
        "SchedulingMetrics schedulingLatency",
        "Extender latency prioritize",
    ]
    throughput = axes[0]
    assert [each.get_text() for each in throughput.get_xticklabels()] == TESTS
    assert throughput.get_ylabel() == "pods/s, more is better"
    assert axes[1].get_ylabel() == "ms, less is better"
    _, _, _, best = ([bar.get_height() for bar in bars] for bars in throughput.containers)
    assert dict(zip(TESTS, best, strict=True)) == {
        "affinity": 96,
        "anti-affinity": 39,
        "mixed": 222,
        "namespace-selector": 60,
        "rolling-update": 38,
    }


def drawn_points(line: Any) -> list[tuple[Any, float]]:
    return [*zip(line.get_xdata(orig=True), line.get_ydata(orig=True), strict=True)]


@pytest.fixture
def grown(tmp_path: Path) -> list[Path]:
    """Return three runs of one test, the later ones with more pods, and half as many a second."""
    folders = []
    for index in range(3):
        folder = shutil.copytree(REPORTS / "affinity", tmp_path / f"run-{index}")
        for path in folder.glob("*.json"):
            day = f"2026-11-{23 - index}"
            path.rename(path.with_name(path.name.replace("2026-11-21", day)))
        (path,) = folder.glob("SchedulingThroughput_*")
        path.write_text(json.dumps({"max": 100 / 2**index}))
        config = folder / "generatedConfig_affinity.yaml"
        config.write_text(config.read_text().replace(": 1000\n", f": {1000 * 2**index}\n"))
        folders.append(folder)
    return folders


@pytest.mark.parametrize(
    ("by", "places", "heights"),
    [
        (
            "time",
            [datetime(2026, 11, day, 17, 21, 9, tzinfo=UTC) for day in (21, 22, 23)],
            [25, 50, 100],
        ),
        ("size", [1000, 2000, 4000], [100, 50, 25]),
    ],
)
def test_lines_go_from_left_to_right(
    grown: list[Path], by: str, places: list[Any], heights: list[float]
) -> None:
    (axes,) = panels(*grown, "--by", by, *THROUGHPUT)
    assert axes.get_title() == "affinity: SchedulingThroughput"
    (line,) = axes.lines
    assert drawn_points(line) == [*zip(places, heights, strict=True)]


def test_each_test_has_panels_of_its_own(grown: list[Path]) -> None:
    axes = panels(*grown, REPORTS / "mixed", "--by", "size", *THROUGHPUT)
    assert [each.get_title().partition(":")[0] for each in axes] == ["affinity", "mixed"]
    assert [len(drawn_points(each.lines[0])) for each in axes] == [3, 1]


@pytest.mark.parametrize("test", TESTS)
def test_a_test_has_as_many_objects_as_it_creates(test: str) -> None:
    assert size(REPORTS / test / f"generatedConfig_{test}.yaml") == SIZES[test]


@pytest.mark.parametrize(
    ("folders", "labels"),
    [
        pytest.param(["a/affinity", "b/affinity"], ["affinity: affinity"] * 2, id="alike"),
        pytest.param(["a/x", "a/y"], ["x", "y"], id="by folder"),
    ],
)
def test_runs_are_told_apart(tmp_path: Path, folders: list[str], labels: list[str]) -> None:
    paths = [shutil.copytree(REPORTS / "affinity", tmp_path / each) for each in folders]
    (axes,) = panels(*paths, *THROUGHPUT)
    assert [each.get_text() for each in axes.get_xticklabels()] == labels


@pytest.mark.parametrize(
    ("ending", "begins"),
    [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")],
)
def test_a_picture_is_written(
    tmp_path: Path, ending: str, begins: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"picture.{ending}"
    assert main(["plot", str(REPORTS / "mixed"), "-o", str(path), *THROUGHPUT]) == 0
    assert path.read_bytes().startswith(begins)
    assert capsys.readouterr().out == f"{path}\n"


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder with one report."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "SchedulingThroughput_a_2026-11-21T17:21:09Z.json"
    path.write_text('{"max": 1}')
    return path


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("REPORTS/mixed -o x.txt", 2, "--output: Format 'txt' is not supported"),
        ("REPORTS/mixed -o nowhere/x.png", 3, "cannot write nowhere/x.png: No such file"),
        ("REPORTS/mixed --measurement Nothing", 2, "--measurement: no report has a figure of it"),
        ("nowhere", 2, "nowhere: there is no report of a measurement"),
        ("REPORT --by size", 3, "generatedConfig_a.yaml: cannot read"),
    ],
)
def test_what_cannot_be_drawn(
    alone: Path, capsys: pytest.CaptureFixture[str], line: str, code: int, said: str
) -> None:
    line = line.replace("REPORTS", str(REPORTS)).replace("REPORT ", f"{alone} ")
    assert main(["plot", *line.split()]) == code
    assert said in capsys.readouterr().err
    assert [path for path in alone.parent.iterdir() if path != alone] == []


def test_without_matplotlib_it_says_how_to_get_it() -> None:
    program = (
        "import sys; sys.modules['matplotlib'] = None; "
        f"from clusterload.cli import main; sys.exit(main(['plot', {str(REPORTS / 'mixed')!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"clusterload: {NO_MATPLOTLIB}\n"
