"""Which nodes are refused, by which rule, in which domain: verdicts and causes together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import Final, TypeAlias

from extender.cluster.counts.nodes import AskedNodes
from extender.cluster.state import ClusterState
from extender.model.verdict import Reason
from extender.verbs.explaining.explanation import NearMiss, Question, Refusal
from extender.verbs.filtering import judge
from extender.verbs.rules import PodRule, Rule
from extender.verbs.verdicts import Verdicts

NODES: Final = 50
"""Judged in one step, at most."""
LOOKS: Final = 500
"""At a node by a rule in one step, roughly."""

_Hits: TypeAlias = dict[str, list[tuple[int, Rule, int]]]
"""By node: the number of a rule, the rule, and the number of the domain."""
_Cause: TypeAlias = tuple[int | Reason, str | None]
"""The number of a rule, or a reason for which there is none, and a domain or node."""


class Refusals:
    """The verdict about each node asked about, and what it is due to."""

    def __init__(self, state: ClusterState, question: Question) -> None:
        self.fits: list[str] = []
        self.by_node: dict[str, tuple[Refusal, ...]] = {}
        self._state = state
        self._question = question
        self._found: dict[_Cause, Refusal] = {}
        self._numbers: dict[Rule, int] = {}
        """Of the rules. One that is looked up again may be another object, of another table."""
        self._alike: dict[tuple[Refusal, ...], tuple[Refusal, ...]] = {}
        self._misses: dict[tuple[Refusal, ...], NearMiss] = {}
        self._rules: list[Rule] = []
        self._version: int | None = None

    @property
    def found(self) -> Sequence[Refusal]:
        """Return the refusals, a new one for each cause."""
        return list(self._found.values())

    @property
    def near_misses(self) -> list[NearMiss]:
        """Return the nodes that would fit if one thing were otherwise."""
        return list(self._misses.values())

    def judging(self) -> Iterator[None]:
        """Judge some nodes in each step."""
        names = iter(self._question.names)
        with self._left_out():
            self._learn_rules()
        while some := list(islice(names, self._nodes_at_once)):
            yield
            self._judge(some)
        yield

    @property
    def _nodes_at_once(self) -> int:
        return min(NODES, 1 + LOOKS // (1 + len(self._rules)))

    def _left_out(self) -> AbstractContextManager[None]:
        pod = self._question.pod
        return self._state.without(pod.key, pod.uid)

    def _learn_rules(self) -> None:
        """Look up the rules, if the state has changed since that was done last."""
        if self._version != self._state.version:
            question = self._question
            self._rules = [
                rule
                for plugin in question.plugins
                for rule in plugin.rules(self._state, question.pod)
            ]
            self._version = self._state.version

    def _judge(self, names: Sequence[str]) -> None:
        state, question = self._state, self._question
        asked = state.nodes.asked(names)
        verdicts = judge(state, question.pod, asked, question.plugins)
        self.fits += verdicts.fits.names
        if verdicts.refused:
            with self._left_out():
                self._learn_rules()
                hits = self._hits(asked, verdicts)
            self._sort(verdicts, hits)

    def _hits(self, asked: AskedNodes, verdicts: Verdicts) -> _Hits:
        """Return the rules that refuse each of the known nodes that are refused."""
        fits = {*verdicts.fits.names}
        refused = asked.only([name for name in asked.names if name not in fits])
        found: _Hits = {name: [] for name in refused.names}
        if found:
            for rule in self._rules:
                number = self._numbers.setdefault(rule, len(self._numbers))
                for name, domain in rule.hits(refused).items():
                    found[name].append((number, rule, domain))
        return found

    def _sort(self, verdicts: Verdicts, hits: _Hits) -> None:
        """Put each refused node to the others that are refused for the same causes."""
        for reason, names in verdicts.refused:
            for name in names:
                # Rules that say the same refuse a node once.
                found = [*dict.fromkeys(self._refusal(*each) for each in hits.get(name, ()))]
                shown = next((each for each in found if each.reason is reason), None)
                if shown is None:
                    shown = self._without_rule(reason, name)
                    found.append(shown)
                if found[0] is not shown:
                    found.remove(shown)
                    found.insert(0, shown)
                shown.nodes.append(name)
                for each in found:
                    each.hits += 1
                # Nodes with the same causes share one value: the collector has less to look at.
                refusals = tuple(found)
                refusals = self.by_node[name] = self._alike.setdefault(refusals, refusals)
                self._note_near_miss(name, refusals)

    def _refusal(self, number: int, rule: Rule, domain: int) -> Refusal:
        value = rule.value_of(domain) if isinstance(rule, PodRule) else None
        refusal = self._found.get((number, value))
        if refusal is None:
            refusal = self._found[number, value] = Refusal(rule.reason, rule, value)
        return refusal

    def _without_rule(self, reason: Reason, name: str) -> Refusal:
        """Return what to hold against a node of which no rule over placed pods says so.

        With the pods nominated to it, each node is one of its own.
        """
        nominated = reason is not Reason.UNKNOWN_NODE
        cause = reason, name if nominated else None
        if cause not in self._found:
            self._found[cause] = Refusal(reason, None, None, nominated=nominated)
        return self._found[cause]

    def _note_near_miss(self, name: str, refusals: tuple[Refusal, ...]) -> None:
        first, *others = refusals
        if first.reason is Reason.UNKNOWN_NODE:
            return
        if not others or all(each.by_placed_pods for each in refusals):
            miss = self._misses.get(refusals)
            if miss is None:
                miss = self._misses[refusals] = NearMiss(refusals)
            miss.nodes.append(name)
