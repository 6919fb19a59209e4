"""More requests than clientConnection.qps allows: each flow gets its part."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress

import pytest

from extender.core.kube.failures import ThrottledError
from extender.core.kube.flowcontrol import Flow, FlowControl
from extender.core.kube.pacing import Timing
from tests.kube.virtual_loop import run_virtually

QPS, BURST = 200.0, 400


def test_whoever_gives_up_while_waiting_has_sent_nothing_and_taken_nothing() -> None:
    async def main() -> None:
        clock = asyncio.get_running_loop().time
        control = FlowControl(10, 1, Timing(clock=clock))
        await control.admit(Flow.BINDS)
        waiting = [asyncio.create_task(control.admit(Flow.BINDS)) for _ in range(100)]
        await asyncio.sleep(0.01)
        for task in waiting[:-1]:
            task.cancel()
        await waiting[-1]
        assert clock() == pytest.approx(0.1)

    run_virtually(main())


def test_the_first_in_the_queue_gives_up_and_the_next_goes() -> None:
    async def main() -> None:
        clock = asyncio.get_running_loop().time
        control = FlowControl(10, 1, Timing(clock=clock))
        went: list[int] = []

        async def go(number: int) -> None:
            await control.admit(Flow.READS)
            went.append(number)

        tasks = [asyncio.create_task(go(number)) for number in range(5)]
        await asyncio.sleep(0.05)
        tasks[1].cancel()
        tasks[3].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert went == [0, 2, 4]
        assert clock() == pytest.approx(0.2)

    run_virtually(main())


def test_all_flows_together_keep_to_the_total() -> None:
    async def main() -> None:
        clock = asyncio.get_running_loop().time
        control = FlowControl(QPS, BURST, Timing(clock=clock))
        sent: Counter[Flow] = Counter()

        async def flood(flow: Flow) -> None:
            while True:
                await control.admit(flow)
                sent[flow] += 1

        tasks = [asyncio.create_task(flood(flow)) for flow in Flow for _ in range(3)]
        await asyncio.sleep(10)
        assert sum(sent.values()) == pytest.approx(BURST + 10 * QPS, rel=0.01)
        assert sent[Flow.BINDS] == pytest.approx(0.7 * (BURST + 10 * QPS), rel=0.02)
        assert sent[Flow.WATCHES] == pytest.approx(0.05 * (BURST + 10 * QPS), rel=0.05)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    run_virtually(main())


@pytest.mark.parametrize("rest", [0.5, 5.0, 3600.0])
def test_however_long_nothing_was_sent_no_more_goes_at_once_than_the_burst(rest: float) -> None:
    async def main() -> None:
        control = FlowControl(QPS, BURST, Timing(clock=asyncio.get_running_loop().time))
        left = float(BURST)
        for _ in range(3):
            went = 0
            for flow in [*Flow] * BURST:
                with suppress(ThrottledError):
                    await control.admit(flow, 0.0)
                    went += 1
            assert went == pytest.approx(left, abs=len(Flow))
            await asyncio.sleep(rest)
            left = min(rest * QPS, BURST)

    run_virtually(main())


def test_what_others_leave_is_for_whoever_asks() -> None:
    async def main() -> None:
        clock = asyncio.get_running_loop().time
        control = FlowControl(QPS, BURST, Timing(clock=clock))
        for _ in range(round(0.7 * BURST + 5 * QPS)):
            await control.admit(Flow.BINDS)
        assert clock() == pytest.approx(5.0, rel=0.01)
        with pytest.raises(ThrottledError, match=r"clientConnection\.qps is 200"):
            await control.admit(Flow.BINDS, 0.001)
        await control.admit(Flow.PATCHES, 0.0)

    run_virtually(main())
