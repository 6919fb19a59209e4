"""Counters moved by events against counters made from scratch, whatever the events were."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any
from zlib import crc32

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from extender.core.model.labels import EVERYTHING, Operator, Requirement, Selector
from extender.core.model.objects import Pod as ModelPod
from simulation.invariants.recount import (
    mismatches,
    nominated_mismatches,
    room_mismatches,
)
from tests import strategies
from tests.annotating import REQUIRED, annotated, moved, sound, stored
from tests.beside import covering
from tests.builders import (
    HOST,
    Json,
    Pod,
    empty_state,
    model_namespace,
    model_node,
    model_pod,
    selector,
    term,
)
from tests.builders import (
    pod as build,
)
from tests.oracle import Args, Cluster, is_finished, is_nominated, key_of, merged
from tests.verbs.judging import (
    actual_refusals,
    actual_scores,
    expected_refusals,
    expected_scores,
)

POD_NAMES = ("p0", "p1", "p2", "p3", "p4", "p5")
NOMINATED_TO = (*strategies.NODE_NAMES, strategies.UNKNOWN_NODE)
EMPTY = build("empty")
REPELS_ALL = {"podAntiAffinity": {REQUIRED: [term(HOST, selector(), namespaceSelector={})]}}
"""As an annotation, it would keep every pod away from everywhere."""
FURTHER = settings(max_examples=settings().max_examples // 3)
"""Streams that also do what the plain one does get fewer examples: comparing costs most."""
REMEMBERED = 3
"""Questions that are asked over and over; more of them, and each has its turn less often."""


class EventStream(RuleBasedStateMachine):
    """Pods, nodes and namespaces come, change and go, in orders that no API server sends.

    Beside the extender's state stand three plain mappings: what the objects are now. Pods stand
    there with their label keys merged at creation, since a later change of their labels must not
    merge them again. Some streams have room for a few counted sets and questions only, so that
    these are given up and made anew; in others all are remembered, and must not go stale.
    """

    annotations: Selector | None = None

    def __init__(self) -> None:
        super().__init__()
        self.most_sets = 0
        self.state = empty_state()
        self.nodes: dict[str, Json] = {}
        self.namespaces: dict[str, Json] = {}
        self.pods: dict[str, Pod] = {}
        self.written: dict[str, Pod] = {}
        self.asked: list[Json] = []
        self.steps: list[tuple[Json, Iterator[int]]] = []
        self.generation = 0
        self.turn = 0

    @property
    def cluster(self) -> Cluster:
        """What the cluster is now, for the oracle."""
        return Cluster(
            list(self.nodes.values()), list(self.namespaces.values()), list(self.pods.values())
        )

    @initialize(cluster=strategies.clusters(), room=st.sampled_from([100, 4]))
    def start(self, cluster: Cluster, room: int) -> None:
        """Begin with a cluster, as a list brings it."""
        self.most_sets = room
        self.steps = []
        self.state = empty_state(
            most_prefilter_states=room,
            most_matching_sets=room,
            scope=covering(self.annotations),
        )
        self.begun()
        for node in cluster.nodes:
            self.put_node(node)
        for namespace in cluster.namespaces:
            self.put_namespace(namespace)
        for pod in cluster.pods:
            self._put(Pod(pod))

    def begun(self) -> None:
        """Hear that there is a state, which is empty yet."""

    # Nodes and namespaces

    @rule(node=st.sampled_from(strategies.NODE_NAMES).flatmap(strategies.nodes))
    def put_node(self, node: Json) -> None:
        """Add a node, or change its labels; pods may have been bound to it before it appeared."""
        self.nodes[node["metadata"]["name"]] = node
        self.state.upsert_node(model_node(node))

    @rule(name=st.sampled_from(strategies.NODE_NAMES))
    def remove_node(self, name: str) -> None:
        """Remove a node, known or not; its pods stay behind."""
        self.nodes.pop(name, None)
        self.state.remove_node(name)

    @rule(namespace=st.sampled_from(strategies.NAMESPACE_NAMES).flatmap(strategies.namespaces))
    def put_namespace(self, namespace: Json) -> None:
        self.namespaces[namespace["metadata"]["name"]] = namespace
        self.state.upsert_namespace(model_namespace(namespace))

    @rule(name=st.sampled_from(strategies.NAMESPACE_NAMES))
    def remove_namespace(self, name: str) -> None:
        """Remove a namespace, known or not; its pods stay behind."""
        self.namespaces.pop(name, None)
        self.state.remove_namespace(name)

    # Pods

    @rule(
        data=st.data(),
        names=st.lists(st.sampled_from(POD_NAMES), min_size=1, max_size=3, unique=True),
        namespace=strategies.namespace_names(),
        template=strategies.templates(),
    )
    def create_pods(
        self, data: st.DataObject, names: list[str], namespace: str, template: Pod
    ) -> None:
        """Add a few pods; under a name that is taken, the new one has a new uid."""
        for name in names:
            self.generation += 1
            made = strategies.named(template, name, namespace, f"uid-{self.generation}")
            self._put(data.draw(strategies.fates(made)))

    @precondition(lambda self: self.written)
    @rule(data=st.data(), name=st.sampled_from(POD_NAMES), namespace=strategies.namespace_names())
    def create_replica(self, data: st.DataObject, name: str, namespace: str) -> None:
        """Add one more pod of a workload that is there already."""
        template = data.draw(st.sampled_from(sorted(self.written.values(), key=key_of)))
        self.create_pods(data, [name], namespace, template)

    @precondition(lambda self: any(not is_finished(pod) for pod in self.written.values()))
    @rule(data=st.data())
    def update_pod(self, data: st.DataObject) -> None:
        """Bind a pod, move it, end it, mark it as being deleted, or all at once.

        A pod that has ended stays so.
        """
        alive = [pod for pod in self.written.values() if not is_finished(pod)]
        pod = data.draw(st.sampled_from(sorted(alive, key=key_of)))
        bare = strategies.named(pod, _name(pod), _namespace(pod), pod["metadata"]["uid"])
        self._put(data.draw(strategies.fates(bare)))

    @precondition(lambda self: self.written)
    @rule(data=st.data(), labels=strategies.labels(strategies.POD_LABELS))
    def relabel_pod(self, data: st.DataObject, labels: dict[str, str]) -> None:
        pod = data.draw(st.sampled_from(sorted(self.written.values(), key=key_of)))
        metadata: dict[str, Any] = {**pod["metadata"], "labels": labels}
        self._put(Pod({**pod, "metadata": metadata}))

    @precondition(lambda self: self.written)
    @rule(data=st.data())
    def repeat_pod(self, data: st.DataObject) -> None:
        """Say again what is known already, as a new list does."""
        self._put(data.draw(st.sampled_from(sorted(self.written.values(), key=key_of))))

    @precondition(lambda self: self.written)
    @rule(data=st.data(), stale=strategies.rarely(4))
    def remove_pod(self, data: st.DataObject, *, stale: bool) -> None:
        """Remove a pod; news of the end of an older pod of that name changes nothing."""
        pod = data.draw(st.sampled_from(sorted(self.written.values(), key=key_of)))
        uid = "uid-0" if stale else pod["metadata"]["uid"]
        if not stale:
            del self.written[key_of(pod)], self.pods[key_of(pod)]
        self.state.remove_pod(key_of(pod), uid)

    def _put(self, pod: Pod) -> None:
        key = key_of(pod)
        before = self.pods.get(key)
        self.written[key] = pod
        if before is not None and before["metadata"]["uid"] == pod["metadata"]["uid"]:
            # Rules are fixed at creation, and a bound pod stays bound; the rest is as it says.
            spec: dict[str, Any] = {**pod["spec"], "affinity": before["spec"].get("affinity")}
            if "nodeName" in before["spec"]:
                spec.setdefault("nodeName", before["spec"]["nodeName"])
            self.pods[key] = Pod({**pod, "spec": spec})
        else:
            self.pods[key] = Pod(merged(pod))
        self.state.upsert_pod(self.read(pod))

    def read(self, pod: Pod) -> ModelPod:
        """Read a pod as the watch shows it."""
        return model_pod(pod)

    # Questions

    @rule(data=st.data(), args=strategies.plugin_args())
    def ask(self, data: st.DataObject, args: Args) -> None:
        """Ask about a pod; that alone makes the state keep counts for its terms."""
        pod = data.draw(strategies.incoming_pods(self.cluster))
        self._ask(pod, data.draw(strategies.asked_names(self.cluster)), args)
        self.asked = [pod, *self.asked][:REMEMBERED]

    @rule(data=st.data())
    def begin_to_count(self, data: st.DataObject) -> None:
        """Begin to count what a question needs; events come before that is finished."""
        pod = data.draw(strategies.incoming_pods(self.cluster))
        self.steps.append((pod, self.state.preparing(model_pod(pod).pod_class, 1)))

    @precondition(lambda self: self.steps)
    @rule(data=st.data(), steps=st.integers(1, 4))
    def count_on(self, data: st.DataObject, steps: int) -> None:
        """Go on with a count that was begun; once it is through, its answer costs nothing more."""
        pod, rest = data.draw(st.sampled_from(self.steps))
        if len(list(islice(rest, steps))) < steps:
            self.steps.remove((pod, rest))
            self._ask(pod, list(self.nodes), Args())

    def cluster_for(self, namespace: str) -> Cluster:
        """Return what a pod of a namespace has to reckon with.

        Where a feature limits that, annotations are nothing to other namespaces.
        """
        whole = self.cluster
        pods = [
            _without_rules(pod)
            if self.is_annotated(pod)
            and _namespace(pod) != namespace
            and self.is_limited(_namespace(pod))
            else pod
            for pod in map(Pod, whole.pods)
        ]
        return Cluster(whole.nodes, whole.namespaces, pods)

    def is_limited(self, namespace: str) -> bool:
        """Return whether rules in annotations of a namespace count there alone."""
        del namespace
        return False

    def is_annotated(self, pod: Pod) -> bool:
        del pod
        return False

    def _ask(self, pod: Json, names: list[str], args: Args) -> None:
        state, cluster = self.state, self.cluster_for(_namespace(pod))
        assert actual_refusals(state, pod, names) == expected_refusals(cluster, pod, names, args)
        assert actual_scores(state, pod, names, args) == expected_scores(cluster, pod, names, args)

    @invariant()
    def answers_do_not_go_stale(self) -> None:
        """Ask again, in turns, what was asked before: something may be remembered of it."""
        self.turn += 1
        if self.asked:
            self._ask(self.asked[self.turn % len(self.asked)], list(self.nodes), Args())

    @invariant()
    def counters_equal_a_recount(self) -> None:
        """No counter has drifted."""
        assert mismatches(self.state) == []

    @invariant()
    def room_equals_a_recount(self) -> None:
        """No node has more or less in use than its pods request."""
        assert room_mismatches(self.state) == []

    @invariant()
    def nominations_equal_a_recount(self) -> None:
        """Every waiting pod that is nominated is held on its node, and no other."""
        assert nominated_mismatches(self.state) == []
        assert {pod.uid: pod.status.nominated for pod in self.state.nominated.pods} == {
            pod["metadata"]["uid"]: pod["status"]["nominatedNodeName"]
            for pod in self.pods.values()
            if any(is_nominated(pod, name) for name in NOMINATED_TO)
        }

    @invariant()
    def sets_are_kept_or_forgotten(self) -> None:
        """No more sets are kept than allowed, and no pod moves one that was given up for long."""
        self.state.do_deferred()
        kept = list(self.state.matching_sets)
        assert len(kept) <= self.most_sets
        for placed in self.state.placed_classes:
            assert all(counted in kept for counted in placed.counted)

    @invariant()
    def objects_are_the_ones_put(self) -> None:
        """Nothing was lost, nothing stayed behind, and rules are those of the pod's creation."""
        assert set(self.state.nodes) == set(self.nodes)
        assert set(self.state.namespaces) == set(self.namespaces)
        expected = [model_pod(pod) for pod in self.pods.values() if not is_finished(pod)]
        assert {key: self.facts(pod) for key, pod in self.state.pods.items()} == {
            pod.key: self.facts(pod) for pod in expected
        }

    def facts(self, pod: ModelPod) -> tuple[object, ...]:
        """Return what counts of a pod, however its manifest spelled it."""
        return pod.uid, pod.node, pod.pod_class.labels, pod.pod_class.affinity

    @invariant()
    def residents_are_the_pods_bound(self) -> None:
        """Each node has exactly the pods that are bound to it, known or not."""
        bound = {id(pod) for pod in self.state.pods.values() if pod.node is not None}
        names = {pod.node for pod in self.state.pods.values() if pod.node is not None}
        found = [
            (name, pod)
            for name in {*names, *strategies.NODE_NAMES, strategies.UNKNOWN_NODE}
            for pod in self.state.pods_on(name)
        ]
        assert all(pod.node == name for name, pod in found)
        assert len(found) == len(bound)
        assert {id(pod) for _, pod in found} == bound

    def teardown(self) -> None:
        """Take everything away: then nothing may be left that somebody carries."""
        for key, pod in self.pods.items():
            self.state.remove_pod(key, pod["metadata"]["uid"])
        assert dict(self.state.pods) == {}
        assert len(self.state.existing_terms) == 0
        assert list(self.state.existing_terms.sums) == []
        assert list(self.state.placed_classes) == []
        assert list(self.state.node_resources.in_use) == []
        assert len(self.state.nominated) == 0
        assert mismatches(self.state) == []


