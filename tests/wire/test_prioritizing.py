"""Scores are written as Go reads them."""

from __future__ import annotations

import pytest

from extender.core.verbs.prioritizing import Scored
from extender.core.wire.extender_results import write_scores


@pytest.mark.parametrize(
    ("scored", "expected"),
    [
        pytest.param(Scored(), b"[]", id="nothing to say"),
        pytest.param(
            Scored(["a", "b", "c"], [9, -1, 4], {9: 20, -1: 0, 4: 7}),
            b'[{"Host":"a","Score":20},{"Host":"c","Score":7}]',
            id="hosts that score 0 are left out",
        ),
        pytest.param(
            Scored(["a", "b"], [-1, 4], {-1: 0, 4: 7}),
            b'[{"Host":"b","Score":7}]',
            id="the first host, too",
        ),
        pytest.param(Scored(["b"], [5], {5: 1}), b'[{"Host":"b","Score":1}]', id="one host"),
    ],
)
def test_priorities(scored: Scored, expected: bytes) -> None:
    assert write_scores(scored) == expected
