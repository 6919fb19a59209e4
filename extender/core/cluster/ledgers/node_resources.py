"""How much room each node has left."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from extender.core.model.node_resources import (
    NOTHING_ALLOCATABLE,
    Allocatable,
    HostPorts,
    Requests,
    UsedPorts,
)
from extender.core.model.signed import shift

_NOTHING: Mapping[str, int] = {}
_NO_PORTS = UsedPorts()


class NodeResources:
    """What nodes offer, and what the pods that count there have requested of it.

    Nodes go by name, for pods may be bound to one that we do not know yet.
    """

    def __init__(self) -> None:
        self._allocatable: dict[str, Allocatable] = {}
        self._used: dict[str, dict[str, int]] = {}
        self.in_use: Final[Collection[str]] = self._used.keys()
        """The nodes, known or not, that have pods."""
        self._ports: dict[str, UsedPorts] = {}

    def allocatable(self, node: str) -> Allocatable:
        """Return what a node offers, nothing for an unknown one."""
        return self._allocatable.get(node, NOTHING_ALLOCATABLE)

    def used(self, node: str) -> Mapping[str, int]:
        """Return what is requested on a node, zeros left out."""
        return self._used.get(node, _NOTHING)

    def ports(self, node: str) -> UsedPorts:
        return self._ports.get(node, _NO_PORTS)

    def has(self, node: str, requests: Requests, ports: HostPorts = ()) -> bool:
        if ports and not self.ports(node).allow(ports):
            return False
        allocatable = self.allocatable(node).amounts
        used = self.used(node)
        return all(
            used.get(resource, 0) + amount <= allocatable.get(resource, 0)
            for resource, amount in requests
            if amount
        )


class NodeResourcesLedger(NodeResources):
    def learn(self, node: str, allocatable: Allocatable) -> bool:
        """Take over what a node offers; return whether it differs from what was known."""
        if self._allocatable.get(node) == allocatable:
            return False
        self._allocatable[node] = allocatable
        return True

    def forget(self, node: str) -> None:
        """Forget a node; what its pods use stays."""
        self._allocatable.pop(node, None)

    def use(self, node: str, requests: Requests, sign: int) -> None:
        """Count a pod's requests on a node (1), or take them back (-1)."""
        used = self._used.setdefault(node, {})
        for resource, amount in requests:
            shift(used, resource, sign * amount)
        if not used:
            del self._used[node]

    def use_ports(self, node: str, ports: HostPorts, sign: int) -> None:
        if not ports:
            return
        used = self._ports.setdefault(node, UsedPorts())
        used.use(ports, sign)
        if not used:
            del self._ports[node]
