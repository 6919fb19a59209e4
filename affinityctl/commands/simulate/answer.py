"""What `-o json` and `-o yaml` print, from which docs/reference/schemas has the schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NotRequired, TypedDict

from affinityctl.commands.simulate.whatif.outcome import Blocked, Removal
from affinityctl.commands.simulate.whatif.scaling import Spread
from extender.core.model.keys import Key
from extender.core.model.verdict import Verdict
from extender.diagnosis.verbs.notes import Note

Placement = TypedDict("Placement", {"pod": Key, "node": str, "from": NotRequired[str]})
Preempted = TypedDict("Preempted", {"pod": Key, "node": str, "for": Key})


class ToldBottleneck(TypedDict):
    rule: str
    nodes: int
    alone: int


class Pending(TypedDict):
    """Pods that are alike and wait, or are not created yet."""

    pods: Sequence[Key]
    count: int
    notCreatedUntilReady: NotRequired[Key]
    summary: NotRequired[str]
    nearest: NotRequired[Sequence[str]]
    notes: NotRequired[Sequence[Note]]
    whatToDo: NotRequired[Sequence[str]]
    bottleneck: NotRequired[ToldBottleneck]


class ToldTurn(TypedDict):
    removed: Sequence[Key]
    created: Sequence[Key]
    placed: Sequence[Placement]


class ToldUpdate(TypedDict):
    stuck: str | None
    waits: Sequence[Key]
    kept: Sequence[Key]
    steps: Sequence[ToldTurn]


class ToldScaledDown(TypedDict):
    left: Spread
    leftWithCosts: Spread
    wouldGoWithCosts: Sequence[Key]


class ToldTrial(TypedDict):
    hurts: bool
    name: str
    nodes: int
    moved: int
    waiting: Sequence[Key]
    blocked: Sequence[Blocked]
    gone: Sequence[Key]
    uncertain: Sequence[Key]
    notStarted: Sequence[Key]
    why: str


class ToldNotStarted(TypedDict):
    pod: Key
    claim: str
    heldBy: Key
    heldOn: str


class ToldStep(TypedDict):
    change: str
    placed: Sequence[Placement]
    removed: Sequence[Removal]
    pending: Sequence[Key]
    notCreated: Sequence[Key]
    notStarted: Sequence[ToldNotStarted]
    blocked: Sequence[Blocked]
    notes: Sequence[str]
    full: NotRequired[Pending]
    update: NotRequired[ToldUpdate]
    scaledDown: NotRequired[ToldScaledDown]
    trials: NotRequired[Sequence[ToldTrial]]


class ToldNotModelled(TypedDict):
    field: str
    pods: Sequence[Key]


class Simulated(TypedDict):
    fine: bool
    verdict: Verdict
    seed: int | None
    steps: Sequence[ToldStep]
    pending: Sequence[Pending]
    preempted: Sequence[Preempted]
    notModelled: Sequence[ToldNotModelled]
    nodesWithoutAllocatable: int


ANSWERS: Final = (Simulated,)
