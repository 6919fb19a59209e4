"""The command that runs many seeds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from simulation.command import main

ROOT = Path(__file__).parents[2]


@pytest.mark.thorough
def test_it_ends_after_enough_binds_of_a_theme(capsys: pytest.CaptureFixture[str]) -> None:
    # The seed before is about something else.
    asked = ["--first", "1", "--theme", "contention", "--binds", "1", "--jobs", "1"]
    assert main(asked) == 0
    told = capsys.readouterr().out
    assert "1 seeds (2 to 2)" in told
    assert "contested binds" in told
    assert "kill extender" in told
    assert "seeds: 2\n" in told


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_it_reports_when_it_is_interrupted(stop: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "simulation", "--jobs", "2"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("seeds from 1 on")
        if stop is signal.SIGINT:
            # As a terminal does: all processes are sent it.
            os.killpg(process.pid, stop)
        else:
            process.send_signal(stop)
        told, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "interrupted" in told
    assert "contested binds" in told
