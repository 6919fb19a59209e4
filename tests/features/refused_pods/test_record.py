"""What a preemption makes of what the watch shows of its pod."""

from __future__ import annotations

from functools import partial

import pytest

from extender.core.verbs.nominating import Observed
from extender.features.refused_pods.record import LAG_SECONDS, Preemption
from tests.builders import model_pod
from tests.important_pods import important

WAITS = partial(Observed, known=True, node=None, nominated=None)
SOON, LATE = LAG_SECONDS / 2, LAG_SECONDS


@pytest.mark.parametrize(
    ("seen", "after", "shown", "result", "ours"),
    [
        pytest.param(WAITS(node="a"), SOON, True, "bound", True, id="bound there"),
        pytest.param(WAITS(node="b"), SOON, True, "elsewhere", True, id="bound elsewhere"),
        pytest.param(WAITS(node="b", certain=False), SOON, True, None, True, id="perhaps bound"),
        pytest.param(WAITS(known=False), SOON, True, "gone", True, id="gone"),
        pytest.param(WAITS(nominated="a"), SOON, False, None, True, id="nominated there"),
        pytest.param(WAITS(), LATE, False, None, False, id="its nomination was never shown"),
        pytest.param(WAITS(), LATE, True, None, True, id="its nomination was wiped out"),
        pytest.param(WAITS(nominated="b"), SOON, False, None, False, id="the watch may be behind"),
        pytest.param(WAITS(nominated="b"), LATE, False, "overtaken", False, id="the watch is not"),
        pytest.param(WAITS(nominated="b"), SOON, True, "overtaken", False, id="it showed ours"),
    ],
)
def test_what_becomes_of_a_preemption(
    seen: Observed, after: float, result: str | None, *, shown: bool, ours: bool
) -> None:
    preemption = Preemption(model_pod(important()), "a", 0.0, {}, 60.0, nominated_at=100.0)
    preemption.shown = shown
    assert preemption.over_as(seen, 100.0 + after) == result
    assert preemption.is_ours(seen) is ours
