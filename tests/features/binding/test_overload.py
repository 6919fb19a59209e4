"""More binds than clientConnection.qps allows: what is bound meanwhile, and afterwards."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from extender.core.kube.calls import JSON_PATCH, pod_path
from extender.core.kube.client import ApiClient
from extender.core.kube.failures import NotSentError
from extender.core.kube.flowcontrol import FlowControl
from extender.core.kube.limits import WITHIN
from extender.core.kube.pacing import Timing
from extender.core.kube.reader import ObjectReader
from extender.core.wire.objects import PodReader
from extender.features.binding.binder import Binder
from extender.features.binding.binds import ANSWER_SECONDS
from extender.features.binding.outcome import BindOutcome, Bound
from tests.builders import model_pod, pod
from tests.kube.binding_api import PODS, BindingApi
from tests.kube.fake_api import answering, failure
from tests.kube.pulse import Pulse
from tests.kube.rig import RecordingObserver, credentials_for
from tests.kube.virtual_loop import run_virtually

QPS, BURST = 200.0, 400


class World:
    """A fake API server, and a binder with a limit, all in virtual time."""

    def __init__(self, api: BindingApi, client: ApiClient, observer: RecordingObserver) -> None:
        self.api = api
        self.client = client
        self.observer = observer
        self.binder = Binder(client, ObjectReader(client, PodReader()))
        self.loop = asyncio.get_running_loop()
        self.ended: list[tuple[float, float, Bound]] = []
        """Of each bind, when it was asked for, when it ended, and how."""
        self._asked = 0

    async def offer(self, rate: int, seconds: float) -> list[asyncio.Task[Bound]]:
        """Ask for so many binds a second, whatever becomes of them."""
        tasks = []
        for _ in range(round(rate * seconds)):
            tasks.append(asyncio.create_task(self.bind()))
            await asyncio.sleep(1 / rate)
        return tasks

    async def bind(self) -> Bound:
        """Ask for a new pod to be bound."""
        self._asked += 1
        raw = pod(f"p{self._asked}")
        self.api.pods.put(raw)
        start = self.loop.time()
        bound = await self.binder.bind(model_pod(raw), "n", ANSWER_SECONDS)
        self.ended.append((start, self.loop.time(), bound))
        return bound

    def bound_in(self, start: float, end: float) -> int:
        """Return how many pods were bound in this time."""
        return sum(start <= at < end for at, _ in self.api.bound)

    @property
    def outcomes(self) -> Counter[BindOutcome]:
        """Return how many binds ended in which way."""
        return Counter(bound.outcome for _, _, bound in self.ended)


@asynccontextmanager
async def world(qps: float = QPS, burst: int = BURST) -> AsyncIterator[World]:
    """Set everything up."""
    clock = asyncio.get_running_loop().time
    pulse = Pulse()
    observer = RecordingObserver(pulse)
    timing = Timing(clock=clock)
    limit = FlowControl(qps, burst, timing)
    async with (
        BindingApi(pulse, seconds=0.005, clock=clock) as api,
        ApiClient(
            credentials_for(api.url), observer=observer, limit=limit, timing=timing
        ) as client,
    ):
        yield World(api, client, observer)


@pytest.mark.thorough
def test_binds_go_on_at_the_rate_through_an_overload_and_after_it() -> None:
    async def main() -> None:
        async with world() as there:
            tasks = [*await there.offer(300, 12), *await there.offer(110, 6)]
            await asyncio.gather(*tasks)
            for second in range(3, 12):
                assert there.bound_in(second, second + 1) >= 0.9 * QPS
            # What had waited is through in two seconds; then all that is asked for is bound.
            for second in range(14, 18):
                assert there.bound_in(second, second + 1) >= 0.9 * 110
            assert set(there.outcomes) == {BindOutcome.BOUND, BindOutcome.REFUSED}
            assert max(end - start for start, end, _ in there.ended) < ANSWER_SECONDS
            # Of those that were not sent each knew it at once.
            refused = [e - s for s, e, b in there.ended if b.outcome is BindOutcome.REFUSED]
            assert max(refused) == 0
            assert len(refused) == len(there.observer.refused)

    run_virtually(main())


def test_what_was_refused_has_taken_nothing() -> None:
    async def main() -> None:
        async with world(qps=10, burst=20) as there:
            await asyncio.gather(*(there.bind() for _ in range(1000)))
            done = there.outcomes[BindOutcome.BOUND]
            assert there.api.posted == done < 50
            await asyncio.sleep(3)
            await asyncio.gather(*(there.bind() for _ in range(10)))
            assert there.outcomes[BindOutcome.BOUND] == done + 10

    run_virtually(main())


def test_binds_in_excess_hold_up_neither_reads_nor_patches_nor_watches() -> None:
    async def main() -> None:
        async with world() as there:
            flood = asyncio.create_task(there.offer(600, 2.5))
            await asyncio.sleep(1.5)
            start = there.loop.time()
            status = f"{pod_path('default/p1')}/status"
            patch = b'[{"op": "add", "path": "/status/nominatedNodeName", "value": "n"}]'
            for _ in range(5):
                await there.client.get(PODS, {})
                await there.client.patch(status, patch, JSON_PATCH, within=WITHIN.nomination)
            params = {"watch": "true", "resourceVersion": str(there.api.version)}
            async with there.client.stream(PODS, params):
                assert there.loop.time() - start < 0.2
            await asyncio.gather(*await flood)

    run_virtually(main())


def test_a_relist_in_excess_holds_up_no_bind() -> None:
    async def main() -> None:
        async with world(qps=50, burst=50) as there:

            async def pages() -> None:
                while True:
                    await there.client.get(PODS, {})

            relists = [asyncio.create_task(pages()) for _ in range(20)]
            await asyncio.sleep(5)
            tasks = await there.offer(30, 5)
            await asyncio.gather(*tasks)
            for task in relists:
                task.cancel()
            await asyncio.gather(*relists, return_exceptions=True)
            assert there.outcomes == {BindOutcome.BOUND: 150}
            assert max(end - start for start, end, _ in there.ended) < 0.2

    run_virtually(main())


@pytest.mark.parametrize(
    ("retry_after", "times", "outcome"),
    [
        pytest.param("1", 1, BindOutcome.BOUND, id="once"),
        pytest.param("1", 2, BindOutcome.BOUND, id="twice"),
        pytest.param("1", 4, BindOutcome.REFUSED, id="so often that the time is over"),
        pytest.param("3", 1, BindOutcome.REFUSED, id="for longer than there is time"),
        pytest.param(None, 1, BindOutcome.REFUSED, id="without saying for how long"),
    ],
)
def test_a_server_that_asks_for_patience(
    retry_after: str | None, times: int, outcome: BindOutcome
) -> None:
    headers = {} if retry_after is None else {"Retry-After": retry_after}

    async def main() -> None:
        async with world() as there:
            busy = answering(lambda: failure(429, "TooManyRequests", "busy", headers=headers))
            there.api.binds.extend([busy] * times)
            bound = await there.bind()
            assert bound.outcome is outcome
            assert ("busy" in bound.why) is (outcome is BindOutcome.REFUSED)
            assert there.loop.time() < ANSWER_SECONDS
            if retry_after == "3":
                assert there.loop.time() < 0.1, "nobody waits in vain"

    run_virtually(main())


def test_the_server_is_told_how_long_it_may_take() -> None:
    async def main() -> None:
        async with world() as there:
            await there.client.get(PODS, {}, within=2.0)
            await there.client.get(PODS, {})
            # It spends a quarter of that in its queue.
            assert [seen.params for seen in there.api.seen] == [{"timeout": "8.0s"}, {}]

    run_virtually(main())


def test_time_that_ends_before_a_turn_has_sent_nothing() -> None:
    async def main() -> None:
        async with world() as there:
            await there.api.stop()
            with pytest.raises(NotSentError):
                await there.client.post(f"{PODS}/x", b"{}", within=2.0)
            bound = await there.bind()
            assert bound.outcome is BindOutcome.REFUSED, "nobody listens, so nobody binds"

    run_virtually(main())
