"""The feature over a state that a test has put together."""

from __future__ import annotations

from functools import partial
from typing import Any

from aiohttp import web

from extender.core.callbacks.refused_pods import RefusedPods
from extender.core.cluster.state import ClusterState
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.node_selection import NodeSelectionPlugin
from extender.core.wire.objects import PodReader
from extender.diagnosis.verbs.explanation import Question
from extender.diagnosis.verbs.filters import filters
from extender.diagnosis.verbs.sitting import Sits
from extender.features.explain.answer import Explain
from extender.features.explain.part import Explaining
from tests.answering import AFFINITY
from tests.beside import RULES
from tests.web.showing import Seen, app_of
from tests.web.showing import shown as seen_of
from tests.wired import context_over


def explaining(
    state: ClusterState,
    unready: str | None = None,
    max_score: int = 20,
    pods: PodReader | None = None,
    *,
    names_all: bool = False,
    sits: Sits | None = None,
) -> Explain:
    """Build what answers /explain as the program does without arguments of plugins."""
    pods = pods or PodReader(node_selection=True, requirements=True, rules=RULES)
    question = partial(
        Question,
        plugins=filters(NodeSelectionPlugin(), InterPodAffinity()),
        scoring=AFFINITY,
        max_score=max_score,
        names_all=names_all,
        sits=sits,
    )
    return Explain(state, question, pods, lambda: unready)


def part_over(
    state: ClusterState,
    unready: str | None = None,
    *,
    refused: RefusedPods | None = None,
    **options: Any,
) -> Explaining:
    """Return the part, which answers so."""
    part = Explaining(context_over(state, unready, refused=refused))
    part.explain = explaining(state, unready, **options)
    return part


def shown(seen: Seen, **options: Any) -> Explaining:
    """Return the part over what pages show."""
    options = {"refused": seen.refused, **options}
    return part_over(seen.state, seen.unready(), **options)


def app_over(state: ClusterState, unready: str | None = None, **options: Any) -> web.Application:
    """Serve the operations port with it."""
    seen = seen_of(state, unready=lambda: unready)
    return app_of(seen, parts=[shown(seen, **options)])
