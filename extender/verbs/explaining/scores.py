"""The scores of the nodes that fit, plugin by plugin and as prioritize answers them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from extender.cluster.state import ClusterState
from extender.errors import ObjectError
from extender.verbs.explaining.explanation import Explanation, PluginScores, Question
from extender.verbs.plugins import ScorePlugin, Scorer
from extender.verbs.prioritizing import score

NODES: Final = 500
"""Scored in one step."""


def add_scores(state: ClusterState, question: Question, found: Explanation) -> Iterator[None]:
    """Add what prioritize would answer if the scheduler asked about all nodes that fit, in steps.

    Some nodes are scored in each step, and all of them in the last.
    """
    try:
        prepared = _prepare(state, question)
    except ObjectError as error:
        found.score_fault = str(error)
        return
    if not prepared:
        return
    yield
    raws: list[list[int]] = [[] for _ in prepared]
    names: list[str] = []
    numbers: list[int] = []
    for start in range(0, len(found.fits), NODES):
        asked = state.nodes.asked(found.fits[start : start + NODES])
        if asked.names:
            with state.without(question.pod.key, question.pod.uid):
                for raw, (_, scorer) in zip(raws, prepared, strict=True):
                    raw.extend(scorer.raw(asked))
            names += asked.names
            numbers += asked.numbers
        yield
    if not names:
        return
    for raw, (plugin, scorer) in zip(raws, prepared, strict=True):
        by_name = dict(zip(names, raw, strict=True))
        found.scores.append(PluginScores(plugin.name, by_name, scorer.normalised(raw)))
        yield
    scored = score(prepared, raws, numbers, question.max_score)
    yield
    if scored.numbers:
        final = (scored.final[each] for each in scored.raw)
        found.final = dict(zip(names, final, strict=True))


def _prepare(state: ClusterState, question: Question) -> Sequence[tuple[ScorePlugin, Scorer]]:
    pod = question.pod
    with state.without(pod.key, pod.uid):
        prepared = ((plugin, plugin.prepare(state, pod)) for plugin in question.scoring)
        return [(plugin, scorer) for plugin, scorer in prepared if scorer is not None]
