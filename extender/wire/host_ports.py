"""The ports of its node that a pod takes, which few pods do."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from extender.model import memory
from extender.model.host_ports import EVERY_ADDRESS, HostPort, HostPorts
from extender.model.lru_cache import Pool
from extender.wire.class_cache import PER_STRING
from extender.wire.decoding import decode
from extender.wire.manifests import ALWAYS, Container, PodSpec
from extender.wire.whole_numbers import Int32

_TCP = "TCP"
_MENTION = b"hostPort"
_SPELLINGS_OF_EVERY = frozenset(("", "0.0.0.0"))  # noqa: S104 - nothing is bound here


class _Port(msgspec.Struct, gc=False):
    """v1.ContainerPort."""

    hostPort: Int32 | None = None  # noqa: N815 - the API's spelling
    hostIP: str | None = None  # noqa: N815 - the API's spelling
    protocol: str | None = None


_PORTS = msgspec.json.Decoder(list[_Port] | None)


class HostPortsReader:
    """Reads host ports; pods with the same ones share them."""

    def __init__(self) -> None:
        self._distinct: Pool[HostPorts] = Pool(memory.NUMBERS)

    def read(self, spec: PodSpec) -> HostPorts:
        """Return the ports that a pod holds as long as it runs (GetHostPorts of kube-scheduler)."""
        found = [*_of_containers(spec)]
        if not found:
            return ()
        size = sum(6 * PER_STRING + len(port.address) + len(port.protocol) for port in found)
        return self._distinct.shared(tuple(dict.fromkeys(found)), size)


def _of_containers(spec: PodSpec) -> Iterator[HostPort]:
    for index, container in enumerate(spec.initContainers or ()):
        # Those that only run before the others hold nothing afterwards.
        if container.restartPolicy == ALWAYS:
            yield from _ports(container, f"spec.initContainers[{index}].ports")
    for index, container in enumerate(spec.containers or ()):
        yield from _ports(container, f"spec.containers[{index}].ports")


def _ports(container: Container, path: str) -> Iterator[HostPort]:
    if _MENTION not in bytes(container.ports):
        return
    for port in decode(_PORTS, container.ports, path) or ():
        if port.hostPort is not None and port.hostPort > 0:
            address = port.hostIP or EVERY_ADDRESS
            yield HostPort(
                EVERY_ADDRESS if address in _SPELLINGS_OF_EVERY else address,
                port.protocol or _TCP,
                port.hostPort,
            )
