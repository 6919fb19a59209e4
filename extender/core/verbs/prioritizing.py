"""How well each node suits a pod: every plugin's score, normalised, and their weighted sum."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import TypeAlias

from extender.core.cluster.counts.nodes import NodeList
from extender.core.cluster.counts.topology import picker
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod
from extender.core.verbs.plugins import (
    MAX_NODE_SCORE,
    USUAL_WEIGHT,
    ScorePlugin,
    ScorePlugins,
    Scorer,
)

Told: TypeAlias = Callable[[ScorePlugin], object]


@dataclass(frozen=True, slots=True)
class Scored:
    """The known nodes of a request, by name, and their scores."""

    names: Sequence[str] = ()
    raw: Sequence[int] = ()
    """By position in names: what the plugin says, or the sum of what several say."""
    final: Mapping[int, int] = field(default_factory=dict)
    """The final score by raw score: 0 to max_score from each plugin that has its usual weight."""


def prioritize(
    state: ClusterState,
    pod: Pod,
    ask: Callable[[], NodeList],
    plugins: ScorePlugins,
    max_score: int,
    *,
    told: Told = lambda _: None,
) -> Scored:
    """Score the nodes of a request; none is named when all have the same.

    A plugin adds up to `max_score` if its weight is USUAL_WEIGHT, and in proportion otherwise. The
    pod itself is left out of all counts. The nodes are looked up only when something can score:
    most pods have no such rules. A node that is unknown has no score and does not stretch the
    others' scale. `told` is called whenever a plugin has done a part of its work.
    """
    with state.without(pod.key, pod.uid):
        scorers = []
        for plugin in plugins:
            scorer = plugin.prepare(state, pod)
            if scorer is not None:
                scorers.append((plugin, scorer))
            told(plugin)
        if not scorers:
            return Scored()
        asked = ask()
        if not asked.names:
            return Scored()
        raws = (scorer.raw(asked) for _, scorer in scorers)
        return score(scorers, raws, asked.names, max_score, told)


def score(
    scorers: Sequence[tuple[ScorePlugin, Scorer]],
    raws: Iterable[Sequence[int]],
    names: Sequence[str],
    max_score: int,
    told: Told = lambda _: None,
) -> Scored:
    """Score known nodes by what the plugins that have something to say give each of them.

    None is named when all have the same: the scheduler would add it to each of them, for nothing.
    """
    if len(scorers) == 1:
        # No step for each node beyond the plugin's own.
        ((plugin, scorer),) = scorers
        (raw,) = raws
        final = scale(scorer.normalised(raw), max_score, plugin.weight)
        told(plugin)
    else:
        raw = _sums(scorers, raws, len(names), told)
        final = scale({each: each for each in raw}, max_score, weight=1)
    return Scored(names, raw, final) if len(set(final.values())) > 1 else Scored()


def _sums(
    scorers: Sequence[tuple[ScorePlugin, Scorer]],
    raws: Iterable[Sequence[int]],
    nodes: int,
    told: Told,
) -> Sequence[int]:
    sums: Sequence[int] = [0] * nodes
    for (plugin, scorer), raw in zip(scorers, raws, strict=True):
        shares = {score: plugin.weight * each for score, each in scorer.normalised(raw).items()}
        sums = list(map(add, sums, picker(raw)(shares)))
        told(plugin)
    return sums


def scale(
    normalised: Mapping[int, int], max_score: int, weight: int = USUAL_WEIGHT
) -> Mapping[int, int]:
    """Return final scores: MAX_NODE_SCORE becomes max_score at USUAL_WEIGHT. Truncated once."""
    whole = USUAL_WEIGHT * MAX_NODE_SCORE
    return {score: each * weight * max_score // whole for score, each in normalised.items()}
