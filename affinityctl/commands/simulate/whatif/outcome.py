"""What a simulation found: what each change did, and why pods stay pending, by kind of pod."""

from __future__ import annotations

from collections.abc import Collection, Generator, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Final, TypeAlias

from affinityctl.commands.simulate.whatif.rooms import is_unmeasured
from affinityctl.commands.simulate.whatif.scaling import ScaledDown
from affinityctl.commands.simulate.whatif.scheduling import Mark, Placement, PreemptedPod, Scheduler
from affinityctl.scheduler.profiles import BY_DEFAULT, Profile
from affinityctl.scheduler.volumes.attaching import Held
from extender.core.cluster.state import ClusterState
from extender.core.model.keys import Key
from extender.core.model.objects import Pod
from extender.core.model.verdict import Verdict
from extender.diagnosis.verbs.explain import explanation_of
from extender.diagnosis.verbs.explanation import Explanation, NearMiss, Question
from extender.diagnosis.verbs.notes import Note
from extender.diagnosis.verbs.remedies import OF_SURGE, what_to_do
from extender.diagnosis.verbs.waiting import Bottleneck, bottleneck, is_cordoned, kind_of

MOST_EXPLAINED: Final = 10
"""Kinds of pods that are explained; each takes some 50 ms with 5,000 nodes."""


@dataclass(frozen=True, slots=True)
class PendingPods:
    """Pods that are alike, and why they find no node."""

    pods: Sequence[Key]
    explanation: Explanation | None
    """Of the first of them, about all nodes; None beyond MOST_EXPLAINED kinds."""
    bottleneck: Bottleneck | None
    waited: bool = False
    """They had waited before the changes as well."""
    until: Key | None = None
    """Their StatefulSet makes them once this pod is ready; None if they are there."""
    removed_first: bool = False
    """Their update removes pods before it creates some already."""
    eased: bool = False
    """Their update would come to its end if it did."""

    @property
    def nearest(self) -> list[NearMiss]:
        """Return what could change, save for what is of no help.

        That is a cordoned node, such as one that is drained, and that a replica of theirs was gone.
        """
        found = () if self.explanation is None else self.explanation.near_misses
        return [
            each for each in found if not (is_cordoned(each.refusals) or self._of_replicas(each))
        ]

    @property
    def is_full_of_replicas(self) -> bool:
        """Return whether nothing could change but that replicas of theirs were gone."""
        found = [] if self.explanation is None else self.explanation.near_misses
        return bool(found) and all(map(self._of_replicas, found))

    def what_to_do(self, remarks: Iterable[Note]) -> list[str]:
        """Return what is most likely right first, save for what is so already."""
        if self.explanation is None:
            return []
        moot = OF_SURGE if self.removed_first else ()
        told = [each for each in remarks if each.kind not in moot]
        return what_to_do(self.explanation, told, eased=self.eased)

    def _of_replicas(self, miss: NearMiss) -> bool:
        if self.explanation is None or (workload := self.explanation.pod.workload) is None:
            return False
        kind, pods = self.explanation.pod.pod_class, miss.pods
        alike = all(each.pod_class == kind and each.workload == workload for each in pods)
        return alike and 0 < miss.count == len(pods)


def pending(
    state: ClusterState,
    waiting: Sequence[Pod],
    profile: Profile = BY_DEFAULT,
    waited: Collection[Key] = (),
    held: Mapping[Key, Key] = MappingProxyType({}),
    *,
    steps: Iterable[Step] = (),
) -> list[PendingPods]:
    """Explain waiting pods, those of most pods first, of those that had waited last.

    `held` has those that are not made yet, each with the pod that has to be ready before; `steps`
    what has made them wait. O(nodes x kinds)
    """
    kinds: dict[tuple[bool, Key | None, Hashable], list[Pod]] = {}
    for pod in waiting:
        kind = pod.key in waited, held.get(pod.key), kind_of(pod)
        kinds.setdefault(kind, []).append(pod)
    ordered = sorted(
        kinds.items(), key=lambda each: (each[0][0], each[0][1] is not None, -len(each[1]))
    )
    updates = [each.update for each in steps if each.update is not None]
    without_surge = {key for each in updates if not each.surges for key in each.waits}
    eased = {key for each in updates if each.eased for key in each.waits}
    found = []
    for number, ((had_waited, until, _), alike) in enumerate(ordered):
        keys, explanation = [pod.key for pod in alike], None
        if until is None and number < MOST_EXPLAINED:
            explanation = explain(state, alike[0], profile)
        limit = None if explanation is None else bottleneck(explanation)
        of_update = keys[0] in without_surge, keys[0] in eased
        found.append(PendingPods(keys, explanation, limit, had_waited, until, *of_update))
    return found


def explain(state: ClusterState, pod: Pod, profile: Profile = BY_DEFAULT) -> Explanation:
    """Explain a pod by everything that is looked at here; O(nodes)."""
    filters = profile.of(pod).filters
    question = Question(pod, list(state.nodes), filters, left=profile.left, known=profile.known)
    return explanation_of(state, question)


class After(Enum):
    """What comes after a pod that went; the value is what programs read."""

    MADE_ANEW = "madeAnew"
    """Its controller makes another one, of the same name here."""
    WITH_NODE = "withNode"
    """It belonged to its node, as those of a DaemonSet."""
    REPLACED = "replaced"
    """It made room for pods of a new version, or there were to be fewer."""
    DELETED = "deleted"
    """It was being deleted already."""
    GONE = "gone"
    """It had no controller that would make another one."""


