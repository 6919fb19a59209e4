"""What is said of the version."""

from __future__ import annotations

import json

import pytest

import extender
from affinityctl import cli


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["version"]) == 0
    line = capsys.readouterr().out
    assert line.startswith(f"affinity-extender {extender.__version__} (Python 3")
    assert cli.main(["version", "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert line == f"{told['name']} {told['version']} (Python {told['pythonVersion']})\n"
