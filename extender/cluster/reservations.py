"""Places promised to pods that no watch has shown there yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from extender.model.objects import Pod


@dataclass(frozen=True, slots=True)
class Reservation:
    """A pod that counts on a node because we are binding it there."""

    pod: Pod
    """With the node that it was promised."""
    deadline: float
    """When it is given up, on the clock of whoever reserves."""


class Reservations:
    """All reservations, by pod.

    A pod has more than one only while the end of an earlier bind is unclear: it may turn up on
    either node, so both are held.
    """

    def __init__(self) -> None:
        self._by_key: dict[str, list[Reservation]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_key.values()))

    def __iter__(self) -> Iterator[Reservation]:
        for reservations in self._by_key.values():
            yield from reservations

    def of(self, key: str, uid: str) -> list[Reservation]:
        """Return the reservations of a pod."""
        return [each for each in self._by_key.get(key, ()) if each.pod.uid == uid]

    def on(self, node: str) -> list[Pod]:
        """Return the pods that have places on a node."""
        return [each.pod for each in self if each.pod.node == node]

    def add(self, reservation: Reservation) -> Reservation | None:
        """Keep a reservation; return the one for the same pod and node that it renews."""
        pod = reservation.pod
        for old in self.of(pod.key, pod.uid):
            if old.pod.node == pod.node:
                self._by_key[pod.key].remove(old)
                self._by_key[pod.key].append(reservation)
                return old
        self._by_key.setdefault(pod.key, []).append(reservation)
        return None

    def remove(self, reservation: Reservation) -> None:
        """Give a reservation up."""
        key = reservation.pod.key
        self._by_key[key].remove(reservation)
        if not self._by_key[key]:
            del self._by_key[key]

    def expired(self, now: float) -> list[Reservation]:
        """Return those whose time is over."""
        return [each for each in self if each.deadline <= now]