@dataclass(frozen=True, slots=True)
class Removal:
    pod: Key
    node: str | None
    """The node that it was on; None for one that waited."""
    after: After


@dataclass(frozen=True, slots=True)
class Blocked:
    """A pod that is on a node that was drained: budgets keep it there, or it came back."""

    pod: Key
    node: str
    budgets: Sequence[Key]
    """None for a pod that was evicted and came back, as it tolerates the cordon."""
    why: str


@dataclass(frozen=True, slots=True)
class NotStarted:
    """A pod on a node that does not get its volume."""

    pod: Key
    held: Held


@dataclass(frozen=True, slots=True)
class UpdateStep:
    """One turn of a controller that updates its pods."""

    removed: Sequence[Removal]
    created: Sequence[Key]
    placed: Sequence[Placement]


@dataclass(slots=True)
class Update:
    """How far a rolling update came."""

    steps: list[UpdateStep] = field(default_factory=list)
    stuck: str | None = None
    """Who waits for whom; None where it came to its end."""
    waits: Sequence[Key] = ()
    """New pods that found no node."""
    kept: Sequence[Key] = ()
    """Old pods that stay until these run."""
    surges: bool = True
    """New pods may come before old ones go."""
    eased: bool = False
    """It would come to its end if old pods went first."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What would come of one node or topology domain that goes alone."""

    name: str
    nodes: int
    moved: int
    """Pods that were on these nodes and have another."""
    waiting: Sequence[Key]
    """Pods that did not wait before."""
    blocked: Sequence[Blocked]
    gone: Sequence[Key]
    """Pods that no controller makes anew."""
    uncertain: Sequence[Key]
    """Pods that have another node, which what is not looked at may refuse them."""
    why: str = ""
    """What keeps most nodes from the first that waits."""
    not_started: Sequence[Key] = ()
    """Pods that have another node, and wait there for a volume."""

    @property
    def hurts(self) -> bool:
        """Return whether pods would wait or be gone for good, or a drain would not end."""
        return bool(self.waiting or self.blocked or self.gone or self.not_started)


DELETED: Final = "deleted"


@dataclass(slots=True)
class Step:
    change: str
    went: str = DELETED
    """How pods are removed by it, in a word."""
    placed: Sequence[Placement] = ()
    removed: list[Removal] = field(default_factory=list)
    preempted: Sequence[PreemptedPod] = ()
    blocked: Sequence[Blocked] = ()
    waiting: Sequence[Key] = ()
    """Pods of this change that wait after it."""
    held: Sequence[Key] = ()
    """Pods of this change that their StatefulSet does not make yet."""
    not_started: Sequence[NotStarted] = ()
    """Pods of this change that got a node, and wait there for a volume."""
    full: PendingPods | None = None
    """The first pod that found no node any more, of those that were placed until then."""
    update: Update | None = None
    scaled: ScaledDown | None = None
    trials: Sequence[Trial] | None = None
    stopped: bool = False
    """The controller of pods that are scaled waits, and does not come to the end."""
    notes: list[str] = field(default_factory=list)

    @property
    def gone(self) -> list[Key]:
        gone = [each.pod for each in self.removed if each.after is After.GONE]
        return gone + [each.pod for each in self.preempted if each.lost]

    @property
    def hurts(self) -> bool:
        """Return whether pods are lost or do not start, something does not end, or a trial hurts.

        Whether pods wait is for the end to say.
        """
        stuck = self.stopped or (self.update is not None and self.update.stuck is not None)
        trials = any(each.hurts for each in self.trials or ())
        return bool(self.gone or self.blocked or self.not_started or stuck or trials)


@dataclass(frozen=True, slots=True)
class Simulation:
    state: ClusterState
    """The cluster as it is after them."""
    seed: int | None
    steps: Sequence[Step]
    pending: Sequence[PendingPods]
    begun: int = 0
    """How many steps came before the changes, and are no matter of theirs."""
    beyond: Mapping[str, Collection[Key]] = field(default_factory=dict)
    """Pods that were placed and ask for what is not looked at, by the field in which they do."""
    is_certain: bool = True
    """None of that may refuse them."""

    @property
    def verdict(self) -> Verdict:
        """Return whether the changes do no harm, or without any, whether all pods have a node."""
        waits = any(not each.waited for each in self.pending)
        if waits or any(each.hurts for each in self.steps[self.begun :]):
            return Verdict.REFUSED
        return Verdict.FITS if self.is_certain else Verdict.UNKNOWN

    @property
    def unmeasured(self) -> int:
        """Return the number of nodes that nothing is known of but their labels."""
        return sum(is_unmeasured(self.state, name) for name in self.state.nodes)


def ended(scheduler: Scheduler, step: Step, since: Mark, of: Iterable[Key]) -> Step:
    """Take up what was placed and preempted since then, and which of some pods wait."""
    step.placed = scheduler.placements[since.placements :]
    step.preempted = scheduler.preemptions[since.preemptions :]
    held = scheduler.held
    keys = [*of]
    left = [key for key in keys if scheduler.waits(key)]
    step.waiting = [key for key in left if key not in held]
    step.held = [key for key in left if key in held]
    asleep = scheduler.not_started
    step.not_started = [NotStarted(key, asleep[key]) for key in keys if key in asleep]
    return step


Looks: TypeAlias = Generator[None, None, Step]
"""Takes a tick for each pod that is looked at, and returns what came of it."""
