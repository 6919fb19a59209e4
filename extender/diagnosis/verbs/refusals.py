"""Which nodes are refused, by which rule, in which domain: verdicts and causes together."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TypeAlias

from extender.core.cluster.counts.nodes import NodeList
from extender.core.cluster.state import ClusterState
from extender.core.model.verdict import AnyReason, Reason
from extender.core.verbs.filtering import judge
from extender.core.verbs.plugins import FilterResult
from extender.core.verbs.pod_rules import GONE
from extender.core.verbs.rules import UNKNOWN, Refusal, RefusalGroup, Rule
from extender.diagnosis.verbs.explanation import Alike, Explanation, Question


@dataclass(slots=True, eq=False)
class Nominated(Rule):
    """Pods that are nominated to a node or hold a domain of it, and would exclude the pod there."""

    reason: AnyReason
    nominated = True

    def cause(self, group: RefusalGroup) -> str:
        whose = "your" if self.reason is Reason.ANTI_AFFINITY else "the others'"
        beyond = all(_is_beyond(each) for each in group.refusals)
        where = "nominated to nodes of the same domain" if beyond else "nominated there"
        return f"{whose} anti-affinity: {group.in_the_way}, {where}"

    def statement(self, refusal: Refusal) -> str:
        held = f"{refusal.nodes[0]} is held for {refusal.in_the_way}"
        if not _is_beyond(refusal):
            return held
        return (
            f"{held}: pods are preempted on {refusal.pods[0].status.nominated}, in the same domain"
        )

    def remedy(self, domain: str | None, nodes: int) -> str:
        return GONE


def _is_beyond(refusal: Refusal) -> bool:
    """Return whether the first of the pods that a node is held for is nominated to another node."""
    return bool(refusal.pods) and refusal.pods[0].status.nominated != refusal.nodes[0]


@dataclass(slots=True, eq=False)
class _ByDomain:
    """What one rule refuses, by the value of the topology label."""

    rule: Rule
    found: dict[str | None, Refusal] = field(default_factory=dict)

    def refusal(self, domain: str | None, name: str, every: list[Refusal]) -> Refusal:
        """Return the refusal in a domain; a first one joins all others."""
        refusal = self.found.get(domain)
        if refusal is None:
            refusal = self.found[domain] = Refusal(self.rule, domain, name)
            every.append(refusal)
        return refusal


_Hits: TypeAlias = dict[str, list[tuple[_ByDomain, str | None]]]
"""By node: what some rules refuse, and the domain."""


class Refusals:
    """The verdict about each node asked about, and what it is due to."""

    def __init__(self, state: ClusterState, question: Question, found: Explanation) -> None:
        self.alike: dict[Alike, Alike] = {}
        """All that nodes are refused for, each once."""
        self.together: dict[Alike, list[str]] = {}
        """Nodes by their causes, of which they have several."""
        self._state = state
        self._question = question
        self._found = found
        self._unknown = _ByDomain(UNKNOWN)

    def nodes_of(self, causes: Alike) -> list[str]:
        """Return the nodes that have these causes, and no other."""
        if len(causes) > 1:
            return self.together[causes]
        return [name for name in causes[0].nodes if len(self._found.refused[name]) == 1]

    def judge(self) -> None:
        """Judge all nodes."""
        state, question = self._state, self._question
        asked = state.nodes.asked(question.names)
        verdicts = judge(state, question.pod, asked, question.plugins)
        self._found.fits += verdicts.fits.names
        self._found.left_by_affinity += len(verdicts.fits.names)
        if verdicts.refused:
            with state.without(question.pod.key, question.pod.uid):
                hits = self._hits(asked, verdicts)
            self._sort(verdicts, hits)

    def _hits(self, asked: NodeList, verdicts: FilterResult) -> _Hits:
        fits = {*verdicts.fits.names}
        refused = asked.only([name for name in asked.names if name not in fits])
        found: _Hits = {name: [] for name in refused.names}
        if found:
            by_rule: dict[Hashable, _ByDomain] = {}
            for plugin in self._question.plugins:
                for rule in plugin.rules(self._state, self._question.pod):
                    by_domain = by_rule.setdefault(rule.identity, _ByDomain(rule))
                    for name, domain in rule.hits(refused).items():
                        found[name].append((by_domain, domain))
        return found

    def _sort(self, verdicts: FilterResult, hits: _Hits) -> None:
        by_node, alike, every = self._found.refused, self.alike, self._found.refusals
        for reason, names in verdicts.refused:
            for name in names:
                found = [each.refusal(at, name, every) for each, at in hits.get(name, ())]
                if len(found) != 1 or found[0].reason is not reason:
                    found = self._shown_first(found, reason, name)
                found[0].nodes.append(name)
                self._found.left_by_affinity += False not in [e.rule.of_node for e in found]
                for each in found:
                    each.hits += 1
                # Nodes with the same causes share one value: the collector has less to look at.
                refusals = tuple(found)
                refusals = by_node[name] = alike.setdefault(refusals, refusals)
                if len(refusals) == 1:
                    found[0].alone += 1
                else:
                    self.together.setdefault(refusals, []).append(name)

    def _shown_first(self, found: list[Refusal], reason: AnyReason, name: str) -> list[Refusal]:
        """Return the refusals of a node with that first which gives the reason that it shows."""
        # Rules that say the same refuse a node once.
        found = [*dict.fromkeys(found)]
        shown = next((each for each in found if each.reason is reason), None)
        if shown is None:
            shown = self._without_rule(reason, name)
        return [shown, *(each for each in found if each is not shown)]

    def _without_rule(self, reason: AnyReason, name: str) -> Refusal:
        """Return what to hold against a node of which no rule over placed pods says so.

        With the pods nominated to it, each node is one of its own.
        """
        if reason is Reason.UNKNOWN_NODE:
            return self._unknown.refusal(None, name, self._found.refusals)
        refusal = Refusal(Nominated(reason), None, name)
        self._found.refusals.append(refusal)
        return refusal
