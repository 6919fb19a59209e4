"""What is put off is done in its order, in steps, and all of it."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from extender.core.cluster.counts.deferred_work import DeferredWork


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(1, 7))
def test_each_step_is_done_once_and_in_order(lengths: list[int], steps: int) -> None:
    done: list[tuple[int, int]] = []

    def work(number: int, length: int) -> Iterator[None]:
        for step in range(length):
            done.append((number, step))
            yield

    deferred = DeferredWork()
    for number, length in enumerate(lengths):
        deferred.put_off(work(number, length))
    while deferred:
        before = len(done)
        assert deferred.do(steps) == len(done) - before <= steps
    assert done == [(number, step) for number, each in enumerate(lengths) for step in range(each)]


def test_without_a_bound_everything_is_done() -> None:
    deferred = DeferredWork()
    for _ in range(3):
        deferred.put_off(iter([None] * 5))
    assert deferred.do() == 15
    assert not deferred
