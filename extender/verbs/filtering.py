"""Which nodes a pod may go to, and why not to the others."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import not_

from extender.cluster.nodes import AskedNodes
from extender.cluster.question import DomainUnion, Question
from extender.cluster.topology import NO_DOMAIN, Topology, picker
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
    domains: Container[int]
    forbidden: bool
    """True: the domains are refused. False: everything outside them is."""

    def refuses(self, numbers: Sequence[int]) -> list[bool]:
        """Tell for each node whether it is refused."""
        inside = map(self.domains.__contains__, picker(numbers)(self.topology.domain_of))
        return list(inside if self.forbidden else map(not_, inside))


def filter_nodes(question: Question, asked: AskedNodes) -> Verdicts:
    """Judge every node of a request; O(nodes x topologies that the rules name).

    A node refused for several reasons shows the first in the scheduler's order: pod affinity,
    own anti-affinity, existing pods' anti-affinity.
    """
    names, numbers = asked.names, asked.numbers
    refused: list[tuple[Reason, Sequence[str]]] = []
    if asked.unknown:
        refused.append((Reason.UNKNOWN_NODE, asked.unknown))
    for constraint in _constraints(question):
        if not names:
            break
        hits = constraint.refuses(numbers)
        if True in hits:
            refused.append((constraint.reason, list(compress(names, hits))))
            fits = list(map(not_, hits))
            names, numbers = list(compress(names, fits)), list(compress(numbers, fits))
    return Verdicts(AskedNodes(names, numbers, (), asked.version), refused)


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
        if first:
            yield Constraint(Reason.AFFINITY, table.topology, (NO_DOMAIN,), forbidden=True)
        else:
            yield Constraint(Reason.AFFINITY, table.topology, table.counts, forbidden=False)


def _forbidden(reason: Reason, unions: Sequence[DomainUnion]) -> Iterator[Constraint]:
    for union in unions:
        domains = union.domains()
        if domains is not None:
            yield Constraint(reason, union.topology, domains, forbidden=True)
