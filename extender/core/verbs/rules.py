"""Rules that may refuse nodes, which judge them and say why, and what each of them refuses."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Final

from extender.core.cluster.counts.count_tables import CountTable
from extender.core.cluster.counts.nodes import NodeList
from extender.core.model.node_selection import NodeRule
from extender.core.model.objects import Pod
from extender.core.model.pod_affinity import Term
from extender.core.model.verdict import AnyReason, Reason
from extender.core.model.wording import MOST_NAMED, plural, plural_of, short, some

HOSTNAME: Final = "hostname"
"""The last part of the topology key whose domains are nodes."""
MOST_LOOKED_AT: Final = 20
"""Domains whose pods may be named."""


class Rule:
    """One thing that may be wrong with nodes, and all there is to say of it.

    Kinds of rules have as fields what they differ in: filter makes some for every call.
    """

    __slots__ = ()

    reason: AnyReason
    """What is said of a node that it refuses."""
    what: str = ""
    """What is wrong, in words, where that is the same for all nodes."""
    annotated: bool = False
    """From an annotation, and not from a spec."""
    terms: tuple[Term, ...] = ()
    """About placed pods, of the pod or of these; several where one table stands for all of them."""
    table: CountTable | None = None
    """Affinity: the pods that match all required terms. Anti-affinity: the pods that match the
    terms, or those that carry them."""
    asks_for: NodeRule | None = None
    """What it asks of nodes."""
    number: int = 0
    """Tells it from others that say the same."""
    of_node: bool = False
    """It is between the pod and a node alone, and so no rule of affinity."""
    looks: int = 1
    """What it takes to judge a node by it, roughly, in look-ups."""
    nominated: bool = False
    """Pods that are nominated to nodes are the cause, and not there yet."""
    of_host: bool = False
    """It keeps the pod to nodes that there are, by name: it refuses any other that comes."""
    advice: str = ""
    """What to do about it, of a rule of a feature."""

    @property
    def event(self) -> str:
        """Return what the scheduler's event says of a node."""
        return self.reason.value

    @property
    def key(self) -> str | None:
        """Return the topology key, None where it has nothing to do with one."""
        return None

    @property
    def identity(self) -> Hashable:
        """Return what it has in common with itself when it is looked up again."""
        return self.reason, self.what, self.annotated, self.terms, self.asks_for, self.number

    @property
    def kind(self) -> Hashable:
        """Return what rules have in common that differ only in the very term."""
        return self.reason, self.key, self.nominated, self.annotated, self.what

    @property
    def by_placed_pods(self) -> bool:
        """Return whether nodes would be free of it once placed pods have gone."""
        return bool(self.terms) and self.reason is not Reason.AFFINITY

    def split(self, asked: NodeList) -> tuple[NodeList, Sequence[str]]:
        """Return the known nodes that it leaves, and the names of those that it refuses: all."""
        return asked.only(()), asked.names

    def hits(self, asked: NodeList) -> Mapping[str, str | None]:
        """Return the nodes that it refuses, each with the value of the topology key."""
        return dict.fromkeys(self.split(asked)[1])

    def cause(self, group: RefusalGroup) -> str:
        """Say what refuses nodes, by refusals that differ in the domain only; O(domains)."""
        return self.what

    def statement(self, refusal: Refusal) -> str | None:
        """Say what it refuses; None of one about placed pods, which is told term by term."""
        return None if self.terms else f"Refused on {plural(refusal.hits, 'node')}: {self.what}"

    def behind(self, refusal: Refusal) -> str:
        """Say who is behind a refusal in a domain."""
        known = refusal.pods or refusal.unnamed
        return f"blocked by {refusal.in_the_way}" if known else "gone meanwhile"

    def has_remedy(self, domain: str | None) -> bool:
        """Return whether `remedy` is something that a person may want."""
        return True

    def remedy(self, domain: str | None, nodes: int) -> str:
        """Say what would have to be otherwise about nodes, other than pods that are in the way."""
        return f" but for one thing: {self.what}"


