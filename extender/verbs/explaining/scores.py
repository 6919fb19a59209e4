"""The scores of the nodes that fit, plugin by plugin and as prioritize answers them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from extender.cluster.counts.nodes import NodeList
from extender.cluster.state import ClusterState
from extender.errors import ObjectError
from extender.verbs.explaining.explanation import PluginScores, Question
from extender.verbs.plugins import ScorePlugin, Scorer
from extender.verbs.prioritizing import score

NODES: Final = 500
"""Scored in one step."""


@dataclass(frozen=True, slots=True)
class _Heard:
    """A plugin's raw scores as they were, with its way to normalise them."""

    scorer: Scorer
    scores: Sequence[int]

    def raw(self, asked: NodeList) -> Sequence[int]:
        """Return them."""
        del asked
        return self.scores

    def normalised(self, raw: Iterable[int]) -> Mapping[int, int]:
        """Return what each distinct one becomes."""
        return self.scorer.normalised(raw)


class Scoring:
    """What prioritize would answer if the scheduler asked about all nodes that fit."""

    def __init__(self, state: ClusterState, question: Question, names: Sequence[str]) -> None:
        self.scores: list[PluginScores] = []
        self.final: Mapping[str, int] = {}
        self.fault: str | None = None
        """Why there are none, of a pod with a broken preferred term."""
        self._state = state
        self._question = question
        self._names = names

    def running(self) -> Iterator[None]:
        """Score some nodes in each step, and all of them in the last."""
        try:
            prepared = self._prepare()
        except ObjectError as error:
            self.fault = str(error)
            return
        if not prepared:
            return
        yield
        pod, nodes = self._question.pod, self._state.nodes
        raw: list[list[int]] = [[] for _ in prepared]
        known: list[str] = []
        numbers: list[int] = []
        for start in range(0, len(self._names), NODES):
            asked = nodes.asked(self._names[start : start + NODES])
            if asked.names:
                with self._state.without(pod.key, pod.uid):
                    for so_far, (_, scorer) in zip(raw, prepared, strict=True):
                        so_far.extend(scorer.raw(asked))
                known += asked.names
                numbers += asked.numbers
            yield
        if known:
            yield from self._finish(prepared, raw, NodeList(known, (), {}, 0, numbers))

    def _prepare(self) -> Sequence[tuple[ScorePlugin, Scorer]]:
        pod, found = self._question.pod, []
        with self._state.without(pod.key, pod.uid):
            for plugin in self._question.scoring:
                scorer = plugin.prepare(self._state, pod)
                if scorer is not None:
                    found.append((plugin, scorer))
        return found

    def _finish(
        self,
        prepared: Sequence[tuple[ScorePlugin, Scorer]],
        raw: Sequence[Sequence[int]],
        asked: NodeList,
    ) -> Iterator[None]:
        heard = [
            (plugin, _Heard(scorer, scores))
            for (plugin, scorer), scores in zip(prepared, raw, strict=True)
        ]
        for plugin, each in heard:
            by_name = dict(zip(asked.names, each.scores, strict=True))
            self.scores.append(PluginScores(plugin.name, by_name, each.normalised(each.scores)))
            yield
        scored = score(heard, asked, self._question.max_score, lambda _: None)
        yield
        if scored.numbers:
            final = (scored.final[each] for each in scored.raw)
            self.final = dict(zip(asked.names, final, strict=True))