def _name(pod: Json) -> str:
    name: str = pod["metadata"]["name"]
    return name


def _namespace(pod: Json) -> str:
    namespace: str = pod["metadata"]["namespace"]
    return namespace


def _without_rules(pod: Pod) -> Pod:
    return Pod({**pod, "spec": {**pod["spec"], "affinity": None}})


class AnnotatedEventStream(EventStream):
    """The same, where half of the pods have their rules in an annotation, and others in the spec.

    Counters and answers have to be those of the rules, wherever they are written.
    """

    annotations = EVERYTHING

    def read(self, pod: Pod) -> ModelPod:
        """Read a pod; which ones are annotated hangs on the uid, which lasts as long as the pod."""
        if crc32(pod["metadata"]["uid"].encode()) % 2:
            return model_pod(pod)
        return model_pod(sound(pod, moved(pod)))

    def is_annotated(self, pod: Pod) -> bool:
        return self.read(pod).pod_class.annotated is not None


class EditedEventStream(EventStream):
    """The same, where every pod was placed by its annotation, which anybody may edit at any time.

    And where annotations count in some namespaces only, by labels that come and go. Others have to
    reckon with the rules that a pod was placed by, as long as those are in its annotation and count
    there, and with no others: neither those of a later edit nor those of the spec.
    """

    annotations = Selector.of((Requirement("team", Operator.EXISTS),))

    def __init__(self) -> None:
        super().__init__()
        self.edited: dict[str, Json | None] = {}
        """Annotations by the uid of their pods, None for one that was taken out."""
        self.plain: set[str] = set()
        """The uids of pods whose rules no API server would store in an annotation."""

    @property
    def cluster(self) -> Cluster:
        """What others have to reckon with."""
        pods = [pod if self._counts(pod) else _without_rules(pod) for pod in self.pods.values()]
        return Cluster(list(self.nodes.values()), list(self.namespaces.values()), pods)

    def _counts(self, pod: Pod) -> bool:
        if pod["metadata"]["uid"] in self.plain:
            # In the spec, that is, and nobody can edit it.
            return True
        namespace = self.namespaces.get(_namespace(pod))
        covered = namespace is not None and "team" in (namespace["metadata"].get("labels") or {})
        return covered and pod["metadata"]["uid"] not in self.edited

    def is_annotated(self, pod: Pod) -> bool:
        return pod["metadata"]["uid"] not in self.plain

    @precondition(lambda self: self.written)
    @rule(
        data=st.data(),
        affinity=st.sampled_from([None, REPELS_ALL, {}]),
    )
    def edit(self, data: st.DataObject, affinity: Json | None) -> None:
        """Edit the annotation of a placed pod, or take it out."""
        placed = [
            each
            for each in self.written.values()
            # Label keys are merged anew by an edit, by the labels of that moment.
            if "nodeName" in each["spec"] and "LabelKeys" not in str(each["spec"])
        ]
        if placed:
            pod = data.draw(st.sampled_from(sorted(placed, key=key_of)))
            edited = None if affinity is None else annotated(EMPTY, affinity)
            self.edited[pod["metadata"]["uid"]] = edited
            self._put(pod)

    @precondition(lambda self: self.edited)
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        """Have an annotation again as it was."""
        uid = data.draw(st.sampled_from(sorted(self.edited)))
        del self.edited[uid]
        for pod in list(self.written.values()):
            if pod["metadata"]["uid"] == uid:
                self._put(pod)

    def read(self, pod: Pod) -> ModelPod:
        """Read a pod as the watch shows it, with what is on record of it."""
        is_placed, uid = "nodeName" in self._known(pod)["spec"], pod["metadata"]["uid"]
        # Label keys are merged by the labels of the moment: tests of their own tell about them.
        keyed = "LabelKeys" in str(pod["spec"])
        made = pod if keyed else sound(pod, moved(pod))
        (self.plain.add if made is pod else self.plain.discard)(uid)
        if made is pod:
            # A manifest, whose label keys are still to be merged, as none is that was stored.
            return model_pod(pod)
        shown = stored(made, made if is_placed else None)
        if not is_placed:
            self.state.note_asked(model_pod(shown))
        if uid in self.edited:
            edited = self.edited[uid]
            shown["metadata"]["annotations"] = (
                {} if edited is None else edited["metadata"]["annotations"]
            )
        return model_pod(shown)

    def _known(self, pod: Pod) -> Pod:
        """Return a pod as it is by now: a bound one stays so, whatever it says."""
        known = self.pods[key_of(pod)]
        return known if known["metadata"]["uid"] == pod["metadata"]["uid"] else pod

    def facts(self, pod: ModelPod) -> tuple[object, ...]:
        """Return what is the same however annotations are edited."""
        return pod.uid, pod.node, pod.pod_class.labels


TestEventStream = pytest.mark.thorough(EventStream.TestCase)
TestEditedEventStream = pytest.mark.thorough(EditedEventStream.TestCase)
TestEditedEventStream.settings = FURTHER
TestAnnotatedEventStream = pytest.mark.thorough(AnnotatedEventStream.TestCase)
TestAnnotatedEventStream.settings = FURTHER