class UnknownNode(Rule):
    """No known node has the name."""

    __slots__ = ()
    reason = Reason.UNKNOWN_NODE
    what = "unknown"

    def statement(self, refusal: Refusal) -> str:
        return f"Unknown: {some(refusal.nodes, len(refusal.nodes))}"


UNKNOWN: Final = UnknownNode()


def named_pods(pods: Sequence[Pod], count: int, unnamed: int) -> str:
    """Name the first of `count` pods, or say that they are not to be named."""
    if unnamed and not pods:
        return f"{plural(count, 'pod')} of other namespaces"
    return some([pod.key for pod in pods], count)


@dataclass(slots=True, eq=False)
class Refusal:
    """A cause: one rule in one topology domain, and the nodes that it refuses there."""

    rule: Rule
    domain: str | None
    """Value of the topology label; None for nodes without it, and where there is no topology."""
    first: str
    nodes: list[str] = field(default_factory=list)
    """Those that show its reason."""
    hits: int = 0
    """How many it refuses in all; some of these show another reason, which comes before."""
    alone: int = 0
    """How many of them nothing else refuses."""
    count: int = 0
    """Pods in the domain that are the cause."""
    pods: Sequence[Pod] = ()
    """Some of them, MOST_BLOCKERS at most, by name."""
    unnamed: int = 0
    """More of them, which are of other namespaces and not to be named."""

    @property
    def reason(self) -> AnyReason:
        return self.rule.reason

    @property
    def in_the_way(self) -> str:
        return named_pods(self.pods, self.count, self.unnamed)

    @property
    def place(self) -> str:
        """Say where it holds: on a node, or in a zone."""
        if self.domain is None or self.rule.key is None:
            return ""
        key = short(self.rule.key)
        return f" on {self.domain}" if key == HOSTNAME else f" in {key} {self.domain}"


@dataclass(slots=True, eq=False)
class RefusalGroup:
    """Refusals that differ only in the domain, or in the very term; added up one by one."""

    refusals: list[Refusal] = field(default_factory=list)
    nodes: int = 0
    without_label: int = 0
    """Nodes that are in no domain."""
    pods: dict[str | None, int] = field(default_factory=dict)
    """By domain: the most pods that one of the refusals there counts."""
    all_named: bool = True
    """Every pod that is counted is named."""

    @classmethod
    def of(cls, refusals: Iterable[Refusal]) -> RefusalGroup:
        group = cls()
        for each in refusals:
            group.add(each)
        return group

    def add(self, refusal: Refusal) -> None:
        domain, count, nodes = refusal.domain, refusal.count, len(refusal.nodes)
        self.refusals.append(refusal)
        self.nodes += nodes
        if domain is None:
            self.without_label += nodes
        self.pods[domain] = max(count, self.pods.get(domain, 0))
        self.all_named = self.all_named and count <= len(refusal.pods)

    @property
    def cause(self) -> str:
        return self.refusals[0].rule.cause(self)

    @property
    def places(self) -> str:
        """Say in which domains, the first of them by name, and on how many nodes without."""
        key = self.refusals[0].rule.key
        domains = [domain for domain in self.pods if domain is not None]
        parts = []
        if domains:
            values = some(nsmallest(MOST_NAMED, domains), len(domains))
            at = "on" if short(key) == HOSTNAME else f"in {plural_of(short(key), domains)}"
            parts.append(f"{at} {values}")
        if self.without_label and key is not None:
            parts.append(f"{plural(self.without_label, 'node')} without that label")
        return f" {' and on '.join(parts)}" if parts else ""

    @property
    def in_the_way(self) -> str:
        """Name pods, each once; where not all are known by name, by their number a domain."""
        names = sorted({pod.key for each in self.refusals[:MOST_LOOKED_AT] for pod in each.pods})
        count = len(names)
        if len(self.refusals) > MOST_LOOKED_AT or not self.all_named:
            count = max(count, sum(self.pods.values()))
        if names:
            return some(names, count)
        if any(each.unnamed for each in self.refusals):
            return f"{plural(sum(self.pods.values()), 'pod')} of other namespaces"
        return "pods that have gone meanwhile"
