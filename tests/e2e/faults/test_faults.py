"""A short run of what `make faults` does for as long as it is told to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.faults.campaign import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.e2e.controlplane.binaries import Binaries

SECONDS = 30.0


@pytest.mark.long
async def test_no_rule_is_broken_and_no_pod_stuck(
    binaries: Binaries, tmp_path: Path, start: int, say: Callable[[str], None]
) -> None:
    result = await run(binaries, tmp_path, start, SECONDS, say, brief=True)
    assert result.wrong == []
    assert result.counts["contested binds"] > 0
    assert sum(result.injected.values()) > 0
