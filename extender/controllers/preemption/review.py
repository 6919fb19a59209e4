"""Looks at the candidates of the scheduler's own preemption with our rules in force.

The scheduler finds victims without our rules, so those that we add may make others needless; and of
nodes that only we refuse it knows nothing, though a victim there may be the better one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from extender.cluster.state import ClusterState
from extender.controllers.preemption.record import Refusal
from extender.controllers.preemption.search import SLICE_SECONDS, Search
from extender.errors import ObjectError
from extender.model.objects import Pod
from extender.verbs.plugins import Plugins
from extender.verbs.preempting import Victims
from extender.verbs.victims import Candidate, Preemptor, on_node
from extender.wire.preemptor import read_preemptor


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
        preemptor = Preemptor(pod, manifest.requirements, manifest.may_preempt)
        found = await self._looked_at(preemptor, chosen)
        if refusal is not None and len(found) == len(chosen):
            refusal.read()
            best = await self._search.choose(refusal, preemptor)
            if (
                best is not None
                and best.victims
                and best.node not in chosen
                and all(best.rank < each.rank for each in found.values())
            ):
                return {}
        return {**chosen, **{node: _victims(each) for node, each in found.items()}}

    async def _looked_at(
        self, preemptor: Preemptor, chosen: Mapping[str, Victims]
    ) -> dict[str, Candidate]:
        found = {}
        began = self._clock()
        for node in chosen:
            candidate = on_node(self._state, preemptor, self._plugins, node)
            if candidate is not None:
                found[node] = candidate
            if self._clock() - began >= SLICE_SECONDS:
                await asyncio.sleep(0)
                began = self._clock()
        return found


def _victims(candidate: Candidate) -> Victims:
    return Victims([victim.uid for victim in candidate.victims], candidate.violations)
