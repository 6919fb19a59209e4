"""What goes wrong with the extender that evicts: it is killed, stands still, or is cut off."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Protocol

from simulation.actions import Action
from simulation.network import Link
from simulation.program import Process


class Led(Protocol):
    """Where one of several extenders leads."""

    @property
    def processes(self) -> Sequence[Process]: ...

    @property
    def links(self) -> Mapping[str, Link]:
        """Return how each of them, by name, asks the API server."""

    def kill(self, process: Process, seconds: float) -> None: ...

    def pause(self, process: Process, seconds: float) -> None: ...


class LeaderFaults:
    """Carries out the faults of `evicting_plan.LEADER_FAULTS`; without a leader, on the first."""

    def __init__(self, led: Led) -> None:
        self._led = led
        self.acts: dict[str, Callable[[Action], None]] = {
            "kill leader": lambda action: led.kill(self._leader, action.seconds),
            "pause leader": lambda action: led.pause(self._leader, action.seconds),
            "cut leader off": self._cut_off,
            "cut off what leader hears": self._deafen,
        }

    @property
    def _leader(self) -> Process:
        running = [each for each in self._led.processes if each.alive is not None]
        leading = [each for each in running if each.alive is not None and each.alive.leads]
        return (leading or running or self._led.processes)[0]

    def _cut_off(self, action: Action) -> None:
        """Cut one direction, or both: requests may get through whose answers do not."""
        link = self._led.links[self._leader.name]
        ways = Random(action.number).choice(((link.up,), (link.down,), (link.up, link.down)))
        for way in ways:
            way.cut(action.seconds)

    def _deafen(self, action: Action) -> None:
        """Let everything arrive late that the leader hears."""
        self._led.links[self._leader.name].down.cut(min(action.seconds, 4.0))
