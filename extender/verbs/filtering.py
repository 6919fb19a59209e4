"""Which nodes a pod may go to by the rules of inter-pod affinity, and why not to the others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import not_

from extender.cluster.counts.nodes import AskedNodes
from extender.cluster.counts.prefilter_state import DomainUnion, Question
from extender.cluster.counts.topology import Topology, picker
from extender.model.verdict import Reason


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The nodes that fit, in the order of the request, and the refused ones by reason."""

    fits: AskedNodes
    refused: Sequence[tuple[Reason, Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Constraint:
    """One reason to refuse the nodes in, or outside, some domains of a topology."""

    reason: Reason
    topology: Topology
    domains: Collection[int]
    forbidden: bool
    """True: the domains are refused. False: everything outside them is."""

    def split(self, asked: AskedNodes) -> tuple[Sequence[str], Sequence[str]]:
        """Return the names of the nodes that fit, and of those that are refused."""
        names = asked.names
        if self.forbidden and self.topology.values_are_names and len(self.domains) <= len(names):
            # The short way for hostnames: the domains are the names, so no node is looked up.
            refused = self._values()
            fits = [name for name in names if name not in refused]
            if len(fits) == len(names):
                return fits, ()
            if not fits:
                return fits, names
            if len(fits) + len(refused) != len(names):
                # Some of the refused were not asked about.
                refused = refused.intersection(names)
            # Sorted, because the order of a set differs from one start of Python to the next.
            return fits, sorted(refused)
        inside = map(self.domains.__contains__, picker(asked.numbers)(self.topology.domain_of))
        hits = list(inside if self.forbidden else map(not_, inside))
        if True not in hits:
            return names, ()
        return list(compress(names, map(not_, hits))), list(compress(names, hits))

    def _values(self) -> set[str]:
        values = self.topology.values
        return {values[domain] for domain in self.domains}


def filter_nodes(question: Question, asked: AskedNodes) -> Verdicts:
    """Judge the known nodes of a request; O(nodes x topologies that the rules name).

    A node refused for several reasons shows the first in the scheduler's order: pod affinity,
    own anti-affinity, existing pods' anti-affinity.
    """
    refused: list[tuple[Reason, Sequence[str]]] = []
    for constraint in _constraints(question):
        if not asked.names:
            break
        fits, hit = constraint.split(asked)
        if hit:
            refused.append((constraint.reason, hit))
            asked = asked.only(fits)
    return Verdicts(asked, refused)


def _constraints(question: Question) -> Iterator[Constraint]:
    if not question.has_rules:
        return
    yield from _affinity(question)
    yield from _forbidden(Reason.ANTI_AFFINITY, question.anti_affinity)
    yield from _forbidden(Reason.EXISTING_ANTI_AFFINITY, question.existing_anti_affinity)


def _affinity(question: Question) -> Iterator[Constraint]:
    """Yield the domains that required affinity leaves.

    A table holds the pods that match all required terms, so each term's domain must hold one of
    them. When there are none anywhere and the pod would match its own terms, it may start the
    group wherever the node has every key.
    """
    first = question.starts_group and not any(table.counts for table in question.affinity)
    for table in question.affinity:
        # Every domain there is leaves out the nodes without the key, which are in none.
        allowed = range(len(table.topology.values)) if first else table.counts
        yield Constraint(Reason.AFFINITY, table.topology, allowed, forbidden=False)


def _forbidden(reason: Reason, unions: Sequence[DomainUnion]) -> Iterator[Constraint]:
    for union in unions:
        domains = union.domains()
        if domains is not None:
            yield Constraint(reason, union.topology, domains, forbidden=True)
