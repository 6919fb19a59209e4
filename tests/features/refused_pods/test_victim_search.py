"""How the search for victims shares the event loop."""

from __future__ import annotations

from itertools import count

from extender.core.controllers.context import Clocks
from extender.core.verbs.victims import Candidate
from extender.features.refused_pods.refusals import Refusal
from extender.features.refused_pods.search import SLICE_SECONDS, Search
from tests.builders import model_pod, state_of
from tests.important_pods import HIGH, LOW, MIDDLE, db, important, server
from tests.verbs.judging import AFFINITY

NODES = [f"n{number:02}" for number in range(40)]


async def test_nodes_that_became_worse_since_they_were_ranked_are_looked_at_in_slices() -> None:
    """Each look takes a slice here, so each has to be followed by a rest."""
    state = state_of(
        [server(name) for name in NODES], [], [db(f"on-{name}", name, LOW) for name in NODES]
    )
    ticks, rests = count(0.0, 2 * SLICE_SECONDS), list[float]()

    async def rest(seconds: float) -> None:
        rests.append(seconds)

    clock = lambda: next(ticks)  # noqa: E731
    search = Search(state, AFFINITY, Clocks(clock, clock, lambda: 0.0, rest))

    async def choose(name: str) -> Candidate | None:
        pod = model_pod(important(name, priority=HIGH))
        return await search.choose(Refusal(pod, 0.0), pod)

    first = await choose("first")
    assert first is not None
    for name in NODES:
        state.upsert_pod(model_pod(db(f"on-{name}", name, MIDDLE)))
    rests.clear()
    second = await choose("second")
    assert second is not None
    assert second.node != first.node
    worse = len(NODES) - 2
    assert len(rests) >= worse
