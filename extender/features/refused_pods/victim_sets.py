"""Sets of victims: a node is nominated, they are evicted, and the preemptor waits for its place.

In this order, so that whoever comes to look in between, after a crash or as another replica, finds
by the nomination where victims were to make room: it goes on there, and chooses no others. Who is
second to nominate is told so by the API server, and evicts nobody. The scheduler may wipe out a
nomination, but not the marks of victims: they say for whom each goes, and come before any deletion.
Each step waits until the watch has shown the one before, and all that others did before it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from math import inf

from extender.core.controllers.context import ControllerContext
from extender.core.controllers.reconciling import LOOK_SECONDS
from extender.core.model import memory
from extender.core.model.lru_cache import CountedCache
from extender.core.model.objects import Pod
from extender.core.ports import Occurrence, ReleaseNomination
from extender.core.verbs.nominating import Observed, observe
from extender.core.verbs.preempting import fits_without
from extender.core.verbs.victims import Candidate, is_lost, on_node, victims_waited_for
from extender.features.refused_pods.evictions import Evictions
from extender.features.refused_pods.patches import Patches
from extender.features.refused_pods.record import LAG_SECONDS, Patched, Preemption, Record, State
from extender.features.refused_pods.records import Records

HELD_SECONDS = 5.0
"""How long a nomination counts that the watch does not show, if it is not looked after."""
EVICTING_SECONDS = 60.0
"""How long it is tried to have victims deleted."""
BINDING_SECONDS = 30.0
"""How long the preemptor may take to be bound once its victims are gone. Events wake it while they
go, and each time it is refused: the scheduler may let it back off for 10 s, its longest."""
MOST_SETS = 3
"""Sets of victims that go for one preemptor for nothing; no more pods are evicted for it then."""
TRYING_SECONDS = 0.1
"""How long the scheduler has to try it of its own accord, once they are gone."""

EXHAUSTED = (
    f"The extender evicts no more pods for this one: {MOST_SETS} times victims have gone, and it "
    "could not be bound where they had been. `affinity-extender explain` says what is in its way."
)
_LAST = frozenset(("bound", "elsewhere", "gone"))
"""Results after which a pod waits no more."""

_log = logging.getLogger(__name__)


class VictimSets:
    def __init__(
        self,
        context: ControllerContext,
        patches: Patches,
        records: Records[Preemption],
        evictions: Evictions,
        release_nomination: ReleaseNomination | None,
    ) -> None:
        self._state = context.state
        self._plugins = context.plugins
        self._clock = context.clocks.clock
        self._records = records
        self._evictions = evictions
        self._patches = patches
        self._release_nomination = release_nomination
        self._spent: CountedCache[str, int] = CountedCache(memory.MOST_SPENT_SETS)
        """How many sets have gone for nothing, by the uid of their preemptor."""

    def is_exhausted(self, uid: str) -> bool:
        return (self._spent.get(uid) or 0) >= MOST_SETS

    async def begin(
        self, record: Record[Preemption], preemptor: Pod, candidate: Candidate
    ) -> float | None:
        """Nominate a node and evict the victims on it; return when to look again, in seconds.

        Nothing is awaited before the nomination counts here, so that of two preemptors that exclude
        each other the second finds the first one there.
        """
        now = self._clock()
        preemption = Preemption(
            preemptor,
            candidate.node,
            now,
            {victim.uid: victim for victim in candidate.victims},
            now + EVICTING_SECONDS,
        )
        self._records.begin(record, preemption)
        self._hold(preemption)
        nominated = False
        try:
            if await self._evictions.may_evict(candidate.victims[0]):
                nominated = await self._nominate(record, preemption)
        finally:
            if not nominated:
                self._put_off(record)
        if not nominated:
            return None
        preemption.state = State.EVICTING
        victims = ", ".join(each.key for each in candidate.victims)
        self._count("started", preemption, f"victims: {victims}")
        _log.info("preempting on %s for %s: %s", candidate.node, preemption.pod.key, victims)
        return await self.look_after(record, preemption)

    async def look_after(self, record: Record[Preemption], preemption: Preemption) -> float | None:
        """See what became of a set of victims; return when to look again, in seconds."""
        seen = observe(self._state, preemption.pod)
        ending = preemption.over_as(seen, self._clock())
        if ending is not None:
            await self._end(record, preemption, ending)
            return None
        if seen.node is not None or preemption.unwanted:
            # It is being bound. Should that come to nothing, it is refused again.
            return LOOK_SECONDS
        if seen.nominated in {None, preemption.node}:
            self._hold(preemption)
        if preemption.state is State.EVICTING:
            return await self._evict(record, preemption, seen)
        left = self._left(preemption)
        if not left:
            return await self._wait_for_bind(record, preemption, seen)
        return await self._wait_for_victims(record, preemption, seen, left)

    async def _wait_for_victims(
        self,
        record: Record[Preemption],
        preemption: Preemption,
        seen: Observed,
        left: Sequence[Pod],
    ) -> float | None:
        now = self._clock()
        if now - preemption.evicted_at >= LAG_SECONDS and not all(
            each.status.deleting for each in left
        ):
            # Somebody gave up on its deletion, or a lost answer was no success after all.
            preemption.state, preemption.deadline = State.EVICTING, now + EVICTING_SECONDS
            return await self._evict(record, preemption, seen)
        if is_lost(self._state, preemption.pod, preemption.node, self._plugins):
            # As the scheduler, which looks for other victims then.
            await self._give_up(record, preemption, "useless")
            return None
        if not preemption.renewed:
            preemption.renewed = await self._renew(preemption, seen)
        return LOOK_SECONDS

    def _left(self, preemption: Preemption) -> list[Pod]:
        found = (self._state.pod(each.key, each.uid) for each in preemption.victims.values())
        return [each for each in found if each is not None]

    # The nomination

    def _hold(self, preemption: Preemption) -> None:
        """Let the nomination count before the API server has it, and when it was wiped out.

        Else another preemptor could take the place, or a victim's successor another one of the
        topology domain, and the victims would be gone for nothing.
        """
        until = self._clock() + HELD_SECONDS
        self._state.expect_nomination(preemption.pod, preemption.node, until, held=True)

    async def _nominate(self, record: Record[Preemption], preemption: Preemption) -> bool:
        """Have the API server nominate the node; False unless it certainly has."""
        pod, node = preemption.pod, preemption.node
        release = self._release_nomination
        if release is not None and node in await release(pod, {node}):
            return False
        seen = observe(self._state, pod)
        if not seen.known or seen.node is not None or preemption.unwanted:
            return False
        preemption.nominated_at = self._clock()
        preemption.renewal.begin(preemption.nominated_at)
        if seen.nominated == node:
            return True
        record.remember(node, self._clock())
        patched = await self._patches.change(pod, seen.nominated, node)
        if patched in {Patched.OVERTAKEN, Patched.REFUSED}:
            record.last_node = None
        if patched is not Patched.DONE:
            self._count("overtaken" if patched is Patched.OVERTAKEN else "failed", preemption)
        return patched is Patched.DONE

    async def _renew(self, preemption: Preemption, seen: Observed) -> bool:
        """Nominate the node again if the scheduler has wiped that out, as after an error.

        Return whether that was done.
        """
        now = self._clock()
        if seen.nominated is not None or preemption.renewal.rest(now) is not None:
            return False
        preemption.nominated_at = now
        preemption.renewal.begin(now)
        return await self._patches.change(preemption.pod, None, preemption.node) is Patched.DONE

    async def _wake(self, preemption: Preemption, seen: Observed) -> bool:
        """Make the scheduler try a pod again that nothing else would wake; False if that failed."""
        if seen.nominated is None:
            return await self._renew(preemption, seen)
        return await self._patches.wake(preemption.pod)

    async def _clear_lesser(self, preemption: Preemption) -> None:
        """End the nominations of less important pods there, which are to look elsewhere."""
        preemption.cleared = True
        node, priority = preemption.node, preemption.pod.spec.priority
        lesser = [each for each in self._state.nominated.on(node) if each.spec.priority < priority]
        await asyncio.gather(*(self._patches.change(each, node, None) for each in lesser))

    # The victims

    async def _evict(
        self, record: Record[Preemption], preemption: Preemption, seen: Observed
    ) -> float | None:
        now, pod, node = self._clock(), preemption.pod, preemption.node
        candidate = on_node(self._state, preemption.pod, self._plugins, node)
        fits = candidate is None and fits_without(self._state, pod, node, (), self._plugins)
        if candidate is None and not fits:
            await self._give_up(record, preemption, "useless")
            return None
        if now >= preemption.deadline and not (fits and preemption.is_ours(seen)):
            await self._give_up(record, preemption, "failed")
            return None
        rest = preemption.pause.rest(now)
        if rest is not None and not fits:
            return min(rest, LOOK_SECONDS)
        wait = await self._until_shown(record, preemption, seen)
        if wait is not None or record.begun is not preemption:
            return wait
        if candidate is None:
            # It fits beside whoever is left, of whom some may never have been deleted.
            preemption.spare(self._left(preemption))
            return self._wait(preemption)
        await self._order(preemption, preemption.take_over(candidate))
        return LOOK_SECONDS if preemption.state is State.WAITING else 0.0

    async def _until_shown(
        self, record: Record[Preemption], preemption: Preemption, seen: Observed
    ) -> float | None:
        """Return when to look again; None when the watch shows that no other replica has begun."""
        if not preemption.is_ours(seen):
            # The event that shows it has us look again.
            await self._renew(preemption, seen)
            return LOOK_SECONDS
        preemption.shown = True
        # With the nomination, the watch has shown whatever was marked before.
        marked = victims_waited_for(self._state, preemption.pod, self._plugins)
        if any(each.node != preemption.node for each in marked):
            await self._give_up(record, preemption, "overtaken")
        return None

    async def _order(self, preemption: Preemption, victims: Sequence[Pod]) -> None:
        pod, node = preemption.pod, preemption.node
        if not preemption.cleared:
            await self._clear_lesser(preemption)
        preemption.tried_at = self._clock()
        if await self._evictions.evict(victims, pod, node, lambda: self._is_wanted(preemption)):
            self._wait(preemption)
        elif preemption.is_ours(observe(self._state, pod)) and self._helps(preemption):
            preemption.pause.begin(self._clock())

    def _is_wanted(self, preemption: Preemption) -> bool:
        """Return whether victims still have to go: it may have been long since they were chosen."""
        seen = observe(self._state, preemption.pod)
        return (
            not preemption.unwanted
            and seen.node is None
            and seen.known
            and preemption.is_ours(seen)
            and self._state.stale is None
            and self._helps(preemption)
        )

    def _helps(self, preemption: Preemption) -> bool:
        """Return whether evicting pods is of use and needed, as things are now."""
        of, node = preemption.pod, preemption.node
        return on_node(self._state, of, self._plugins, node) is not None

    # The end

    def _wait(self, preemption: Preemption) -> float:
        preemption.state, preemption.evicted_at = State.WAITING, self._clock()
        return LOOK_SECONDS

    async def _wait_for_bind(
        self, record: Record[Preemption], preemption: Preemption, seen: Observed
    ) -> float | None:
        """Leave it to the scheduler to bind the pod; when it does not fit after all, look anew."""
        now = self._clock()
        first = preemption.gone_at == inf
        preemption.gone_at = min(preemption.gone_at, now)
        fits = fits_without(self._state, preemption.pod, preemption.node, (), self._plugins)
        if not fits or now - preemption.gone_at >= BINDING_SECONDS:
            await self._give_up(record, preemption, "useless")
            return None
        if first:
            if await self._renew(preemption, seen):
                preemption.tried_at = now
            return TRYING_SECONDS
        refused = record.refusal is not None and record.refusal.heard >= preemption.tried_at
        # If so, the scheduler had seen the victims gone before our watch showed it.
        if refused and await self._wake(preemption, seen):
            preemption.tried_at = now
        return LOOK_SECONDS

    async def _give_up(
        self, record: Record[Preemption], preemption: Preemption, result: str
    ) -> None:
        """End a set of victims that comes to nothing; its nomination would hold a place in vain."""
        await self._end(record, preemption, result)
        await self._patches.change(preemption.pod, preemption.node, None)

    def _count(self, result: str, preemption: Preemption, note: str = "") -> None:
        self._patches.count(result, preemption.pod, preemption.node, note)

    async def _end(self, record: Record[Preemption], preemption: Preemption, result: str) -> None:
        self._count(result, preemption)
        if result in _LAST:
            self._spent.pop(record.uid)
            self._records.admit(record)
        record.last_node = None
        self._put_off(record)
        if result not in _LAST and self._cost_pods(preemption):
            await self._count_spent(preemption)

    def _cost_pods(self, preemption: Preemption) -> bool:
        """Return whether any of the victims is gone, or about to be."""
        left = self._left(preemption)
        return len(left) < len(preemption.victims) or any(each.status.deleting for each in left)

    async def _count_spent(self, preemption: Preemption) -> None:
        """Count a set of victims that has gone for nothing, and say so when it is the last."""
        pod = preemption.pod
        spent = (self._spent.get(pod.uid) or 0) + 1
        self._spent.put(pod.uid, spent)
        if spent == MOST_SETS:
            self._count("exhausted", preemption)
            _log.warning("%s: %s", pod.key, EXHAUSTED)
            await self._evictions.report(
                pod, Occurrence("PreemptionStopped", "Preempting", EXHAUSTED, warns=True)
            )

    def _put_off(self, record: Record[Preemption]) -> None:
        """Leave a pod alone for a while, if it still waits."""
        if record.refusal is not None:
            record.refusal.pause.begin(self._clock())
        self._state.give_up_nomination(record.uid)
        self._records.end(record)
