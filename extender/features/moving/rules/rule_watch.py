"""Which running pods may have begun, or ceased, to break a rule: found from events, not by looking.

Each rule that is to hold during execution is kept with its owners, by the topology domain that they
are in. An event is noted, and later compared, in steps, with the rules that it can concern: there
may be hundreds of thousands. That leaves a mark on a rule in a domain; whoever judges takes the
marks. So an event costs the rules that the pods concerned match, and the owners are only gone
through where something has changed for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Final

from extender.core.cluster.counts.deferred_work import DeferredWork
from extender.core.cluster.counts.pod_sets import How, PodSet
from extender.core.cluster.ledgers.ledger import Ledger
from extender.core.cluster.state import ClusterState
from extender.core.model.keys import Identity, namespace_of
from extender.core.model.labels import NO_LABELS, Labels
from extender.core.model.objects import Pod, PodClass
from extender.core.model.pod_affinity import PodSelector
from extender.core.model.selector_index import SelectorIndex, trying
from extender.core.model.signed import shift
from extender.features.moving.rules.execution import Execution, ExecutionRule, execution_rules
from extender.features.moving.rules.watched import (
    Domain,
    Mark,
    OwnChanges,
    PodsByOwner,
    WatchedPod,
    WatchedTerm,
)

CONDITIONS_A_STEP: Final = 8
"""Of a term, with which a pod class is compared."""
MOST_NOTED: Final = 10_000
"""Events that are to be compared with rules yet. With more of them, as at the start, all rules are
looked at instead."""


class RuleWatch(Ledger):
    """The rules that hold during execution, their owners, and what has changed for whom."""

    def __init__(self, state: ClusterState, execution: Execution) -> None:
        self.state: Final = state
        self._execution = execution
        self.owned = PodsByOwner()
        self.changes = OwnChanges()
        self._terms: dict[ExecutionRule, WatchedTerm] = {}
        self._index: SelectorIndex[WatchedTerm] = SelectorIndex()
        self._owned_in: dict[tuple[str, str], dict[int, WatchedTerm]] = {}
        """The terms with owners in a domain, by topology key and label value."""
        self._places: dict[str, WatchedPod] = {}
        self._on: dict[str, dict[str, WatchedPod]] = {}
        self._chosen_in: dict[str, dict[str, Identity]] = {}
        """Owners of rules that count in some namespaces only, by namespace."""
        self._keys: dict[str, int] = {}
        """How many rules of pods are about each label key of nodes."""
        self._latest: tuple[frozenset[PodSelector], PodSet, PodSelector] | None = None
        """What was made of the selectors of a term: a pod may have hundreds of terms that share
        hundreds of selectors."""
        self._suspects: dict[str, Identity] = {}
        self._marks: dict[tuple[int, str], Mark] = {}
        self._noted = DeferredWork()

    def __len__(self) -> int:
        """Return how many placed pods have such rules."""
        return len(self._places)

    @property
    def pending(self) -> bool:
        return bool(self._suspects or self._marks or self._noted)

    def rules_of(self, uid: str) -> tuple[ExecutionRule, ...]:
        """Return the rules of a placed pod, wherever they count."""
        place = self._places.get(uid)
        return () if place is None else place.rules

    def conditions_of(self, uid: str) -> int:
        """Return how many comparisons it takes, at most, to judge a placed pod by its rules."""
        place = self._places.get(uid)
        return 0 if place is None else place.conditions

    def rules_in_scope(self, pod: Pod) -> Iterator[ExecutionRule]:
        """Yield the rules of a placed pod that count in its namespace, as annotations go."""
        covered = self.state.scope.covers(pod.pod_class.namespace)
        for rule in self.rules_of(pod.uid):
            if rule.annotations is None or rule.annotations is covered:
                yield rule

    def watched(self, rule: ExecutionRule) -> WatchedTerm | None:
        """Return a term with its owners, None when no placed pod has it."""
        return self._terms.get(rule)

    def was_first(self, pod: Pod, owner: Pod, key: str) -> bool:
        """Return whether a pod that is in the way of another was where it is before the other came.

        That is so when the owner has come or has got its rules after the pod's last own change, and
        when an operator has moved the node of either to another domain of `key` since. False where
        nobody knows.
        """
        place, changes = self._places.get(owner.uid), self.changes
        moved = max(changes.of_node(each.node, key) for each in (pod, owner))
        return max(moved, 0 if place is None else place.since) > changes.of_pod(pod, key)

    # What has changed

    def suspect(self, identities: Iterable[Identity]) -> None:
        self._suspects.update((each.uid, each) for each in identities)

    def compare(self, comparisons: int) -> bool:
        """Compare noted events with rules, so many steps; return whether there are any left."""
        self._noted.do(comparisons)
        return bool(self._noted)

    def _note(self, event: Iterator[None]) -> None:
        if len(self._noted) >= MOST_NOTED:
            self._noted = DeferredWork()
            event = self._all_again()
        self._noted.put_off(event)

    def _all_again(self) -> Iterator[None]:
        """Have every rule looked at, and every pod with rules filed where it is now."""
        for place in list(self._places.values()):
            yield from self._file_again(place)
        for watched in list(self._terms.values()):
            for domain in watched.owners:
                self._mark(watched, domain)
            yield

    def take_suspect(self) -> Identity | None:
        """Return a pod that has to be judged, None when there is none."""
        return self._suspects.popitem()[1] if self._suspects else None

    def take_mark(self) -> Mark | None:
        """Return a term in a domain that has to be looked at, None when there is none."""
        return self._marks.popitem()[1] if self._marks else None

    def _mark(self, watched: WatchedTerm, domain: Domain) -> None:
        if domain is not None and domain in watched.owners:
            self._marks[id(watched), domain] = Mark(watched, domain)

    # Pods with rules

    def shown(self, pod: Pod | None, before: Pod | None) -> None:
        """Take over a pod, in place of another one of the same name or of what it was."""
        if before is not None:
            self.owned.count(before, -1)
        if pod is None:
            if before is not None:
                self.changes.forget_pod(before.uid)
                self._forget(before.uid)
            return
        if before is not None and pod.is_but_for_running(before):
            self.owned.count(pod, 1)
            return
        self.changes.pod(pod, before)
        if before is not None and (before.uid != pod.uid or pod.status.terminal):
            self._forget(before.uid)
        if not pod.status.terminal:
            self.owned.count(pod, 1)
            self._upsert(pod)

    def _upsert(self, pod: Pod) -> None:
        old = self._places.get(pod.uid)
        rules = tuple(_rules(pod, self._execution))
        if old is not None and old.node == pod.node and old.rules == rules:
            # Its labels may have changed, which makes a difference to what it excludes itself.
            self._suspects[pod.uid] = old.identity
            return
        if rules and pod.node is not None:
            self._enter(Identity(pod.key, pod.uid), pod.node, rules, self.changes.now)
        elif old is not None:
            self._forget(pod.uid)
            return
        if old is not None:
            self._leave(old)

    def _forget(self, uid: str) -> None:
        place = self._places.pop(uid, None)
        if place is not None:
            self._leave(place)
            self._suspects[uid] = place.identity

    def _enter(
        self, identity: Identity, node: str, rules: tuple[ExecutionRule, ...], since: int
    ) -> None:
        labels = self.state.nodes.labels(node)
        at: list[tuple[WatchedTerm, Domain]] = []
        for rule in rules:
            if rule.term is not None:
                watched = self._terms.get(rule) or self._watch(rule)
                domain = labels.get(watched.key)
                watched.owners.setdefault(domain, {})[identity.uid] = identity
                if domain is not None:
                    self._owned_in.setdefault((watched.key, domain), {})[id(watched)] = watched
                self._mark(watched, domain)
                at.append((watched, domain))
        place = WatchedPod(
            identity, node, rules, tuple(at), sum(rule.conditions for rule in rules), since
        )
        self._places[identity.uid] = place
        self._on.setdefault(node, {})[identity.uid] = place
        self._count_keys(place, 1)
        if any(rule.by_namespace for rule in rules):
            self._chosen_in.setdefault(namespace_of(identity.key), {})[identity.uid] = identity
        self._suspects[identity.uid] = identity

    def _leave(self, place: WatchedPod) -> None:
        """Take a place out of all indexes; another of the same pod may be there already."""
        uid = place.identity.uid
        now = self._places.get(uid)
        kept = set() if now is None else {(id(watched), domain) for watched, domain in now.at}
        for watched, domain in place.at:
            if (id(watched), domain) not in kept and uid in watched.owners.get(domain, ()):
                self._disown(watched, domain, uid)
        if now is None or now.node != place.node:
            on = self._on[place.node]
            del on[uid]
            if not on:
                del self._on[place.node]
        self._count_keys(place, -1)
        if now is None or not any(rule.by_namespace for rule in now.rules):
            mine = self._chosen_in.get(namespace_of(place.identity.key), {})
            mine.pop(uid, None)
            if not mine:
                self._chosen_in.pop(namespace_of(place.identity.key), None)

    def _count_keys(self, place: WatchedPod, amount: int) -> None:
        for watched, _ in place.at:
            shift(self._keys, watched.key, amount)
        for rule in place.rules:
            for key in () if rule.node_rule is None else rule.node_rule.keys:
                shift(self._keys, key, amount)

    def _watch(self, rule: ExecutionRule) -> WatchedTerm:
        if rule.term is None:
            raise ValueError("node affinity is no term")
        latest = self._latest
        if latest is None or latest[0] is not rule.counted:
            weights = frozenset((pods, 1) for pods in rule.counted)
            latest = self._latest = rule.counted, PodSet(How.ALL, weights), rule.narrowest
        _, pods, filed = latest
        watched = WatchedTerm(rule, (pods, rule.term.topology_key), filed)
        self._terms[rule] = watched
        self._index.add(filed, watched)
        return watched

    def _disown(self, watched: WatchedTerm, domain: Domain, uid: str) -> None:
        owners = watched.owners[domain]
        del owners[uid]
        if owners:
            return
        del watched.owners[domain]
        if domain is not None:
            watched.levels.pop(domain, None)
            self._marks.pop((id(watched), domain), None)
            terms = self._owned_in[watched.key, domain]
            del terms[id(watched)]
            if not terms:
                del self._owned_in[watched.key, domain]
        if not watched.owners:
            del self._terms[watched.rule]
            self._index.remove(watched.filed, watched)

    # Pods that rules speak of, nodes and namespaces

    def placed(self, pod: Pod, node: str, sign: int) -> None:
        """Note that there is one more, or one less, pod of a class on a node; O(1)."""
        del sign
        if self._terms:
            self._note(self._moving(pod.pod_class, self.state.nodes.labels(node)))

    def _moving(self, pod_class: PodClass, places: Labels) -> Iterator[None]:
        """Mark the terms about a class in some domains, by key; a term at a step."""
        for watched in self._about(pod_class, places):
            if watched is not None:
                self._mark(watched, places.get(watched.key))
            yield

    def _about(self, pod_class: PodClass, places: Labels) -> Iterator[WatchedTerm | None]:
        """Yield the terms about a class, None for each that is not, or that takes long.

        At least those with owners in some domains, by key: these are tried where they are fewer
        than those that the index finds, as with thousands of terms about all pods but the owner's.
        """
        namespace, labels = pod_class.namespace, pod_class.labels
        namespace_labels = self.state.namespace_labels(namespace)
        here = [terms for each in places.items() if (terms := self._owned_in.get(each))]
        pod = namespace, namespace_labels, labels
        tried = self._index.trying(*pod)
        if sum(map(len, here)) < self._index.near(*pod):
            tried = trying(((e.filed, e) for terms in here for e in list(terms.values())), *pod)
        met: dict[int, bool] = {}
        for watched, took in tried:
            yield from repeat(None, took // CONDITIONS_A_STEP)
            pods = None if watched is None else watched.pods[0]
            if pods is not None and len(pods.weights) > 1 and id(pods) not in met:
                met[id(pods)] = bool(pods.weigh(pod_class, namespace_labels))
            yield watched if met.get(id(pods), True) else None

    def relabelled(self, node: str, before: Labels) -> None:
        """Note that a node has other labels than before, is new or gone.

        O(pods on the node), if that can matter.
        """
        after = self.state.nodes.labels(node)
        if not after:
            self.changes.forget_node(node)
        if not self._places:
            return
        changed = {key for key, _ in before.items() ^ after.items()}
        if before and after:
            changed &= self._keys.keys()
            if not changed:
                return
        self.changes.node(node, changed & self._keys.keys() & after.keys(), before)
        for places in (before, after):
            some = {key: places[key] for key in changed & places.keys()}
            for pod_class in self.state.classes_on(node) if some else ():
                self._note(self._moving(pod_class, some))
        for place in self._on.get(node, {}).values():
            self._note(self._file_again(place))

    def _file_again(self, place: WatchedPod) -> Iterator[None]:
        """File the terms of a pod under the domains that its node is in now; O(its rules)."""
        labels = self.state.nodes.labels(place.node)
        if self._places.get(place.identity.uid) is not place:
            return
        if any(labels.get(watched.key) != domain for watched, domain in place.at):
            self._enter(place.identity, place.node, place.rules, place.since)
            self._leave(place)
        self._suspects[place.identity.uid] = place.identity
        yield from repeat(None, 1 + 2 * len(place.rules))

    def rematched(self, namespace: str, before: Labels | None, *, scope: bool) -> None:
        """Note that a namespace has other labels than before; O(its pods with such rules)."""
        after, plain = self.state.namespace_labels(namespace), self._execution.plain
        if before is not None:
            self.changes.namespace(namespace, known=namespace in self.state.namespaces)
        before = NO_LABELS if before is None else before
        if self._terms:
            self._note(self._choosing(namespace, before, after))
        moved = plain is not None and plain.matches(before) is not plain.matches(after)
        if moved or scope:
            self._suspects.update(self._chosen_in.get(namespace, {}))

    def _choosing(self, name: str, before: Labels, after: Labels) -> Iterator[None]:
        """Mark the terms that choose a namespace or leave it out by now; a term at a step.

        Terms of one pod may stand for one set of all their selectors, which is looked at once.
        """
        met: dict[int, tuple[PodSet, bool]] = {}
        for watched in list(self._terms.values()):
            pods = watched.pods[0]
            if id(pods) not in met:
                yield from repeat(None, len(pods.weights) // CONDITIONS_A_STEP)
                met[id(pods)] = pods, pods.depends_on(name, before, after)
            if met[id(pods)][1]:
                for domain in watched.owners:
                    self._mark(watched, domain)
            yield


def _rules(pod: Pod, execution: Execution) -> Iterable[ExecutionRule]:
    if pod.node is None:
        return ()
    plain = execution.plain is not None
    return (rule for rule in execution_rules(pod) if plain or not rule.plain)
