"""Names and shapes of report files."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from clusterload.reports import Case, Summary, percentile, perf_data, write_junit

if TYPE_CHECKING:
    from pathlib import Path

AT = datetime(2026, 3, 1, 12, 0, 5, 999_999, tzinfo=UTC)


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        pytest.param(0, (0, 0, 0), id="nothing"),
        pytest.param(1, (1, 1, 1), id="one value"),
        pytest.param(2, (1, 2, 2), id="two values"),
        pytest.param(10, (5, 9, 10), id="ten values"),
        pytest.param(100, (50, 90, 99), id="a hundred values"),
        pytest.param(101, (51, 91, 100), id="one more"),
    ],
)
def test_percentiles_are_values_that_occurred(
    count: int, expected: tuple[float, float, float]
) -> None:
    ordered = [float(each) for each in range(1, count + 1)]

    assert tuple(percentile(ordered, each) for each in (50, 90, 99)) == expected


def test_the_name_of_a_file_has_measurement_test_and_time() -> None:
    name = Summary("PodStartupLatency_Pods", {}, AT).file_name("affinity")

    assert name == "PodStartupLatency_Pods_affinity_2026-03-01T12:00:05Z.json"


def test_the_text_is_as_go_writes_it() -> None:
    text = Summary("A", {"whole": 5.0, "part": 0.5, "inner": {"list": [1.0]}}, AT).text()

    assert text == (
        '{\n  "whole": 5,\n  "part": 0.5,\n  "inner": {\n    "list": [\n      1\n    ]\n  }\n}\n'
    )


def test_a_summary_is_written_under_its_name(tmp_path: Path) -> None:
    Summary("A", {"x": 1}, AT).write(tmp_path, "test")

    assert json.loads((tmp_path / "A_test_2026-03-01T12:00:05Z.json").read_text()) == {"x": 1}


def test_perf_data_leaves_out_labels_that_are_not_there() -> None:
    content = perf_data("v1", [({"b": 1, "a": 2}, "ms", {}), ({"c": 3}, "s", {"verb": "filter"})])

    assert content == {
        "version": "v1",
        "dataItems": [
            {"data": {"a": 2, "b": 1}, "unit": "ms"},
            {"data": {"c": 3}, "unit": "s", "labels": {"verb": "filter"}},
        ],
    }
    assert perf_data("v1", [])["dataItems"] is None


def test_junit_counts_cases_and_failures(tmp_path: Path) -> None:
    cases = [Case("test overall", 2.0), Case("test: [step: 01] a", 1.5, ["<bad>", "worse\x00"])]

    write_junit(tmp_path, cases, 3.14159)

    suite = ET.fromstring((tmp_path / "junit.xml").read_text())  # noqa: S314 - our own
    assert suite.attrib == {
        "name": "ClusterLoaderV2",
        "tests": "2",
        "failures": "1",
        "errors": "0",
        "time": "3.141",
    }
    good, bad = suite
    assert good.attrib == {"name": "test overall", "classname": "ClusterLoaderV2", "time": "2"}
    assert list(good) == []
    (failure,) = bad
    assert failure.attrib == {"type": "Failure"}
    assert failure.text == "<bad>\nworse\N{REPLACEMENT CHARACTER}"
