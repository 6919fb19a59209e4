"""A configuration of an older version is read, with a warning that says what converts it."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from extender.core.config import API_VERSION, KIND, effective, layers
from extender.core.config.features import Feature, Maturity, defaults, features
from extender.core.config.schema import OLD_API_VERSION

OLD = f"""\
# ours
apiVersion: {OLD_API_VERSION}  # of the first release
kind: {KIND}
mode: replace   # see {OLD_API_VERSION}
serving: {{port: 1}}
"""
NEW = OLD.replace(OLD_API_VERSION, API_VERSION, 1)


def loaded(text: str, *, said: list[str]) -> dict[str, object]:
    flags = argparse.Namespace(config="c.yaml")
    return effective(layers.load(flags, lambda _: text, said.append))


def test_an_old_file_is_read_as_the_new_one_with_a_warning() -> None:
    said: list[str] = []
    assert loaded(OLD, said=said) == loaded(NEW, said=said)
    how = f"write it as {API_VERSION}: affinity-extender config convert c.yaml"
    assert said == [f"c.yaml: apiVersion {OLD_API_VERSION} is read until release 2.0; {how}"]


EACH = pytest.mark.parametrize("feature", [pytest.param(each, id=each.name) for each in features()])


@EACH
def test_what_is_not_stable_is_off_by_default(feature: Feature) -> None:
    assert feature.maturity is Maturity.STABLE or not feature.enabled(defaults())


def test_a_server_logs_the_warning_and_a_check_says_it(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(OLD)
    lines = "from affinityctl import cli; from extender import runtime\nruntime.serve = print\n"
    for flags, begins in ((["--logging-format=json"], "{"), (["--validate-only"], "affinity-")):
        run = f"{lines}cli.main(['serve', '--config', {str(path)!r}, *{flags}])"
        command = [sys.executable, "-c", run]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        (line,) = done.stderr.splitlines()
        assert f"config convert {path}" in line
        assert line.startswith(begins)
