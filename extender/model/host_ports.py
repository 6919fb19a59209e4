"""Ports of a node that containers take for themselves, one container each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from extender.model.signed import shift

EVERY_ADDRESS = ""
"""In the place of one address of the node: the port is taken on all of them."""


class HostPort(NamedTuple):
    """A port, on one address of a node or on all."""

    address: str
    protocol: str
    number: int


HostPorts: TypeAlias = tuple[HostPort, ...]


@dataclass(slots=True)
class UsedPorts:
    """The ports that pods have on one node (HostPortInfo of kube-scheduler).

    Counted, for on a node that was filled by hand two pods may name the same one.
    """

    _addresses: dict[tuple[str, int], dict[str, int]] = field(default_factory=dict)
    """How many have a port, by protocol and number, then by address."""

    def __bool__(self) -> bool:
        return bool(self._addresses)

    def use(self, ports: Iterable[HostPort], sign: int) -> None:
        """Count a pod's ports (1), or take them back (-1)."""
        for port in ports:
            addresses = self._addresses.setdefault((port.protocol, port.number), {})
            shift(addresses, port.address, sign)
            if not addresses:
                del self._addresses[port.protocol, port.number]

    def allow(self, ports: Iterable[HostPort]) -> bool:
        """Return whether nobody has any of these ports; O(ports)."""
        return not any(self._conflict(port) for port in ports)

    def _conflict(self, port: HostPort) -> bool:
        addresses = self._addresses.get((port.protocol, port.number))
        if addresses is None:
            return False
        return (
            port.address == EVERY_ADDRESS or port.address in addresses or EVERY_ADDRESS in addresses
        )

    def copy(self) -> UsedPorts:
        """Return a copy, to be counted on."""
        return UsedPorts({port: dict(found) for port, found in self._addresses.items()})
