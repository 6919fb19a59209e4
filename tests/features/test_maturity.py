"""What is said of how well each feature is proven is said everywhere alike."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from extender import runtime
from extender.core.config import Config
from extender.core.config.features import Feature, Maturity, defaults, features
from release.chart import CHART
from tests.deploy.places import ROOT

EACH = pytest.mark.parametrize("feature", [pytest.param(each, id=each.name) for each in features()])


@EACH
def test_its_page_says_it(feature: Feature) -> None:
    page = (ROOT / "docs" / f"{feature.component}.md").read_text()
    assert re.findall("^Maturity: (.*)$", page, re.MULTILINE) == [
        f"[{feature.maturity}](promises.md#maturity)."
    ]


@EACH
def test_the_value_of_the_chart_says_it(feature: Feature) -> None:
    values = (CHART / "values.yaml").read_text()
    described = re.search(rf"((?:^#.*\n)+){feature.field}:", values, re.MULTILINE)
    if described is not None:
        said = re.findall(r"\b(Alpha|Beta)\b", described[1])
        stable = feature.maturity is Maturity.STABLE
        assert said == ([] if stable else [feature.maturity.capitalize()])


@pytest.mark.parametrize("maturity", Maturity)
def test_the_log_names_what_is_alpha_and_on(
    maturity: Maturity, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def enabled(_: Config) -> list[Feature]:
        made = Feature(name="made_up", maturity=maturity, enabled=lambda _: True, words="")
        return [made, replace(made, maturity=Maturity.STABLE)]

    monkeypatch.setattr(runtime, "enabled", enabled)
    runtime.tell_of_alpha(defaults())
    alpha = "made_up is on and alpha: it may change or go in any release, see docs/promises.md"
    assert caplog.messages == ([alpha] if maturity is Maturity.ALPHA else [])


def leave_out(names: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Do what the Dockerfile does with its argument WITHOUT, in a copy."""
    for package in ("extender", "affinityctl"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("*.pyc"))
    text = (ROOT / "Dockerfile").read_text()
    (script,) = re.findall(r"^RUN (for name in \$WITHOUT;.*?done)$", text, re.MULTILINE | re.DOTALL)
    environ = {"PATH": "/usr/bin:/bin", "WITHOUT": names}
    return subprocess.run(
        ["/bin/sh", "-ec", script.replace("\\\n", "")],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_image_is_built_without_features(tmp_path: Path) -> None:
    names = [each.name for each in features() if each.maturity is not Maturity.STABLE]
    assert leave_out(" ".join(names), tmp_path).returncode == 0
    left = "from extender.features import FEATURES; from affinityctl.commands import COMMANDS\n"
    lines = f"{left}print(*FEATURES, *COMMANDS)\nfrom affinityctl import cli\n"
    lines += "raise SystemExit(cli.main(['serve', '--mode', 'replace', '--validate-only']))"
    done = subprocess.run(
        [sys.executable, "-c", lines], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    there = set(done.stdout.splitlines()[0].split())
    assert there.isdisjoint(names)
    assert {each.name for each in features()} - set(names) <= there


def test_a_feature_that_is_misspelt_ends_the_build(tmp_path: Path) -> None:
    assert leave_out("no_such_feature", tmp_path).returncode == 1
