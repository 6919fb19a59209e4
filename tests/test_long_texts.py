"""Texts of others, tens of thousands of digits long: no reader takes time by their square."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from affinityctl import cli
from affinityctl.commands.simulate.whatif.successors import ordinal
from affinityctl.reading.label_selectors import parse_selector
from affinityctl.scheduler.file import seconds
from clusterload.durations import parse_duration
from clusterload.gotemplate import Template, TemplateError
from extender.core.errors import ExtenderError
from extender.core.kube.failures import LONGEST_WAIT, failure_from_body
from extender.core.kube.mirroring import is_older
from extender.core.kube.reflector import _is_as_new
from extender.core.wire.placement import moment
from extender.core.wire.quantities import read_quantity
from tests.builders import model_pod, pod

LONG = 100_000
READERS: dict[str, Callable[[str], object]] = {
    "quantity": read_quantity,
    "duration of a scheduler's file": seconds,
    "duration of a load test": parse_duration,
    "number of a template": lambda text: Template(f"{{{{ {text} }}}}", "a", {}),
    "time": moment,
    "version": lambda text: is_older(text, "1"),
    "selector": lambda text: parse_selector(text, "-l"),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("end", ["", "x", ".", "h"])
def test_it_takes_no_second(read: Callable[[str], object], end: str) -> None:
    began = time.process_time()
    with suppress(ValueError, ExtenderError):
        read("9" * LONG + end)
    # A few milliseconds, where it was a minute and more.
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize("version", ["9" * 5_000, "٣", "-1", "1_0", ""])
def test_what_is_no_version_of_an_api_server_is_neither_older_nor_as_new(version: str) -> None:
    assert not is_older(version, "1")
    assert not is_older("1", version)
    assert not _is_as_new(version, "1")
    assert not _is_as_new("1", version)


@pytest.mark.parametrize(
    ("header", "details", "expected"),
    [
        ("9" * 400, "1", LONGEST_WAIT),
        (None, "1e308", LONGEST_WAIT),
        (None, "-5", 0.0),
        ("7", "1", 7.0),
        (None, "null", None),
    ],
)
def test_no_server_has_us_wait_for_ever(
    header: str | None, details: str, expected: float | None
) -> None:
    body = f'{{"details": {{"retryAfterSeconds": {details}}}}}'.encode()
    assert failure_from_body(body, status=429, retry_after=header).retry_after == expected


def test_a_number_that_nobody_counts_to_is_no_ordinal_and_no_release(tmp_path: Path) -> None:
    made = pod(f"web-{'9' * 5_000}").owned_by("StatefulSet/web")
    assert ordinal(model_pod(made)) == 0
    image = f"registry.k8s.io/kube-scheduler:v1.{'9' * 5_000}"
    made["spec"]["containers"] = [{"name": "s", "image": image, "args": ["--feature-gates=A=true"]}]
    path = tmp_path / "pod.json"
    path.write_text(json.dumps(made))
    assert cli.main(["lint", str(path)]) in {0, 1}


@pytest.mark.parametrize("text", ["{{" + "(" * 5_000 + "}}", "{{if .A}}" * 5_000])
def test_a_template_that_is_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(TemplateError, match="nested too deeply"):
        Template(text, "a", {})
