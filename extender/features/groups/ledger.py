"""The members of each pod group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Final

from extender.core.cluster.ledgers.ledger import Ledger
from extender.core.cluster.view import ClusterView
from extender.core.model.objects import Pod

AUDITED_PODS: Final = 5_000
"""Pods that are compared in one step of the audit."""
_NO_MEMBERS: Final[Mapping[str, Pod]] = MappingProxyType({})


class Members(Ledger):
    """Pods that have not ended, by their group and namespace/name; O(1) for each event."""

    def __init__(self, state: ClusterView) -> None:
        self.ended: Final[list[Callable[[str], None]]] = []
        """Hear of each group whose last member has gone; the next of its name is another group."""
        self._state = state
        self._of: dict[str, dict[str, Pod]] = {}
        self._changes = 0
        self._found: dict[str, str | None] = {}
        self._found_at = 0, 0

    def of(self, group: str) -> Mapping[str, Pod]:
        return self._of.get(group, _NO_MEMBERS)

    def has_place(self, member: Pod) -> bool:
        """Return whether a member has its node, or a reserved one."""
        reservations = self._state.reservations
        return member.node is not None or bool(reservations.of(member.key, member.uid))

    def found(self, group: str, find: Callable[[], str | None]) -> str | None:
        """Return what is found about a group; asked once while no member and no place changes.

        In a cycle of the scheduler each member is asked about, and nothing changes meanwhile.
        """
        now = self._state.version, self._changes
        if now != self._found_at:
            self._found_at = now
            self._found.clear()
        if group not in self._found:
            self._found[group] = find()
        return self._found[group]

    def shown(self, pod: Pod | None, before: Pod | None) -> None:
        """Take over a pod as it is now."""
        group = None if before is None else before.spec.group
        if before is not None and group is not None:
            self._changes += 1
            members = self._of[group]
            del members[before.key]
            if not members:
                del self._of[group]
        if pod is not None and pod.spec.group is not None and not pod.status.terminal:
            self._changes += 1
            self._of.setdefault(pod.spec.group, {})[pod.key] = pod
        if group is not None and group not in self._of:
            for tell in self.ended:
                tell(group)

    def audit(self) -> Iterator[str | None]:
        """Look for each pod with a group among its members, and the other way round."""
        pods = iter([*self._state.pods.values()])
        while some := list(islice(pods, AUDITED_PODS)):
            yield next((_said(each) for each in some if not self._is_known(each)), None)
        members = [each for group in self._of.values() for each in group.values()]
        wrong = (each for each in members if self._state.pods.get(each.key) is not each)
        yield next(map(_said, wrong), None)

    def _is_known(self, pod: Pod) -> bool:
        if pod.spec.group is None or self._state.pods.get(pod.key) is not pod:
            return True  # It may have changed since the step before.
        return self.of(pod.spec.group).get(pod.key) is pod


def _said(pod: Pod) -> str:
    return f"{pod.key} among the members of its pod group"


def members_of(state: ClusterView) -> Members:
    """Return the ledger that is booked with a state; LookupError where the feature is off."""
    found = next((each for each in state.ledgers if isinstance(each, Members)), None)
    if found is None:
        raise LookupError("no pod groups are booked with this state")
    return found
