"""What other pods have: how many volumes a node attaches, disks and claims of one pod alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import ClassVar, Final

from affinityctl.scheduler.volumes.claims import VolumeRule, claim_of, may_go_somewhere, unless
from affinityctl.scheduler.volumes.ledger import ledger_of
from affinityctl.scheduler.volumes.objects import (
    READ_WRITE_ONCE_POD,
    Attachable,
    ClaimsAndDisks,
    CSINode,
    Disk,
    claims_in,
    volumes_in,
)
from extender.core.cluster.counts.nodes import NodeList
from extender.core.cluster.state import ClusterState
from extender.core.model.keys import Key
from extender.core.model.objects import Pod
from extender.core.model.verdict import (
    NODE_VOLUME_LIMITS,
    VOLUME_RESTRICTIONS,
    Reason,
)
from extender.core.model.wording import MOST_NAMED, plural
from extender.core.verbs.filtering import CountingPlugin
from extender.core.verbs.rules import Refusal, RefusalGroup


@dataclass(frozen=True, slots=True)
class NodeVolumeLimits(CountingPlugin):
    """The scheduler's plugin of that name: how many volumes CSI drivers attach to a node."""

    off: frozenset[str] = frozenset()
    """Plugins that do not run."""

    name: ClassVar[str] = NODE_VOLUME_LIMITS
    compares_pods: ClassVar[bool] = True

    def rules_beside(
        self, state: ClusterState, pod: Pod, others: Sequence[Pod]
    ) -> Iterator[VolumeRule]:
        """Yield the drivers that pods cannot do without, and the one rule about limits."""
        if not ledger_of(state).knows_limits or not may_go_somewhere(state, pod, self.off):
            return
        wanted = _Attaching(state, pod, others)
        for driver in sorted(wanted.needed):
            yield VolumeRule(
                Reason.NO_DRIVER,
                partial(wanted.has_driver, driver),
                f"volume: the CSI driver {driver} is not on the node",
                f"{driver} {Reason.NO_DRIVER.value}",
            )
        what = "volume: as many volumes are attached as the node takes"
        yield CountRule(Reason.VOLUME_COUNT, wanted.fit, what, numbers=wanted.too_many)


@dataclass(slots=True, eq=False)
class CountRule(VolumeRule):
    """A node has as many volumes as it takes; nodes with the same numbers are a domain of it."""

    numbers: Callable[[str], str | None] = field(kw_only=True)
    """In words, None for a node that takes them."""

    def hits(self, asked: NodeList) -> Mapping[str, str | None]:
        found = ((name, self.numbers(name)) for name in asked.names)
        return {name: numbers for name, numbers in found if numbers is not None}

    def cause(self, group: RefusalGroup) -> str:
        numbers = sorted(filter(None, group.pods))
        more = f" and {len(numbers) - MOST_NAMED:,} more" if numbers[MOST_NAMED:] else ""
        return f"{self.what} ({' or '.join(numbers[:MOST_NAMED])}{more})"

    def statement(self, refusal: Refusal) -> str | None:
        if refusal.hits == len(refusal.nodes):
            return None
        return f"Refused on {plural(refusal.hits, 'node')}: {self.what} ({refusal.domain})"

    def remedy(self, domain: str | None, nodes: int) -> str:
        del nodes
        return f" if fewer volumes were attached ({domain})"


