"""Configurations in ConfigMaps are looked at as files are; other ConfigMaps are skipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from affinityctl import cli
from extender.core.config import Mode
from tests.builders import pod
from tests.commands.lint.asking import found, linted, objects_of, ours, shipped


def config_map(name: str, **data: Any) -> dict[str, Any]:
    """Build a ConfigMap; what is no text is written as YAML."""
    texts = {
        f"{key}.yaml": value if isinstance(value, str) else yaml.safe_dump(value)
        for key, value in data.items()
    }
    return {"kind": "ConfigMap", "metadata": {"name": name, "namespace": "kube-system"}} | {
        "data": texts
    }


def serving(*flags: str) -> Any:
    made = pod("x")
    made["spec"]["containers"] = [{"name": "x", "args": ["serve", *flags]}]
    return made


def test_a_scheduler_is_held_against_the_extender_beside_it() -> None:
    two = config_map("both", config=ours("replace"), scheduler=shipped("assist"))
    report = linted(two)
    assert "bind-verb-missing" in found(report)
    assert {each.place.object for each in report.findings} == {
        "ConfigMap kube-system/both scheduler.yaml"
    }
    assert (report.objects, report.skipped) == (2, {})


def test_a_file_of_its_own_goes_before_a_config_map() -> None:
    mapped = config_map("x", config=ours("replace"))
    assert found(linted(mapped, shipped("assist"), ours("assist"))) == []


@pytest.mark.parametrize(
    "text",
    [
        "level: debug",
        "kind: [KubeSchedulerConfiguration",
        "#!/bin/sh\ncat <<EOF\nkind: AffinityExtenderConfiguration\nEOF",
        yaml.safe_dump({"kind": "KubeSchedulerConfiguration", "apiVersion": "x/v1beta3"}),
    ],
    ids=["something else", "broken", "a script", "a scheduler without extenders"],
)
def test_others_are_skipped(text: str) -> None:
    report = linted(config_map("x", other=text), config_map("y") | {"data": {"n": 5}})
    assert (found(report), report.skipped, report.objects) == ([], {"ConfigMap": 2}, 0)


def test_a_broken_one_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rendered.yaml"
    for kind, broken in (("config", ours("nonsense")), ("s", shipped("assist") | {"extender": []})):
        file.write_text(yaml.safe_dump(config_map("x", **{kind: broken})))
        assert cli.main(["lint", str(file)]) == 2
        assert "ConfigMap" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("pods", "mode"),
    [
        ([serving("--mode=replace")], Mode.REPLACE),
        ([serving("--config=x", "--mode", "shadow"), pod("p")], Mode.SHADOW),
        ([serving("--mode=replace"), serving("--mode=assist")], None),
        ([serving("--mode=other")], None),
        ([serving("--config=--mode")], None),
        ([pod("p")], None),
    ],
)
def test_the_mode_of_a_flag(pods: list[Any], mode: Mode | None) -> None:
    assert objects_of(pods).mode is mode


def test_the_flag_of_the_container_sets_the_mode(tmp_path: Path) -> None:
    """As the overlays do, which share one configuration."""
    scheduler = shipped("replace")
    del scheduler["profiles"][1:]  # what they need is refused in mode assist
    both = config_map("both", config=ours("assist"), scheduler=scheduler)
    file = tmp_path / "rendered.yaml"
    for flags, code in (((), 1), (("--mode=replace",), 0)):
        file.write_text(yaml.safe_dump_all([both, dict(serving(*flags))]))
        assert cli.main(["lint", str(file)]) == code
