"""What one room asks of another that it may not import; only `runtime` joins the two."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn, Protocol, TypeAlias

from extender.core.cluster.counts.nodes import NodeList
from extender.core.model.disruption import Rank
from extender.core.model.keys import Key
from extender.core.model.objects import Namespace, Node, Pod, SeenPod
from extender.core.model.pod_affinity import PodSelector
from extender.core.model.verdict import AnyReason
from extender.core.verbs.plugins import FilterResult, Plugins, Refused
from extender.core.verbs.prioritizing import Scored

Check: TypeAlias = Callable[[], str | None]
"""Returns None when all is well, else the reason why not, for operators to read; or a Remark."""

ReleaseNomination: TypeAlias = Callable[[Pod, Collection[str]], Awaitable[frozenset[str]]]
"""Stops our nominations for a pod, because a preemption on one of the nodes begins. Returns the
nodes on which a withdrawal of ours may still arrive: evict nothing there."""


class Remark(str):
    """What a check that passes has to say all the same; shown with ?verbose."""

    __slots__ = ()


class Pointer(Protocol):
    """Nominates nodes for pods."""

    def point(self, pod: Pod, node: str) -> None:
        """Nominate a node, soon, for a pod that was not bound."""

    async def release_nomination(self, pod: Pod, nodes: Collection[str]) -> frozenset[str]:
        """Leave a pod's nomination to another, as `ReleaseNomination` says."""


class Preemptor(Protocol):
    """Evicts pods for others, beside the scheduler."""

    def going(self, pod: Pod) -> Collection[str] | None:
        """Return the uids of the pods that it evicts for a pod; None when it evicts none."""

    def leaving(self, pod: Pod) -> Collection[str] | None:
        """Return the uids of those of whose deletion the watch should tell any moment, if any."""

    async def has_better_ones(self, pod: Pod, rank: Rank) -> bool:
        """Return whether victims on a node that only we refuse are better than some of a rank."""

    def unhelped(self, pod: Pod) -> None:
        """Hear that no candidate of the scheduler's helps a pod."""

    def defer_to_scheduler(self, pod: Pod) -> None:
        """Leave a pod to the scheduler, which is about to evict others for it."""


class BetterNode(NamedTuple):
    """A node that a pod should go to instead, and why."""

    node: str
    why: str


class Attempt(Protocol):
    """A bind about which is decided together with others; neither method awaits."""

    def stands(self) -> bool:
        """Take the pod's place unless something refuses it now; return whether it has it."""

    def undo(self) -> None:
        """Give the place back, if it has one."""


class Company(Protocol):
    """Decides about binds of several pods together."""

    def has(self, pod: Pod) -> bool: ...

    async def decide(self, pod: Pod, attempt: Attempt) -> str | None:
        """Return when the attempt has come to stand or fall, or why it is refused for others.

        In some seconds at most; an attempt that is refused so, or whose call ends sooner, is its
        caller's to undo.
        """


class Hook:
    """What a feature does in the middle of a callback; each method does nothing here."""

    judges: Plugins = ()
    """Rules by which filter calls are judged though they refuse nothing; of one hook at most."""
    pointer: Pointer | None = None
    """Of one hook at most, as is the next."""
    preemptor: Preemptor | None = None
    company: Company | None = None
    """Likewise."""

    def refused(self, pod: Pod, refused: Refused) -> None:
        """Hear that filter refuses a pod on every node it was asked about: no I/O, no await."""

    def admitted(self, pod: Pod) -> None:
        """Hear that filter does not refuse a pod everywhere: no I/O, no await."""

    def judged(self, pod: Pod, verdicts: FilterResult) -> None:
        """Hear what they said of a pod, before the answer is written: no I/O, no await."""

    def not_bound(self, pod: Pod, reason: AnyReason) -> None:
        """Hear for what a plugin refuses the node that a pod is to be bound to: no await."""

    def asked(self, scheduler: str) -> None:
        """Hear which scheduler asks about a pod, at each request: no I/O, no await."""

    def scores(self, pod: Pod, asked: Callable[[], NodeList], max_score: int) -> Scored | None:
        """Score nodes in place of the plugins, None to leave it to them: no I/O, no await."""
        del pod, asked, max_score
        return None

    def better(self, pod: Pod, node: str) -> BetterNode | None:
        """Return a node that is nominated for a pod, which is not bound to `node` now; else None.

        Called after the verdict where some hook has a pointer: no I/O, no await.
        """
        del pod, node
        return None

    def placing(self, pod: Pod, node: str) -> Pod:
        """Return a pod as it is to be reserved on a node and bound, with facets of its own.

        Called between the verdict and the reservation: no I/O, no await.
        """
        del node
        return pod

    async def before_bind(self, placed: Pod) -> str | None:
        """Do what has to be done before a pod is bound to its node; a text refuses, and says why.

        Called with the place reserved, out of the time for the bind. What is reserved is given up
        where one refuses.
        """
        del placed
        return None


class ClusterReader(Protocol):
    """Tells what the API server has now; None for what there is not."""

    async def pod(self, key: Key, within: float = ...) -> SeenPod | None:
        """Return a pod, with its version; `within` seconds."""

    async def node(self, name: str) -> Node | None: ...

    async def namespace(self, name: str) -> Namespace | None: ...

    async def pods(self, pods: PodSelector, node: str | None) -> Sequence[Pod] | None:
        """Return pods that may match and have not ended, of one node if given; None: too many."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """What an Event says of a pod, or of the Lease."""

    reason: str
    action: str
    note: str
    warns: bool = False


class LeaseNotes(Protocol):
    """What replicas tell each other by annotations of the Lease."""

    def learn(self, annotations: Mapping[str, str], *, leads: bool) -> None:
        """Take over what is written there; with `leads`, from the leader whom this one follows."""

    def written(self, annotations: Mapping[str, str], *, leads: bool) -> Mapping[str, str]:
        """Return what is to be written there, beside all others."""


class Leadership(Protocol):
    """Who of several replicas acts."""

    @property
    def leads(self) -> bool:
        """Return whether it is this one, as far as it can know without asking."""

    @property
    def acknowledged(self) -> int:
        """Return how many affected pods an annotation says are acceptable; 0 without one."""

    def keep(self, notes: LeaseNotes) -> None:
        """Have notes written with each renewal, for the next leader."""

    async def confirm(self) -> bool:
        """Find out from the API server, now, that it is this one; by that its notes are kept."""

    async def run(self) -> NoReturn:
        """Take the lead when it is free, and keep it."""
