"""KEP-2249's comparison: rules within one namespace, or over 100 that a selector chooses.

The pods have the shape of scheduler_perf's affinity templates.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from enum import Enum

from bench.intree.driver import Side
from bench.intree.workshop import Workshop
from bench.measure import Timing
from bench.workloads import (
    HOST,
    NAMESPACES,
    ZONE,
    Json,
    Question,
    affinity,
    api_object,
    node_items,
    node_name,
    pod,
    sample,
)

NODES = 5000
NAMES = 500
PODS = 1000
"""Pods to place, in rounds."""
_ROUNDS = 5
_QUESTIONS = 50
_PAUSE = 0.011
"""Two of them outlast the time for which a filter waits for the bind of another such pod
(HOLD_SECONDS): nobody binds here, and the wait is not what is compared."""
_CHOSEN = {"matchLabels": {"team": "devops"}}


class Kind(Enum):
    """The four kinds of rules, with the side, the strength and the topology of the term."""

    REQUIRED_AFFINITY = ("required affinity", "podAffinity", True, ZONE)
    REQUIRED_ANTI_AFFINITY = ("required anti-affinity", "podAntiAffinity", True, HOST)
    PREFERRED_AFFINITY = ("preferred affinity", "podAffinity", False, HOST)
    PREFERRED_ANTI_AFFINITY = ("preferred anti-affinity", "podAntiAffinity", False, HOST)

    @property
    def title(self) -> str:
        return self.value[0]

    @property
    def existing(self) -> int:
        """Return how many pods are placed: one a node, and anti-affinity leaves nodes free."""
        return 4000 if self is Kind.REQUIRED_ANTI_AFFINITY else NODES

    def affinity(self, *, selected: bool) -> Json:
        """Build the rule, about its own namespace or about those that are selected."""
        _, side, required, key = self.value
        term: Json = {"labelSelector": {"matchLabels": {"app": "green"}}, "topologyKey": key}
        if selected:
            term["namespaceSelector"] = _CHOSEN
        return affinity(side, [term]) if required else affinity(side, preferred=[(1, term)])


@dataclass(frozen=True, slots=True)
class Comparison:
    """What one kind of rules costs the extender, in one namespace and over 100."""

    kind: Kind
    one: Timing
    many: Timing

    @property
    def ratio(self) -> float:
        return self.many.over(self.one)


def compare(kind: Kind, workshop: Workshop) -> Comparison:
    """Compare the answers in both clusters with in-tree's, then time the extender's in turn."""
    workshop.progress(f"KEP-2249: {kind.title}")
    plugins, extenders = [], []
    with ExitStack() as stack:
        for name, count in (("one", 1), ("many", NAMESPACES)):
            server = workshop.load(stack, name, _items(kind, count))
            asked = _questions(kind, count)
            plugins.append(Side(f"in-tree {name}", name, asked))
            extenders.append(Side(name, name, asked, server.url, like=f"in-tree {name}"))
        measure = workshop.cycles.measure
        compared = measure([*plugins, *extenders], rounds=1, calls=_QUESTIONS, pause=_PAUSE)
        if compared.differences:
            raise RuntimeError(f"answers differ from in-tree's: {compared.differences[0]}")
        alone = [replace(side, like="") for side in extenders]
        timed = measure(alone, rounds=_ROUNDS, calls=PODS // _ROUNDS, pause=_PAUSE)
    workshop.cycles.forget()
    return Comparison(kind, timed.timings["one"], timed.timings["many"])


def _items(kind: Kind, namespaces: int) -> Iterator[Json]:
    for number in range(namespaces):
        labels = {"team": "devops"}
        yield api_object("Namespace", {"name": _namespace(number), "labels": labels})
    yield from node_items(NODES)
    for number in range(kind.existing):
        yield _green(kind, f"init-{number}", namespaces, number, node_name(number))


def _questions(kind: Kind, namespaces: int) -> list[Question]:
    dice = random.Random(kind.title)
    return [
        Question(_green(kind, f"new-{n}", namespaces, n, None), sample(dice, NODES, NAMES))
        for n in range(_QUESTIONS)
    ]


def _green(kind: Kind, name: str, namespaces: int, number: int, node: str | None) -> Json:
    rules = kind.affinity(selected=namespaces > 1)
    return pod(name, _namespace(number % namespaces), {"app": "green"}, rules, node)


def _namespace(number: int) -> str:
    return f"measure-{number}"
