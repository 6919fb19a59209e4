"""The one owner of everything that changes: pods, nodes, namespaces and their counters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from msgspec import structs

from extender.core.cluster.ledgers.ledger import Ledger
from extender.core.cluster.ledgers.reservations import Claim, Reservation
from extender.core.cluster.view import ClusterView
from extender.core.model.disruption import PodDisruptionBudget
from extender.core.model.labels import NO_LABELS, Labels
from extender.core.model.objects import Namespace, Node, Pod


class ClusterState(ClusterView):
    """The live picture of the cluster.

    A pod's life here::

        (absent) --upsert, no node--> waiting --upsert with node--> placed
            ^                            |                             |
            +---- remove or terminal ----+-----------------------------+

    and beside it, for pods that we bind::

        (none) --reserve--> reserved --release, expire--> (none)
                                |
                                +--the watch shows it placed, gone, replaced or, without a node,
                                   being deleted--> (none)

    and for waiting pods, by what the watch shows and what was nominated a moment ago::

        (none) --nominated--> held there against pods of no higher priority --placed, gone--> (none)

    Placed pods and reservations count. Each change is one synchronous step after which store and
    counters agree: who reads between two steps sees a whole state. An event costs the distinct
    terms that its pod matches or owns, never the number of pods. Assumes that uids are unique, and
    that a key (namespace/name) has one pod at a time.
    """

    _left_out: str | None = None
    """The pod for whose sake pods are left out of the counts at this moment."""

    # Pods

    def upsert_pod(self, pod: Pod) -> None:
        """Add a pod, or take over what changed; a new uid under the same key replaces the old."""
        self._tell_of(pod.uid)
        old = self._pods.get(pod.key)
        same = old if old is not None and old.uid == pod.uid else None
        if same is not None:
            pod = pod.after(same)
        elif old is not None:
            self._tell_of(old.uid)
        pod = self._as_judged(pod, same)
        if same is not None and pod.is_but_for_running(same):
            self._note_run(same, pod)
            return
        if pod.status.terminal:
            self._pods.pop(pod.key, None)
        else:
            # The new before the old, so that terms both carry are not dropped in between.
            pod = self._pods[pod.key] = self._place(pod)
            self._pods_by_node.add(pod)
            self._count_rules(pod, 1)
        self._broken_rules.learn(pod, old)
        if old is not None:
            self._count_rules(old, -1)
        for ledger in self.ledgers:
            ledger.shown(pod, old)
        self._note_place(pod)
        self._relabel_reserved(pod)
        self._note_victim(pod)
        if old is not None:
            if old.uid != pod.uid:
                self._settle(old.key, old.uid)
            self._pods_by_node.remove(old)
            self._displace(old)

    def _count_rules(self, pod: Pod, pods: int) -> None:
        if self._node_rules is not None and pod.node_selection is not None:
            self._node_rules.count(pod.node_selection, pods)

    def _as_judged(self, pod: Pod, old: Pod | None) -> Pod:
        record = pod.status.record
        if pod.pod_class.annotated is None and not record and not (old and old.status.judged):
            return pod
        pod = self._judged.applied(pod, old)
        is_placed = pod.node is not None and (old is None or old.node is None)
        # After an edit it may have been placed by that, as another replica knows.
        if is_placed and not record and pod.status.judged == pod.pod_class.digest != "":
            for tell in self.placement_observers:
                tell(pod)
        return pod

    def is_as_shown(self, pod: Pod) -> bool:
        """Return whether a placed pod, as it was just read, would change nothing of what is known.

        What only the state knows of it is the same then: which of its rules stood when it came.
        """
        known = self.pod(pod.key, pod.uid)
        if known is None or known.node is None:
            return False
        return self._as_judged(pod.after(known), known).is_but_for_running(known)

    def _tell_of(self, uid: str) -> None:
        for tell in self.pod_observers:
            tell(uid)

    def _note_run(self, old: Pod, pod: Pod) -> None:
        if pod.started != old.started or pod.status != old.status:
            pod = structs.replace(old, started=pod.started, status=pod.status)
            self._pods[pod.key] = pod
            self._pods_by_node.remove(old)
            self._pods_by_node.add(pod)
            if pod.node is None and pod.status.nominated is not None:
                self._learn_nomination(pod)
            for ledger in self.ledgers:
                ledger.shown(pod, old)

    def remove_pod(self, key: str, uid: str) -> None:
        """Forget a pod; one that is unknown, or known under another uid, is left alone."""
        self._tell_of(uid)
        self._settle(key, uid)
        pod = self.pod(key, uid)
        if pod is not None:
            del self._pods[key]
            self._broken_rules.forget(pod)
            self._pods_by_node.remove(pod)
            self._count_rules(pod, -1)
            self._displace(pod)
            for ledger in self.ledgers:
                ledger.shown(None, pod)

    @contextmanager
    def without(self, key: str, uid: str, gone: Iterable[Pod] = ()) -> Iterator[None]:
        """Leave a pod out of all counts for a while: it is not its own neighbour.

        And others as if they were gone, each given once and as it counts, on the node it counts on.
        Not to be entered twice: what is left out by both would be taken off twice.
        """
        if self._left_out is not None:
            raise RuntimeError(f"{key} cannot be left out: {self._left_out} is left out already")
        places = [*gone]
        places += [reservation.pod for reservation in self._reservations.of(key, uid)]
        pod = self.pod(key, uid)
        if pod is not None:
            places.append(pod)
        self._left_out, self.left_out = key, places
        for place in places:
            self._shift(place, -1)
        try:
            yield
        finally:
            for place in places:
                self._shift(place, 1)
            self._left_out, self.left_out = None, ()

    def _shift(self, pod: Pod, pods: int) -> None:
        if pod.node is not None:
            self._counters.shift(pod.pod_class, pod.node, pods)
            for ledger in self.ledgers:
                ledger.shifted(pod, pod.node, pods)

    def _place(self, pod: Pod) -> Pod:
        if pod.node is None:
            return pod
        shared = self._counters.place(pod.pod_class, pod.node)
        self._book(pod, pod.node, 1)
        return pod if shared is pod.pod_class else structs.replace(pod, pod_class=shared)

    def _displace(self, pod: Pod) -> None:
        if pod.node is not None:
            self._counters.displace(pod.pod_class, pod.node)
            self._book(pod, pod.node, -1)

    def _book(self, pod: Pod, node: str, pods: int) -> None:
        self._node_resources.use(node, pod.spec.requests, pods)
        self._node_resources.use_ports(node, pod.spec.ports, pods)
        for ledger in self.ledgers:
            ledger.placed(pod, node, pods)
        self.version += 1
        self.arrivals += pods > 0

    def reach_changed(self) -> None:
        """Note that a limit begins or ceases to keep carried rules from other namespaces."""
        self._counters.existing_terms.version += 1
        self.version += 1

    # Reservations

    def reserve(self, pod: Pod, node: str, deadline: float, seen_at: str = "") -> Claim:
        """Count a pod on a node before any watch shows it there, for one bind of it."""
        placed = self._place(structs.replace(pod, node=node))
        reservation = self._reservations.find(placed)
        if reservation is None:
            reservation = Reservation(placed, seen_at)
            self._reservations.add(reservation)
        else:
            # It counts once, with the labels that it has now.
            self._displace(reservation.pod)
            reservation.pod, reservation.seen_at = placed, seen_at
        claim = Claim(reservation, deadline)
        reservation.claims.append(claim)
        return claim

    def _relabel_reserved(self, pod: Pod) -> None:
        """Count a pod with the labels that it has now wherever a place is reserved for it.

        By the rules for which the place was reserved: an edit of its annotation is nothing to it.
        """
        for reservation in self._reservations.of(pod.key, pod.uid):
            was = reservation.pod.pod_class
            pod_class = pod.pod_class.of_spec if was.annotated is None else pod.pod_class
            if pod_class.labels != was.labels and pod_class.digest == was.digest:
                pod_class = pod_class.placed(later=was.later)
                placed = self._place(structs.replace(reservation.pod, pod_class=pod_class))
                self._displace(reservation.pod)
                reservation.pod = placed

    def release(self, claim: Claim) -> None:
        """Note that a bind was refused; its place stays reserved while others claim it as well."""
        if self._reservations.release(claim):
            self._drop(claim.reservation)

    def hold(self, claim: Claim, deadline: float) -> None:
        """Note that a bind has ended, and has bound the pod, or may do so yet."""
        self._reservations.hold(claim, deadline)

    def settle(self, pod: Pod, node: str | None, deadline: float) -> None:
        """Release what is reserved for a pod but on the node that it is bound to; None: it is gone.

        There it is held until the deadline, if an earlier bind has put it there.
        """
        for reservation in self._reservations.of(pod.key, pod.uid):
            if reservation.pod.node != node:
                self._drop(reservation)
                continue
            reservation.confirmed = True
            for claim in [each for each in reservation.claims if each.ended]:
                self._reservations.hold(claim, deadline)

    def doubt_bind(self, pod: Pod) -> None:
        """Note that a list shows a pod without a node: its place is held, and supports no other."""
        for reservation in self._reservations.of(pod.key, pod.uid):
            self.version += reservation.confirmed
            reservation.confirmed = False

    def expire(self, now: float) -> list[Pod]:
        """Release the reservations that nothing settled in time; return their pods.

        Nominations that no watch has shown in time end without a word.
        """
        self._nominations_change(self._nominated.expire(now))
        expired = self._reservations.expired(now)
        for reservation in expired:
            self._drop(reservation)
        return [reservation.pod for reservation in expired]

    def _drop(self, reservation: Reservation) -> None:
        reservation.claims.clear()
        self._reservations.remove(reservation)
        reserved = reservation.pod
        self._displace(reserved)
        known = self.pod(reserved.key, reserved.uid)
        if known is not None and known.node == reserved.node:
            self.arrivals += _booked(known) == _booked(reserved)

    def _settle(self, key: str, uid: str) -> None:
        self._judged.forget(uid)
        self._unreserve(key, uid)
        if not self._nominated.is_empty:
            self.version += self._nominated.forget(uid)

    def _note_place(self, pod: Pod) -> None:
        if pod.status.terminal or pod.node is not None:
            self._settle(pod.key, pod.uid)
            return
        if pod.status.deleting:
            self._unreserve(pod.key, pod.uid)
        if pod.status.nominated is not None or self._nominated:
            self._learn_nomination(pod)
            for victim in self.victims_of(pod.uid):
                self._note_victim(victim)

    def _unreserve(self, key: str, uid: str) -> None:
        for reservation in self._reservations.of(key, uid):
            self._drop(reservation)

    # Nominations

    def expect_nomination(
        self,
        pod: Pod,
        node: str,
        until: float,
        *,
        held: bool = False,
        holds_domains: bool = False,
    ) -> None:
        """Count a pod as nominated to a node before any watch shows it; an older one gives way.

        One that is `held` counts all the time, though the scheduler wipes it out meanwhile, and
        holds the topology domains of the node; with `holds_domains` one does while it counts. No
        pod that the watch has not shown holds anything.
        """
        known = self.pod(pod.key, pod.uid)
        if known is None:
            held = holds_domains = False
        if known is None or known.node is None:
            pod = structs.replace(pod, pod_class=self.class_of(pod), node=None)
            changed = self._nominated.expect(
                pod, node, until, held=held, holds_domains=holds_domains
            )
            self._nominations_change(changed)

    def _learn_nomination(self, pod: Pod) -> None:
        # An edit while it holds a place is nothing to others.
        self._nominations_change(self._nominated.learn(pod.judged_by(pod.status.judged)))

    def _note_victim(self, pod: Pod) -> None:
        preemptor = pod.status.victim_of
        if preemptor is not None and pod.node is not None and not pod.status.terminal:
            self._nominations_change(self._nominated.note_victim(preemptor, pod.node))

    def give_up_nomination(self, uid: str) -> None:
        self._nominations_change(self._nominated.give_up(uid))

    def _nominations_change(self, changed: bool) -> None:  # noqa: FBT001 - how often, 0 or 1
        self.version += changed
        self.nominations += changed

    # Nodes and namespaces

    def upsert_node(self, node: Node) -> None:
        """Add a node or take over what changed; pods that wait there for it count from now on."""
        self.version += self._node_resources.learn(node.name, node.allocatable)
        before = self._nodes.labels(node.name) if node.name in self._nodes else None
        if before == node.labels:
            return
        with self._counters.moving(node.name, node.labels):
            self._nodes.learn(node.name, node.labels)
        if self._node_rules is not None:
            self._node_rules.changed(node.name, before)
        self._relabelled(node.name, before or NO_LABELS)

    def remove_node(self, name: str) -> None:
        """Forget a node; its pods stay, and count again when it is back."""
        if name in self._nodes:
            before = self._nodes.labels(name)
            if self._node_rules is not None:
                self._node_rules.disappears(name)
            with self._counters.moving(name, NO_LABELS):
                self._nodes.forget(name)
            self._node_resources.forget(name)
            self._relabelled(name, before)

    def _relabelled(self, name: str, before: Labels) -> None:
        self.version += 1
        for ledger in self.ledgers:
            ledger.relabelled(name, before)

    def compact(self) -> None:
        """Lay the nodes out for fast look-ups; for after the first list."""
        self._nodes.compact()

    def upsert_namespace(self, namespace: Namespace) -> None:
        name, before = namespace.name, self.namespace_labels(namespace.name)
        labels, is_known = self.scope.marked(namespace.labels), name in self._namespaces
        if not is_known or before != labels:
            self._namespaces[name] = labels
            self._rematch(name, before, was_known=is_known)

    def remove_namespace(self, name: str) -> None:
        """Forget a namespace; pods that are left in it are in one without labels."""
        known = self._namespaces.pop(name, None)
        if known is not None:
            self._rematch(name, known, was_known=True)

    def _rematch(self, namespace: str, before: Labels, *, was_known: bool) -> None:
        changed = self.scope.relabelled(namespace, before)
        if changed:
            self._broken_rules.count_again(namespace)
            for ledger in self.ledgers:
                ledger.scope_changed(namespace)
        self._counters.rematch(namespace, before)
        for ledger in self.ledgers:
            ledger.rematched(namespace, before if was_known else None, scope=changed)
        self.version += 1

    # Disruption budgets, and what features book

    def upsert_budget(self, budget: PodDisruptionBudget) -> None:
        self._budgets.upsert(budget)

    def remove_budget(self, key: str, uid: str) -> None:
        self._budgets.remove(key, uid)

    def book_with(self, ledger: Ledger) -> None:
        """Have a ledger book the pods that are known, and hear of what changes from now on."""
        self.ledgers = (*self.ledgers, ledger)
        for pod in self.pods.values():
            ledger.shown(pod, None)
        for pod in self.placed_pods:
            if pod.node is not None:
                ledger.placed(pod, pod.node, 1)
        for pod in self.left_out:
            if pod.node is not None:
                ledger.shifted(pod, pod.node, -1)


def _booked(pod: Pod) -> tuple[object, ...]:
    """Return what counts of a pod where it is."""
    return pod.pod_class, pod.spec.requests, pod.spec.ports, pod.status.facets