class _Attaching:
    """The volumes of a pod that are attached to its node."""

    def __init__(self, state: ClusterState, pod: Pod, others: Sequence[Pod]) -> None:
        """`others` are on the only node that is asked about, as the state does not know yet."""
        self._state = state
        self._volumes = ledger_of(state)
        self._pod = pod
        self._others = others
        self._new = frozenset(self._of(pod, _ANY_NODE))
        drivers = {driver for driver, _ in self._new}
        known = (self._volumes.csi_drivers.get(each) for each in drivers)
        self.needed = {each.key for each in known if each is not None and each.needed_on_node}

    def has_driver(self, driver: str, node: str) -> bool:
        """Return whether a node has a driver, or does not need it for this pod."""
        found = self._volumes.csi_nodes.get(node)
        if found is None:
            return driver not in {each for each, _ in self._of(self._pod, None)}
        return driver in found.topology_keys

    def fit(self, node: str) -> bool:
        return self.too_many(node) is None

    def too_many(self, node: str) -> str | None:
        """Say how many volumes a node has and would get, if it cannot have them; O(its pods)."""
        found = self._volumes.csi_nodes.get(node)
        lacking = not all(self.has_driver(each, node) for each in self.needed)
        if found is None or not found.limits or lacking:
            return None
        new, others = self._new, self._others
        limits = {driver: found.limits[driver] for driver, _ in new if driver in found.limits}
        if not limits or (not others and self._most(found) + len(new) <= min(limits.values())):
            return None
        used = self._used(found)
        for other in others:
            used |= self._of(other, found)
        attached = used | self._attached(found)
        new = new - used
        for driver, limit in limits.items():
            there, more = _count(attached, driver), _count(new, driver)
            if more and there + more > limit:
                return f"{there:,} of {limit:,} attached; this pod brings {more:,}"
        return None

    def _most(self, node: CSINode) -> int:
        """Return how many volumes a node has, at most."""
        volumes, name = self._volumes, node.key
        on = len(volumes.claims_on(name)) + len(volumes.disks_on(name))
        return on + volumes.attached_count(name)

    def _of(self, pod: Pod, node: CSINode | None) -> set[Attachable]:
        volumes = volumes_in(pod)
        if volumes is None:
            return set()
        claims = (claim_of(self._state, pod, use) for use in volumes.claims)
        found = {self._volumes.attachable(each, node) for each in claims if each is not None}
        if node is not None:
            found |= {each.attached_as for each in volumes.disks}
        return {each for each in found if each is not None}

    def _used(self, node: CSINode) -> set[Attachable]:
        claims = map(self._volumes.claims.get, self._volumes.claims_on(node.key))
        found = {self._volumes.attachable(each, node) for each in claims if each is not None}
        found |= {each.attached_as for each in self._volumes.disks_on(node.key)}
        return {each for each in found if each is not None}

    def _attached(self, node: CSINode) -> set[Attachable]:
        """Return what is attached, by whomever it is used or was."""
        found = set()
        for each in self._volumes.attached_to(node.key):
            volume = self._volumes.volumes.get(each.volume or "")
            if volume is not None and volume.plugin is None and volume.driver and each.driver:
                found.add((each.driver, volume.handle))
        return found


_ANY_NODE: Final = CSINode("")


def _count(volumes: AbstractSet[Attachable], driver: str) -> int:
    return sum(each[0] == driver for each in volumes)


@dataclass(frozen=True, slots=True)
class VolumeRestrictions(CountingPlugin):
    """The scheduler's plugin of that name: disks and claims that one pod has for itself."""

    off: frozenset[str] = frozenset()
    """Plugins that do not run."""

    name: ClassVar[str] = VOLUME_RESTRICTIONS
    compares_pods: ClassVar[bool] = True

    def rules_beside(
        self, state: ClusterState, pod: Pod, others: Sequence[Pod]
    ) -> Iterator[VolumeRule]:
        """Yield the disks of the pod, and the claims that another pod has.

        Of the others on a node, claims count only if the pod has disks as well: the scheduler
        leaves the plugin out of the cycle where nothing else is to be looked at.
        """
        volumes = volumes_in(pod)
        if volumes is None or not may_go_somewhere(state, pod, self.off):
            return
        there = [each for each in map(volumes_in, others) if each is not None]
        disks = [_other_disk(state, there, each) for each in volumes.disks if each.alone]
        yield from disks
        ledger = ledger_of(state)
        uses = (use for each in there for use in each.claims) if disks else ()
        named = {use for use in uses if use.template is None}
        for use in volumes.claims:
            claim = None if use.ephemeral else claim_of(state, pod, use)
            if claim is None or READ_WRITE_ONCE_POD not in claim.spec.access_modes:
                continue
            if use in named or any(node in state.nodes for node in ledger.nodes_using(claim.key)):
                user = _user_of(state, claim.key, pod, others)
                what = f"volume: claim {claim.name} is for one pod alone, and {user} has it"
                yield VolumeRule(Reason.CLAIM_IN_USE, unless(disks), what)


def _user_of(state: ClusterState, claim: Key, pod: Pod, others: Sequence[Pod]) -> str:
    """Name the pod that has a claim; O(pods of its node)."""
    there = (state.pods_on(node) for node in ledger_of(state).nodes_using(claim))
    for other in chain(others, *there):
        keys = (use.key_for(other.key) for use in claims_in(other))
        if other.uid != pod.uid and claim in keys:
            return other.key + ", which is being deleted," * other.status.deleting
    return "another one"


def _other_disk(state: ClusterState, others: Sequence[ClaimsAndDisks], disk: Disk) -> VolumeRule:
    def allows(node: str) -> bool:
        there = chain(ledger_of(state).disks_on(node), *(each.disks for each in others))
        return not any(disk.conflicts(each) for each in there)

    what = f"volume: another pod has {disk.kind} {'/'.join(disk.identity)} there"
    return VolumeRule(Reason.DISK, allows, what)
