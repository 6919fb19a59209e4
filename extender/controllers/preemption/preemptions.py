"""Sets of victims: a node is nominated, they are evicted, and the preemptor waits for its place.

In this order, so that whoever comes to look in between, after a crash or as another replica, finds
by the nomination where victims were to make room: it goes on there, and chooses no others. Who is
second to nominate is told so by the API server, and evicts nobody.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from extender.cluster.state import ClusterState
from extender.controllers.patching import Patched, patch_nomination
from extender.controllers.preemption.evictions import Evictions, Order
from extender.controllers.preemption.record import Preemption, Record, State
from extender.controllers.preemption.records import Records
from extender.controllers.reconciling import LOOK_SECONDS
from extender.errors import ExtenderError
from extender.metrics import Metrics
from extender.model.objects import Pod
from extender.ports import GiveWay, Nominator
from extender.timing import LogThrottle
from extender.verbs.grounds import ground_of
from extender.verbs.nominating import Observed, observe
from extender.verbs.plugins import Plugins
from extender.verbs.preempting import fits_without
from extender.verbs.victims import Candidate, Preemptor, on_node

SHOWN_SECONDS = 5.0
"""How long a nomination counts that the watch does not show."""
LAG_SECONDS = 2.0
"""How long the watch may take to show that a pod is being deleted."""
RENEWAL_SECONDS = 1.0
"""Between two requests to set a nomination that was wiped out."""
EVICTING_SECONDS = 60.0
"""How long it is tried to have victims deleted."""
FIRST_RETRY_SECONDS = 0.5
LONGEST_RETRY_SECONDS = 8.0
LOG_SECONDS = 60.0
"""Between two lines about failures of the same kind."""
BINDING_SECONDS = 10.0
"""How long the preemptor may take to be bound once its victims are gone."""

_log = logging.getLogger(__name__)


class Preemptions:
    """Begins sets of victims, carries them out and ends them."""

    def __init__(
        self,
        state: ClusterState,
        records: Records,
        evictions: Evictions,
        nominator: Nominator,
        *,
        metrics: Metrics,
        plugins: Plugins,
        give_way: GiveWay | None,
        clock: Callable[[], float],
    ) -> None:
        self._state = state
        self._records = records
        self._evictions = evictions
        self._nominator = nominator
        self._log = LogThrottle(_log, seconds=LOG_SECONDS)
        self._metrics = metrics
        self._plugins = plugins
        self._give_way = give_way
        self._clock = clock

    async def begin(
        self, record: Record, preemptor: Preemptor, scheduler: str, candidate: Candidate
    ) -> float | None:
        """Nominate a node and evict the victims on it; return when to look again, in seconds.

        Nothing is awaited before the nomination counts here, so that of two preemptors that exclude
        each other the second finds the first one there.
        """
        now = self._clock()
        preemption = Preemption(
            preemptor,
            scheduler,
            candidate.node,
            {victim.uid: victim for victim in candidate.victims},
            now + EVICTING_SECONDS,
        )
        self._records.begin(record, preemption)
        self._state.expect_nomination(preemption.pod, candidate.node, now + SHOWN_SECONDS)
        nominated = False
        try:
            if await self._evictions.may_evict(candidate.victims[0]):
                nominated = await self._nominate(record, preemption)
        finally:
            if not nominated:
                self._state.give_up_nomination(record.uid)
                self._put_off(record)
        if not nominated:
            return None
        preemption.state = State.EVICTING
        self._metrics.count_preemption("started")
        _log.info(
            "preempting on %s for %s: %s",
            candidate.node, preemption.pod.key, ", ".join(each.key for each in candidate.victims),
        )  # fmt: skip
        return await self.look_after(record, preemption)

    async def look_after(self, record: Record, preemption: Preemption) -> float | None:
        """See what became of a set of victims; return when to look again, in seconds."""
        seen = observe(self._state, preemption.pod)
        ending = self._ending(preemption, seen)
        if ending is not None:
            self._end(record, ending)
            return None
        if seen.node is not None or preemption.unwanted:
            # It is being bound. Should that come to nothing, it is refused again.
            return LOOK_SECONDS
        if preemption.state is State.EVICTING:
            return await self._evict(record, preemption)
        left = self._left(preemption)
        if not left:
            return await self._wait_for_bind(record, preemption)
        now = self._clock()
        if now - preemption.evicted_at >= LAG_SECONDS and not all(each.deleting for each in left):
            # Somebody gave up on its deletion, or a lost answer was no success after all.
            preemption.state, preemption.deadline = State.EVICTING, now + EVICTING_SECONDS
            return await self._evict(record, preemption)
        await self._renew(preemption, seen)
        return LOOK_SECONDS

    def _ending(self, preemption: Preemption, seen: Observed) -> str | None:
        """Return as what a set of victims is over, None when it is not."""
        if seen.node is not None and seen.certain:
            return "bound" if seen.node == preemption.node else "elsewhere"
        if not seen.known:
            return "gone"
        if seen.nominated not in {None, preemption.node}:
            lagging = self._clock() - preemption.nominated_at < LAG_SECONDS
            return None if lagging else "overtaken"
        return None

    def _left(self, preemption: Preemption) -> list[Pod]:
        """Return the victims that are still there."""
        found = (self._state.pod(each.key, each.uid) for each in preemption.victims.values())
        return [each for each in found if each is not None]

    # The nomination

    async def _nominate(self, record: Record, preemption: Preemption) -> bool:
        """Have the API server nominate the node; False unless it certainly has."""
        pod, node = preemption.pod, preemption.node
        if self._give_way is not None and node in await self._give_way(pod, {node}):
            return False
        seen = observe(self._state, pod)
        if not seen.known or seen.node is not None or preemption.unwanted:
            return False
        preemption.nominated_at = self._clock()
        if seen.nominated == node:
            return True
        record.remember(node, self._clock())
        patched = await self._patch(pod, seen.nominated, node)
        if patched in {Patched.OVERTAKEN, Patched.REFUSED}:
            record.forget_node()
        if patched is not Patched.DONE:
            result = "overtaken" if patched is Patched.OVERTAKEN else "failed"
            self._metrics.count_preemption(result)
        return patched is Patched.DONE

    async def _patch(self, pod: Pod, before: str | None, node: str | None) -> Patched:
        """Change the field from `before`, and warn of what nobody can have wanted."""

        def complain(error: ExtenderError) -> None:
            what = "%s could not be nominated to %s: %s"
            self._log.log(logging.WARNING, type(error).__name__, what, pod.key, node, error)

        return await patch_nomination(self._nominator, pod, before, node, complain)

    async def _renew(self, preemption: Preemption, seen: Observed) -> None:
        """Nominate the node again if the scheduler has wiped that out, as after an error."""
        now = self._clock()
        if seen.nominated is None and now - preemption.nominated_at >= RENEWAL_SECONDS:
            preemption.nominated_at = now
            self._state.expect_nomination(preemption.pod, preemption.node, now + SHOWN_SECONDS)
            await self._patch(preemption.pod, None, preemption.node)

    async def _withdraw(self, preemption: Preemption) -> None:
        """Take the nomination back: it would hold a place that does not come."""
        self._state.give_up_nomination(preemption.pod.uid)
        await self._patch(preemption.pod, preemption.node, None)

    async def _clear_lesser(self, preemption: Preemption) -> None:
        """End the nominations of less important pods there, which are to look elsewhere."""
        preemption.cleared = True
        node, priority = preemption.node, preemption.pod.priority
        lesser = [each for each in self._state.nominated.on(node) if each.priority < priority]
        await asyncio.gather(*(self._patch(each, node, None) for each in lesser))

    # The victims

    async def _evict(self, record: Record, preemption: Preemption) -> float | None:
        """Have the victims deleted that still are to go, as things are now."""
        now = self._clock()
        if preemption.not_before > now:
            return preemption.not_before - now
        pod, node = preemption.pod, preemption.node
        candidate = on_node(self._state, preemption.preemptor, self._plugins, node)
        if candidate is None:
            if fits_without(self._state, pod, node, (), self._plugins):
                return self._wait(preemption)
            await self._give_up(record, preemption, "useless")
            return None
        if now >= preemption.deadline:
            await self._give_up(record, preemption, "failed")
            return None
        await self._order(preemption, preemption.take_over(candidate))
        return LOOK_SECONDS if preemption.state is State.WAITING else 0.0

    async def _order(self, preemption: Preemption, victims: Sequence[Pod]) -> None:
        pod = preemption.pod
        grounds = {each.uid: self._ground(pod, each, preemption.node) for each in victims}
        order = Order(
            pod,
            f"{preemption.scheduler}: {ACCOMMODATES} (uid {pod.uid})",
            lambda victim: grounds[victim.uid],
            lambda: self._is_wanted(preemption),
        )
        if not preemption.cleared:
            await self._clear_lesser(preemption)
        if await self._evictions.evict(victims, order):
            self._wait(preemption)
            return
        pause = min(FIRST_RETRY_SECONDS * 2**preemption.tries, LONGEST_RETRY_SECONDS)
        preemption.tries += 1
        preemption.not_before = self._clock() + pause

    def _is_wanted(self, preemption: Preemption) -> bool:
        seen = observe(self._state, preemption.pod)
        return (
            not preemption.unwanted
            and seen.node is None
            and self._ending(preemption, seen) is None
            and self._state.doubt is None
        )

    def _ground(self, pod: Pod, victim: Pod, node: str) -> str:
        why = ground_of(self._state, pod, victim, self._plugins)
        return f"Preempted by pod {pod.uid} on node {node}: {why}"

    # The end

    def _wait(self, preemption: Preemption) -> float:
        preemption.state, preemption.evicted_at = State.WAITING, self._clock()
        return LOOK_SECONDS

    async def _wait_for_bind(self, record: Record, preemption: Preemption) -> float | None:
        """Leave it to the scheduler to bind the pod; when it does not fit after all, look anew."""
        now = self._clock()
        if preemption.gone_at is None:
            preemption.gone_at = now
        fits = fits_without(self._state, preemption.pod, preemption.node, (), self._plugins)
        if fits and now - preemption.gone_at < BINDING_SECONDS:
            return LOOK_SECONDS
        await self._give_up(record, preemption, "useless")
        return None

    async def _give_up(self, record: Record, preemption: Preemption, result: str) -> None:
        """End a set of victims that comes to nothing."""
        if record.refusal is not None:
            record.refusal.pause(self._clock())
        self._end(record, result)
        await self._withdraw(preemption)

    def _put_off(self, record: Record) -> None:
        """Leave a pod alone for a while; nobody was evicted for it."""
        if record.refusal is not None:
            record.refusal.pause(self._clock())
        self._records.end(record)

    def _end(self, record: Record, result: str) -> None:
        self._metrics.count_preemption(result)
        if result in {"bound", "elsewhere", "gone"}:
            self._records.admit(record)
        record.forget_node()
        self._records.end(record)
