"""What the core gets while the feature is on: a ledger, and which pods cannot be judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from extender.core.cluster.state import ClusterState
from extender.core.config import Config, Mode
from extender.core.model.objects import Pod
from extender.core.resources import WatchedResource
from extender.core.verbs.plugins import FilterPlugin
from extender.core.verbs.rules import Rule
from extender.features.groups.annotated import entangled
from extender.features.groups.ledger import Members
from extender.features.groups.section import profiles

RESOURCES: Final[Sequence[WatchedResource[Any]]] = ()


def book(state: ClusterState, config: Config) -> None:
    """Have members booked with a state from now on."""
    del config
    state.book_with(Members(state))


@dataclass(frozen=True, slots=True)
class PodGroups(FilterPlugin):
    """Refuses no node: names the pods about which no verdict here would be right.

    So the answer is an error. kube-scheduler backs off from errors, but tries a group that was
    refused again without a pause, and autoscalers add nodes for what is refused.
    """

    why: Callable[[ClusterState, Pod], str | None]

    name: ClassVar[str] = "PodGroups"
    refuses: ClassVar[bool] = False

    def rules(self, state: ClusterState, pod: Pod) -> Iterable[Rule]:
        del state, pod
        return ()

    def concerns(self, state: ClusterState, pod: Pod) -> bool:
        del state
        return pod.spec.group is not None

    def indeterminate(self, state: ClusterState, pod: Pod) -> str | None:
        return None if pod.spec.group is None else self.why(state, pod)


def plugin(config: Config) -> PodGroups:
    """Build it for the mode; in `shadow`, groups are not compared."""
    if config.mode is Mode.ASSIST:
        return PodGroups(entangled)
    if config.mode is Mode.SHADOW:
        return PodGroups(lambda _, pod: f"the pods of pod group {pod.spec.group} are not compared")
    names = [each.scheduler_name for each in profiles(config)]
    cure = (
        f"give all pods of the group schedulerName {names[0]}"
        if names
        else "they need a profile in mode bind, see docs/groups.md"
    )

    def elsewhere(_: ClusterState, pod: Pod) -> str | None:
        if pod.spec.requirements.scheduler in names:
            return None
        return (
            f"it is in pod group {pod.spec.group}, and no extender is told where the pods of a "
            f"group are about to go: {cure}"
        )

    return PodGroups(elsewhere)
