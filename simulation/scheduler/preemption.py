"""In-tree's preemption: candidates by dry run, the extender's say, and the choice among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from simulation.apiserver.verbs import is_about
from simulation.scheduler.cache import Cache
from simulation.scheduler.objects import NodeInfo, PodInfo

Snapshot: TypeAlias = Mapping[str, Mapping[str, PodInfo]]
"""The pods of each node by uid, as they were at some time."""


@dataclass(slots=True)
class Candidate:
    node: str
    victims: list[PodInfo]
    violations: int
    """Victims whose budget does not allow it."""


def may_preempt(cache: Cache, pod: PodInfo) -> bool:
    """Tell whether a pod may look for victims: not while those on its nominated node are going."""
    if pod.never_preempts:
        return False
    node = cache.nodes.get(pod.nominated)
    if node is None:
        return True
    return not any(each.deleting and each.priority < pod.priority for each in node.pods.values())


def candidates(cache: Cache, pod: PodInfo, nodes: Iterable[NodeInfo]) -> list[Candidate] | None:
    """Try each node with the less important pods taken away, and spare as many as possible.

    A node where nobody has to go is an error, as only an extender can have refused it; None where
    there is nothing else.
    """
    tried = [_dry_run(cache, pod, node) for node in nodes]
    found = [each for each in tried if each is not None and each.victims]
    failed = any(each is not None and not each.victims for each in tried)
    return None if failed and not found else found


def _dry_run(cache: Cache, pod: PodInfo, node: NodeInfo) -> Candidate | None:
    lower = [each for each in node.pods.values() if each.priority < pod.priority]
    if not lower or not cache.fits(pod, node, lower):
        return None
    spared: set[str] = set()
    protected = {each.uid for each in lower if _is_protected(cache, each)}
    order = sorted(lower, key=lambda each: (each.uid not in protected, -each.priority, each.uid))
    for one in order:
        rest = [each for each in lower if each.uid not in spared and each is not one]
        if cache.fits(pod, node, rest):
            spared.add(one.uid)
    victims = [each for each in lower if each.uid not in spared]
    violations = sum(each.uid in protected for each in victims)
    return Candidate(node.name, sorted(victims, key=lambda each: -each.priority), violations)


def _is_protected(cache: Cache, pod: PodInfo) -> bool:
    return any(
        is_about(budget, pod.raw) and budget["status"]["disruptionsAllowed"] < 1
        for budget in cache.budgets.values()
    )


def answered(there: Snapshot, answer: Mapping[str, Any]) -> list[Candidate]:
    """Read what the extender has left of the candidates, of which the scheduler knew those pods.

    KeyError where it names a victim that is not among them, ValueError where it names none: the
    scheduler gives up the whole preemption then (convertToVictims, callExtenders).
    """
    left = answer.get("NodeNameToMetaVictims") or {}
    found = []
    for name, meta in left.items():
        victims = [there[name][each["UID"]] for each in meta["Pods"] or ()]
        if not victims:
            raise ValueError(f"expected at least one victim pod on node {name!r}")
        found.append(Candidate(name, victims, meta.get("NumPDBViolations", 0)))
    return found


def choose(found: list[Candidate]) -> Candidate | None:
    """Choose by fewest violations, lowest important victim, least sum, fewest victims."""
    return min(
        found,
        key=lambda each: (
            each.violations,
            max(victim.priority for victim in each.victims),
            sum(victim.priority for victim in each.victims),
            len(each.victims),
            each.node,
        ),
        default=None,
    )
