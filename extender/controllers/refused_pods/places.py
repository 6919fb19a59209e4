"""The nomination of a preemptor to the node of its victims: set, kept up and taken back."""

from __future__ import annotations

import asyncio

from extender.controllers.refused_pods.controller import HelperContext
from extender.controllers.refused_pods.patches import Patches
from extender.controllers.refused_pods.record import Patched, Preemption, Record
from extender.ports import ReleaseNomination
from extender.verbs.nominating import Observed, observe

HELD_SECONDS = 5.0
"""How long a nomination counts that the watch does not show, if nobody looks after it."""


class Places:
    """Talks to a nominator that may fail, or be overtaken."""

    def __init__(
        self,
        context: HelperContext,
        patches: Patches,
        release_nomination: ReleaseNomination | None,
    ) -> None:
        """With `release_nomination`, who else nominates nodes hears before."""
        self._state = context.state
        self._clock = context.clock
        self._patches = patches
        self._release_nomination = release_nomination

    def hold(self, preemption: Preemption) -> None:
        """Let the nomination count before the API server has it, and when it was wiped out.

        Else another preemptor could take the place, and the victims would be gone for nothing.
        """
        until = self._clock() + HELD_SECONDS
        self._state.expect_nomination(preemption.pod, preemption.node, until, held=True)

    async def nominate(self, record: Record[Preemption], preemption: Preemption) -> bool:
        """Have the API server nominate the node; False unless it certainly has."""
        pod, node = preemption.pod, preemption.node
        if self._release_nomination is not None and node in await self._release_nomination(
            pod, {node}
        ):
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
            result = "overtaken" if patched is Patched.OVERTAKEN else "failed"
            self._patches.count(result, pod, node)
        return patched is Patched.DONE

    async def renew(self, preemption: Preemption, seen: Observed) -> bool:
        """Nominate the node again if the scheduler has wiped that out, as after an error.

        Return whether that was done.
        """
        now = self._clock()
        if seen.nominated is not None or preemption.renewal.rest(now) is not None:
            return False
        preemption.nominated_at = now
        preemption.renewal.begin(now)
        return await self._patches.change(preemption.pod, None, preemption.node) is Patched.DONE

    async def wake(self, preemption: Preemption, seen: Observed) -> bool:
        """Make the scheduler try a pod again that nothing else would wake; False if that failed."""
        if seen.nominated is None:
            return await self.renew(preemption, seen)
        return await self._patches.wake(preemption.pod)

    async def withdraw(self, preemption: Preemption) -> None:
        """Take the nomination back: it would hold a place that does not come."""
        await self._patches.change(preemption.pod, preemption.node, None)

    async def clear_lesser(self, preemption: Preemption) -> None:
        """End the nominations of less important pods there, which are to look elsewhere."""
        preemption.cleared = True
        node, priority = preemption.node, preemption.pod.priority
        lesser = [each for each in self._state.nominated.on(node) if each.priority < priority]
        await asyncio.gather(*(self._patches.change(each, node, None) for each in lesser))
