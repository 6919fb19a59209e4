"""Filter and prioritize over a state, put together as the program does."""

from __future__ import annotations

from collections.abc import Sequence

from extender.core.callbacks.filtering import Filters, HeldPlaces, Helper, Listeners
from extender.core.callbacks.in_flight import InFlightPods
from extender.core.callbacks.observing import Defer, soon
from extender.core.callbacks.prioritizing import Priorities
from extender.core.callbacks.requests import Requests
from extender.core.cluster.state import ClusterState
from extender.core.config import Mode
from extender.core.metrics import Metrics
from extender.core.ports import Check, Hook
from extender.core.reading import pods_apart
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.node_selection import NodeSelectionPlugin
from extender.core.verbs.plugins import Plugins, ScorePlugins
from extender.core.warm_up import WarmUp
from extender.core.web.app import Callback
from extender.core.wire.objects import PodReader
from tests.beside import RULES

AFFINITY = (InterPodAffinity(),)
ANNOTATIONS = (InterPodAffinity(of_annotations=True), NodeSelectionPlugin(of_annotations=True))
"""What refuses nodes in mode assist."""


def requests_of(
    state: ClusterState,
    metrics: Metrics | None = None,
    *,
    unready: Check = lambda: None,
    pods: PodReader | None = None,
    warm_up: WarmUp | None = None,
    hooks: Sequence[Hook] = (),
) -> Requests:
    """Build what callbacks share."""
    metrics = metrics or Metrics()
    reader = pods_apart(pods or PodReader(rules=RULES))
    warm_up = warm_up or WarmUp(state, metrics)
    return Requests(state, metrics, reader, warm_up, unready, hooks=hooks)


class Answering:
    """The two callbacks that every mode has."""

    def __init__(
        self,
        state: ClusterState,
        metrics: Metrics | None = None,
        plugins: Plugins = AFFINITY,
        *,
        scoring: ScorePlugins = AFFINITY,
        max_score: int = 20,
        resolvable: bool = False,
        unready: Check = lambda: None,
        pods: PodReader | None = None,
        warm_up: WarmUp | None = None,
        in_flight: InFlightPods | None = None,
        in_flight_scores: InFlightPods | None = None,
        helpers: Sequence[Helper] = (),
        judging: Hook | None = None,
        hooks: Sequence[Hook] = (),
        held: HeldPlaces | None = None,
        defer: Defer = soon,
    ) -> None:
        requests = requests_of(
            state,
            metrics,
            unready=unready,
            pods=pods or PodReader(node_selection=True, rules=RULES),
            warm_up=warm_up,
            hooks=hooks,
        )
        assists = all(each.of_annotations for each in plugins)
        mode = Mode.ASSIST if assists else Mode.REPLACE
        self.priorities = Priorities(
            requests,
            scoring,
            max_score=max_score,
            mode=mode if judging is None else Mode.SHADOW,
            in_flight=in_flight_scores,
            defer=defer,
        )
        listeners = Listeners(
            in_flight,
            helpers,
            judging,
            held,
            self.priorities.filter_answered,
        )
        self.filters = Filters(
            requests,
            plugins,
            resolvable=resolvable,
            listeners=listeners,
            defer=defer,
        )

    async def filter(self, body: bytes) -> bytes:
        return await self.filters.answer(body)

    async def prioritize(self, body: bytes) -> bytes:
        return await self.priorities.answer(body)

    @property
    def callbacks(self) -> dict[str, Callback]:
        """Return both by the verbs that they answer."""
        return {"filter": self.filters, "prioritize": self.priorities}
