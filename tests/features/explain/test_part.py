"""Nothing of it is imported until it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from extender.core.cluster.state import ClusterState
from extender.features.explain.part import Explaining
from tests.test_runtime import proposes_what_shows_it
from tests.wired import context_over

CODE = """
import sys
from extender.runtime import serve
from extender.core.parts import build_parts
import extender.features.explain.part
print(*sys.modules)
"""


def test_it_is_imported_by_the_first_request() -> None:
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    late = ("extender.diagnosis",)
    own = ("extender.features.explain.answer", "extender.features.explain.page")
    assert [each for each in done.stdout.split() if each.startswith((*late, *own))] == []


def test_what_answers_is_made_once_and_shares_its_turns() -> None:
    part = Explaining(context_over(ClusterState()))
    assert part.explain is part.explain


@pytest.mark.parametrize("mode", ["assist", "shadow"])
async def test_it_is_proposed_where_filter_refuses_nothing(mode: str) -> None:
    await proposes_what_shows_it(mode)
