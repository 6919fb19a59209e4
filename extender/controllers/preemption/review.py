"""Looks at the candidates of the scheduler's own preemption with our rules in force.

The scheduler finds victims without our rules, so those that we add may make others needless; and of
nodes that only we refuse it knows nothing, though a victim there may be the better one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress

import msgspec

from extender.cluster.state import ClusterState
from extender.controllers.preemption.record import Refusal
from extender.controllers.preemption.search import NO_REST, Search, Slices
from extender.errors import ObjectError
from extender.model.objects import Pod
from extender.verbs.plugins import Plugins
from extender.verbs.preempting import Victims
from extender.verbs.victims import Candidate, Preemptor, on_node
from extender.wire.preemptor import read_preemptor

REVIEW_SECONDS = 0.05
"""How long the scheduler waits to hear of better nodes; else it evicts where it has found to."""


class Review:
    """Finds whom the scheduler would evict if it had our rules."""

    def __init__(
        self,
        state: ClusterState,
        plugins: Plugins,
        search: Search,
        clock: Callable[[], float],
    ) -> None:
        self._state = state
        self._plugins = plugins
        self._search = search
        self._clock = clock

    async def of(
        self,
        pod: Pod,
        pod_json: msgspec.Raw,
        chosen: Mapping[str, Victims],
        refusal: Refusal | None,
    ) -> Mapping[str, Victims]:
        """Return the candidates with the victims that are needed, none if another node is better.

        `refusal` is what filter has just said of the pod, if anything. Candidates of which we
        understand less than the scheduler stay as they are.
        """
        try:
            manifest = read_preemptor(pod_json, pod.requests)
        except ObjectError:
            return chosen
        if not manifest.is_plain or pod.group is not None:
            return chosen
        preemptor = Preemptor(pod, manifest.requirements)
        found = await self._looked_at(preemptor, chosen)
        if refusal is not None and len(found) == len(chosen):
            best = await self._elsewhere(refusal, preemptor)
            if (
                best is not None
                and best.victims
                and best.node not in chosen
                and all(best.rank < each.rank for each in found.values())
            ):
                return {}
        return {**chosen, **{node: _victims(each) for node, each in found.items()}}

    async def _elsewhere(self, refusal: Refusal, preemptor: Preemptor) -> Candidate | None:
        """Return the best candidate of all nodes, None when that takes too long to tell."""
        refusal.read()
        with suppress(TimeoutError):
            async with asyncio.timeout(REVIEW_SECONDS):
                return await self._search.choose(refusal, preemptor, rest=NO_REST, take=False)
        return None

    async def _looked_at(
        self, preemptor: Preemptor, chosen: Mapping[str, Victims]
    ) -> dict[str, Candidate]:
        found = {}
        slices = Slices(self._clock, asyncio.sleep, NO_REST)
        for node in chosen:
            candidate = on_node(self._state, preemptor, self._plugins, node)
            if candidate is not None:
                found[node] = candidate
            await slices.between()
        return found


def _victims(candidate: Candidate) -> Victims:
    return Victims([victim.uid for victim in candidate.victims], candidate.violations)
