"""Places reserved for pods that no watch has shown there yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from extender.core.model.keys import Identity
from extender.core.model.objects import Pod

RESERVATION_SECONDS = 180.0
"""How long the place of a pod is kept when nobody can tell whether it was bound. A Binding that we
gave up may be carried out after

- 60 s until it is delivered: the kernel sends what it was handed, whoever closes the connection
  (`WITHIN.undelivered` in kube/limits.py);
- 34 s until kube-apiserver gives it up as well (requestTimeoutUpperBound; measured 34.0 s), or 60 s
  with its queue (--request-timeout, of which a quarter is for priority and fairness); we ask it for
  10 s (`ApiCall.params`);
- the time that etcd stands still with the write in its hands. Measured: Bindings given up after
  2.5 s, the connection closed, were carried out when etcd was let go on after 8, 45 and 70 s.
  Its liveness probe, as kubeadm writes it, ends an etcd that is stuck after some 95 s.

`tests/e2e/test_binding_late.py` measures it. As a rule the place is free much earlier: as soon as
the pod is bound anywhere, or gone."""
CONFIRMED_SECONDS = 600.0
"""How long it is kept for a pod that was bound, until the watch shows it there: a watch that is
broken must not make its place look free. It ends all the same, for the pod may be gone by then."""


@dataclass(slots=True, eq=False)
class Reservation:
    """A pod that counts on a node because it is being bound there, or may come to be bound there.

    It is kept as long as any claim to it is: what becomes of one bind says nothing about another
    one of the same pod to the same node.
    """

    pod: Pod
    """With the node that is reserved."""
    seen_at: str = ""
    """The resourceVersion at which it was read to be bound; "" when the watch had shown it."""
    claims: list[Claim] = field(default_factory=list)
    confirmed: bool = False
    """Whether the pod is known to be bound there: only the watch has not shown it yet. Not once a
    list shows it without a node, for etcd may have been restored."""

    @property
    def under_way(self) -> bool:
        return any(not claim.ended for claim in self.claims)

    @property
    def deadline(self) -> float:
        """Return when it is given up, in seconds of the clock by which places are reserved."""
        return max(claim.deadline for claim in self.claims)


@dataclass(slots=True, eq=False)
class Claim:
    """One bind for which a place is reserved."""

    reservation: Reservation
    deadline: float
    ended: bool = False
    """Whether the bind has ended, in success or unclearly; else it is under way."""


class Reservations:
    """All reservations, by pod.

    A pod has more than one only while the end of an earlier bind is unclear: it may turn up on
    either node, so both are held.

    What ends one, besides a clear refusal and its time:

    - the pod is shown bound, to whichever node: it will never be bound again;
    - the pod is shown to be gone, replaced by another of its name, ended, or being deleted before
      it has a node. That is final too: no bind that is still on its way can be carried out, or
      matters.

    A watch event shows either. So does a list, but absence from it is proof only when the list is
    not older than a moment at which the pod existed. For a pod that the watch had shown, that is
    so, as lists never go back behind what was watched; but for those of an etcd that was restored
    from a backup, and there the pod is gone as well. For one that was only read when it was to be
    bound, the list, a consistent read, must have been asked for after the place was reserved, or
    its resourceVersion must not be lower than the pod's was: the watch that goes on from an older
    list shows what becomes of the pod. The first alone is not enough: a list may come after the end
    of a pod that was reserved meanwhile, and no watch shows that end. That the pod is listed
    *without* a node shows nothing: a bind whose answer did not come may be carried out after the
    list.
    """

    def __init__(self) -> None:
        self._by_key: dict[str, list[Reservation]] = {}
        self._by_node: dict[str | None, list[Reservation]] = {}
        self._number = 0

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[Reservation]:
        for reservations in self._by_key.values():
            yield from reservations

    def of(self, key: str, uid: str) -> list[Reservation]:
        """Return the reservations of a pod, no two on the same node."""
        return [each for each in self._by_key.get(key, ()) if each.pod.uid == uid]

    def pods(self) -> dict[Identity, str]:
        """Return key and uid of the pods that have any, and the version at which each was seen."""
        return {Identity(each.pod.key, each.pod.uid): each.seen_at for each in self}

    def on(self, node: str) -> list[Pod]:
        return [each.pod for each in self._by_node.get(node, ())]

    def confirmed_on(self, node: str) -> list[Pod]:
        """Return the pods that are known to be bound to a node where no watch has shown them."""
        return [each.pod for each in self._by_node.get(node, ()) if each.confirmed]

    def find(self, pod: Pod) -> Reservation | None:
        return next((each for each in self.of(pod.key, pod.uid) if each.pod.node == pod.node), None)


class ReservationLedger(Reservations):
    def add(self, reservation: Reservation) -> None:
        self._by_key.setdefault(reservation.pod.key, []).append(reservation)
        self._by_node.setdefault(reservation.pod.node, []).append(reservation)
        self._number += 1

    def remove(self, reservation: Reservation) -> None:
        key, node = reservation.pod.key, reservation.pod.node
        self._by_key[key].remove(reservation)
        self._by_node[node].remove(reservation)
        self._number -= 1
        if not self._by_key[key]:
            del self._by_key[key]
        if not self._by_node[node]:
            del self._by_node[node]

    def release(self, claim: Claim) -> bool:
        """Take a claim back; return whether it was the last one to its reservation."""
        claims = claim.reservation.claims
        if claim not in claims:
            return False
        claims.remove(claim)
        return not claims

    def hold(self, claim: Claim, deadline: float) -> None:
        """Keep a claim whose bind has ended; one that was settled meanwhile is left alone."""
        claims = claim.reservation.claims
        if claim in claims:
            claim.ended, claim.deadline = True, deadline
            # The latest speaks for all that have ended, however often a bind is tried again.
            claims[:] = [each for each in claims if each.deadline > deadline or not each.ended]
            claims.append(claim)

    def expired(self, now: float) -> list[Reservation]:
        """Drop the claims whose time is over; return the reservations that have none left."""
        for reservation in self:
            claims = reservation.claims
            claims[:] = [claim for claim in claims if claim.deadline > now]
        return [each for each in self if not each.claims]
