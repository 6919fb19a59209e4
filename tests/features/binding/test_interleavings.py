"""Filter, bind, watch, other binders and time in any order: every answer fits what was promised.

Beside the extender stands what anybody who knows its past could know: the pods that the watch has
shown, and those that it has promised a place. Each filter answer and each bind that it sends must
be what the oracle says about these.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from extender.core.callbacks.in_flight import InFlightPods
from extender.core.cluster.ledgers.reservations import CONFIRMED_SECONDS, RESERVATION_SECONDS
from extender.core.metrics import Metrics
from extender.core.model.objects import SeenPod
from extender.core.source import StillPicture
from extender.core.verbs.interaction import interact
from extender.core.verbs.plugins import Plugins
from extender.core.wire.objects import PodReader
from extender.features.binding.binds import Binds
from extender.features.binding.outcome import BindOutcome, Bound
from extender.features.binding.part import Placing
from simulation.invariants.features import judges
from simulation.invariants.recount import mismatches, room_mismatches
from tests import oracle
from tests.answering import Answering, requests_of
from tests.beside import RULES
from tests.builders import (
    HOST,
    ZONE,
    Json,
    Pod,
    crossing,
    every_facet,
    model_pod,
    node,
    pod,
    quota,
    selector,
    state_of,
    term,
)
from tests.features.every import usual_plugins
from tests.verbs.judging import AFFINITY

if TYPE_CHECKING:
    from extender.core.model.objects import Pod as ModelPod

LATEST_SECONDS = 60.0
"""How late the API server may still carry out a bind that we gave up."""

NODES = [
    node(name, {ZONE: zone, HOST: name}) for name, zone in {"a1": "a", "a2": "a", "b1": "b"}.items()
]
NODE_NAMES = st.sampled_from([each["metadata"]["name"] for each in NODES])
WEB, CREW, FAR = selector(app="web"), selector(app="crew"), selector(app="nobody")
KINDS: dict[str, Callable[[Pod], Pod]] = {
    "apart by zone": lambda p: p.labels(app="web").anti_affinity(term(ZONE, WEB)),
    "apart by host": lambda p: p.labels(app="web").anti_affinity(term(HOST, WEB)),
    "together": lambda p: p.labels(app="crew").affinity(term(ZONE, CREW)),
    "plain": lambda p: p.labels(app="web"),
    "across": lambda p: p.labels(app="far").anti_affinity(term(ZONE, FAR, namespaceSelector={})),
}
"""Of the last kind the quota lets one be placed; their rule keeps no pod of these out."""
PLACES = 1
QUOTA = quota("q", {"pods": PLACES}, crossing())
PLUGINS: Plugins = (*AFFINITY, *usual_plugins())


OUTCOMES = [BindOutcome.REFUSED, BindOutcome.REFUSED, BindOutcome.INDETERMINATE, None]


@dataclass(slots=True, eq=False)
class Sent:
    """A bind that the API server has not answered."""

    pod: Pod
    node: str
    answer: asyncio.Future[Bound]
    done: bool = False
    """The pod is bound by it; only the answer is still to come."""
    given_up: float = 0.0
    """When we stopped to wait for the answer."""


class Interleavings(RuleBasedStateMachine):
    """One extender, an API server, a watch that is late, and several who bind."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.now = 0.0
        self.generation = 0
        self.stored: dict[str, Pod] = {}
        """What the API server has, by name."""
        self.stream: list[tuple[str, Pod]] = []
        """What the watch has not told yet."""
        self.shown: dict[str, Pod] = {}
        """What it has told, by uid."""
        self.promised: dict[tuple[str, str], tuple[Pod, dict[Sent | None, float]]] = {}
        """Until when a node is kept for a pod, by uid and node, for each bind that was sent; None
        stands for those that have ended."""
        self.fits: dict[str, tuple[Pod, list[str]]] = {}
        """The last filter answer about a pod, by name."""
        self.ours: set[str] = set()
        """Those that are where we bound them, by uid."""
        self.sent: list[Sent] = []
        self.late: list[Sent] = []
        """Those that we gave up and the API server did not."""
        self.calls: set[asyncio.Task[bytes]] = set()
        self.state = state_of(NODES, [], [], [QUOTA])
        self._wire()

    def _wire(self) -> None:
        metrics = Metrics()
        in_flight = InFlightPods(partial(interact, self.state), hold=0)
        self.answers = Answering(
            self.state,
            metrics,
            PLUGINS,
            in_flight=in_flight,
            pods=PodReader(facets=every_facet(), rules=RULES),
        )
        requests = requests_of(self.state, metrics)
        row = Placing.metrics(metrics.make)
        self.binds = Binds(
            requests,
            PLUGINS,
            self,
            in_flight,
            row,
            picture=StillPicture({}, {}),
            clock=lambda: self.now,
        )

    def teardown(self) -> None:
        """Let the binds end that are under way."""
        while self.sent:
            self._end(self.sent[0], Bound(BindOutcome.INDETERMINATE))
        self.loop.close()

    # As the API server

    async def bind(self, pod: ModelPod, node: str, within: float) -> Bound:
        """Check what was decided just now, and let the answer wait."""
        assert within > 0
        raw = next(each for each in self._ever(pod.uid))
        assert not self._refused(raw, [node])
        answer: asyncio.Future[Bound] = self.loop.create_future()
        sent = Sent(raw, node, answer)
        self.sent.append(sent)
        self._promise(sent, sent, RESERVATION_SECONDS)
        return await answer

    async def record(self, pod: ModelPod, digest: str) -> str | None:
        """Put nothing on record: no pod here has an annotation."""
        raise AssertionError((pod, digest))

    async def read(self, key: str) -> SeenPod | None:
        """Show a pod as it is stored."""
        found = self.stored.get(key.partition("/")[2])
        return None if found is None else SeenPod(model_pod(found))

    # What can be known

    def _ever(self, uid: str) -> list[Pod]:
        everywhere = [*self.stored.values(), *self.shown.values()]
        return [each for each in everywhere if each["metadata"]["uid"] == uid]

    def _visible(self) -> oracle.Cluster:
        placed = [each for each in self.shown.values() if "nodeName" in each["spec"]]
        kept = [pod.on(name) for (_, name), (pod, _) in self.promised.items()]
        return oracle.Cluster(NODES, [], [*placed, *kept])

    def _refused(self, raw: Pod, names: list[str]) -> set[str]:
        """Return the nodes that a pod may not go to, by rules or by the quota."""
        visible, uid = self._visible(), raw["metadata"]["uid"]
        others = [each for each in visible.pods if each["metadata"]["uid"] != uid]
        if is_across(raw) and sum(map(is_across, others)) >= PLACES:
            return set(names)
        return set(oracle.refusals(visible, raw, names))

    def _promise(self, sent: Sent, claim: Sent | None, seconds: float) -> None:
        _, kept = self.promised.get(_place(sent), (sent.pod, {}))
        kept[claim] = max(kept.get(claim, 0.0), self.now + seconds)
        self.promised[_place(sent)] = (sent.pod, kept)

    def _settle(self, uid: str) -> None:
        self.promised = {key: kept for key, kept in self.promised.items() if key[0] != uid}

    # What happens

    @initialize(kinds=st.lists(st.sampled_from(sorted(KINDS)), min_size=2, max_size=4))
    def start(self, kinds: list[str]) -> None:
        """Begin with a few pods that wait."""
        for number, kind in enumerate(kinds):
            self.create(f"p{number}", kind)
        self.show(len(kinds))

    @rule(name=st.sampled_from(["p0", "p1", "p2", "p3"]), kind=st.sampled_from(sorted(KINDS)))
    def create(self, name: str, kind: str) -> None:
        """Create a pod, after deleting one of the same name."""
        self.delete(name)
        self.generation += 1
        made = KINDS[kind](pod(name).uid(f"uid-{self.generation}"))
        self.stored[name] = made
        self.stream.append(("ADDED", made))

    @rule(name=st.sampled_from(["p0", "p1", "p2", "p3"]))
    def delete(self, name: str) -> None:
        """Delete a pod, if there is one."""
        if name in self.stored:
            self.stream.append(("DELETED", self.stored.pop(name)))

    @rule(events=st.integers(1, 3))
    def show(self, events: int) -> None:
        """Let the watch tell what happened longest ago."""
        for kind, raw in self.stream[:events]:
            seen, uid = model_pod(raw), raw["metadata"]["uid"]
            if kind == "DELETED":
                self.state.remove_pod(seen.key, seen.uid)
                self.shown.pop(uid, None)
                self._settle(uid)
            else:
                self.state.upsert_pod(seen)
                self.shown[uid] = raw
                if "nodeName" in raw["spec"]:
                    self._settle(uid)
        del self.stream[:events]

    @precondition(lambda self: self.stored)
    @rule(data=st.data())
    def ask(self, data: st.DataObject) -> None:
        """Have the scheduler ask about a pod that waits, as it knows it."""
        raw = self.stored[data.draw(st.sampled_from(sorted(self.stored)))]
        if "nodeName" in raw["spec"]:
            return
        names = [each["metadata"]["name"] for each in NODES]
        body = json.dumps({"Pod": raw, "NodeNames": names}).encode()
        answer = json.loads(self.loop.run_until_complete(self.answers.filter(body)))
        refused = self._refused(raw, names)
        assert answer["NodeNames"] == [name for name in names if name not in refused]
        self.fits[raw["metadata"]["name"]] = (raw, answer["NodeNames"])

    @precondition(lambda self: any(names for _, names in self.fits.values()))
    @rule(data=st.data())
    def choose(self, data: st.DataObject) -> None:
        """Have the scheduler choose a node, now or much later than it asked."""
        known = sorted(name for name, (_, names) in self.fits.items() if names)
        raw, names = self.fits.pop(data.draw(st.sampled_from(known)))
        self._choose(raw, data.draw(st.sampled_from(names)))

    def _choose(self, raw: Pod, node: str) -> None:
        metadata = raw["metadata"]
        request = {
            "PodName": metadata["name"],
            "PodNamespace": metadata["namespace"],
            "PodUID": metadata["uid"],
            "Node": node,
        }
        call = self.loop.create_task(self.binds.answer(json.dumps(request).encode()))
        self.calls.add(call)
        self._run()

    @precondition(lambda self: self.stored)
    @rule(data=st.data())
    def place(self, data: st.DataObject) -> None:
        """Have a pod go all the way, quicker than anything else."""
        self.ask(data)
        if any(names for _, names in self.fits.values()):
            self.choose(data)
        if self.sent:
            self.carry_out(data)

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def carry_out(self, data: st.DataObject) -> None:
        """Have the API server do what a bind asks for; the watch may be first to tell."""
        sent = data.draw(st.sampled_from(self.sent))
        if self._is_waiting(sent.pod):
            sent.done = True
            self.ours.add(sent.pod["metadata"]["uid"])
            self._store(sent.pod, sent.node)

    @precondition(lambda self: self.sent)
    @rule(data=st.data(), outcome=st.sampled_from(OUTCOMES))
    def end(self, data: st.DataObject, outcome: BindOutcome | None) -> None:
        """Let an answer through, or lose it; None has the binder look what became of the pod."""
        sent = data.draw(st.sampled_from(self.sent))
        if sent.done and outcome is BindOutcome.REFUSED:
            outcome = BindOutcome.BOUND
        self._end(sent, self._look(sent) if outcome is None else Bound(outcome))

    @precondition(lambda self: self.sent)
    @rule(data=st.data(), outcome=st.sampled_from(OUTCOMES))
    def try_again(self, data: st.DataObject, outcome: BindOutcome | None) -> None:
        """Lose an answer, and have the scheduler come back with the pod; that may end anyhow."""
        sent = data.draw(st.sampled_from(self.sent))
        self._end(sent, Bound(BindOutcome.INDETERMINATE))
        if not self._is_waiting(sent.pod):
            return
        before = len(self.sent)
        self._choose(sent.pod, data.draw(st.just(sent.node) | NODE_NAMES))
        if len(self.sent) > before:
            again = self.sent[-1]
            self._end(again, self._look(again) if outcome is None else Bound(outcome))

    def _look(self, sent: Sent) -> Bound:
        found = self.stored.get(sent.pod["metadata"]["name"])
        if found is None or found["metadata"]["uid"] != sent.pod["metadata"]["uid"]:
            return Bound(BindOutcome.GONE)
        place = found["spec"].get("nodeName")
        if place is None:
            return Bound(BindOutcome.INDETERMINATE)
        if place == sent.node:
            return Bound(BindOutcome.BOUND)
        return Bound(BindOutcome.ELSEWHERE, elsewhere=place)

    def _end(self, sent: Sent, bound: Bound) -> None:
        self.sent.remove(sent)
        self._learn(sent, bound)
        if bound.outcome is BindOutcome.INDETERMINATE and not sent.done:
            sent.given_up = self.now
            self.late.append(sent)
        sent.answer.set_result(bound)
        self._run()

    def _learn(self, sent: Sent, bound: Bound) -> None:
        """Know what can be known from an answer."""
        uid = sent.pod["metadata"]["uid"]
        _, kept = self.promised.get(_place(sent), (sent.pod, {}))
        claimed = kept.pop(sent, None) is not None
        match bound.outcome:
            case BindOutcome.INDETERMINATE if claimed:
                self._promise(sent, None, RESERVATION_SECONDS)
            case BindOutcome.BOUND:
                if claimed:
                    self._promise(sent, None, CONFIRMED_SECONDS)
                self._settle_but(uid, sent.node)
            case BindOutcome.ELSEWHERE | BindOutcome.GONE:
                self._settle_but(uid, bound.elsewhere)
        if not kept:
            self.promised.pop(_place(sent), None)

    def _settle_but(self, uid: str, node: str | None) -> None:
        for key, (_, kept) in list(self.promised.items()):
            if key[0] == uid and key[1] != node:
                del self.promised[key]
            elif key[0] == uid and None in kept:
                kept[None] = max(kept[None], self.now + CONFIRMED_SECONDS)

    @precondition(lambda self: self.late)
    @rule(data=st.data())
    def carry_out_late(self, data: st.DataObject) -> None:
        """Have the API server do what a bind asked for that we gave up long ago."""
        sent = data.draw(st.sampled_from(self.late))
        self.late.remove(sent)
        if self._is_waiting(sent.pod):
            self.ours.add(sent.pod["metadata"]["uid"])
            self._store(sent.pod, sent.node)

    def _is_waiting(self, raw: Pod) -> bool:
        """Return whether the API server has this very pod without a node."""
        stored = self.stored.get(raw["metadata"]["name"])
        same = stored is not None and stored["metadata"]["uid"] == raw["metadata"]["uid"]
        return stored is not None and same and "nodeName" not in stored["spec"]

    @precondition(lambda self: self.stored)
    @rule(data=st.data(), node=NODE_NAMES)
    def be_bound_by_somebody_else(self, data: st.DataObject, node: str) -> None:
        """Have a pod bound by a scheduler that does not ask us, against any rule."""
        raw = self.stored[data.draw(st.sampled_from(sorted(self.stored)))]
        if "nodeName" not in raw["spec"]:
            self._store(raw, node)

    def _store(self, raw: Pod, node: str) -> None:
        bound = raw.on(node)
        self.stored[raw["metadata"]["name"]] = bound
        self.stream.append(("MODIFIED", bound))

    @rule(seconds=st.sampled_from([1.0, LATEST_SECONDS, RESERVATION_SECONDS, CONFIRMED_SECONDS]))
    def pass_time(self, seconds: float) -> None:
        """Let promises expire.

        We wait for no answer for so long; the API server ends its work before promises do, and the
        watch tells of what nobody answered for. Of what was answered it may be silent for longer.
        """
        if seconds > 1.0:
            for sent in list(self.sent):
                self._end(sent, Bound(BindOutcome.INDETERMINATE))
        self.now += seconds
        self.late = [each for each in self.late if each.given_up + LATEST_SECONDS >= self.now]
        deadlines = [until for _, kept in self.promised.values() for until in kept.values()]
        if any(until <= self.now for until in deadlines):
            self.show(len(self.stream))
        self.state.expire(self.now)
        for place, (_, kept) in list(self.promised.items()):
            for claim in [each for each, until in kept.items() if until <= self.now]:
                del kept[claim]
            if not kept:
                del self.promised[place]

    def _run(self) -> None:
        """Let every call go on as far as it can."""
        for _ in range(5):
            self.loop.run_until_complete(asyncio.sleep(0))
        for call in [call for call in self.calls if call.done()]:
            self.calls.remove(call)
            answer: dict[str, Any] = json.loads(call.result())
            assert set(answer) == {"Error"}

    @invariant()
    def the_books_balance(self) -> None:
        """Compare every counter, and every reservation, with what they should be."""
        assert mismatches(self.state) == []
        assert room_mismatches(self.state) == []
        assert [*chain.from_iterable(each.mismatches(self.state) for each in judges())] == []
        reserved = {(each.pod.uid, str(each.pod.node)) for each in self.state.reservations}
        assert reserved == set(self.promised)

    @invariant()
    def nothing_that_we_bound_excludes_anything_else_that_we_bound(self) -> None:
        """Compare the pods that the API server has with each other."""
        ours = [each for each in self.stored.values() if each["metadata"]["uid"] in self.ours]
        for each in ours:
            others = oracle.Cluster(NODES, [], [other for other in ours if other is not each])
            refusal = oracle.refusals(others, each, [each["spec"]["nodeName"]])
            assert not {oracle.ANTI_AFFINITY, oracle.EXISTING_ANTI_AFFINITY} & {*refusal.values()}

    @invariant()
    def we_take_no_place_in_the_quota_twice(self) -> None:
        """Count the pods in scope that we bound."""
        ours = [each for each in self.stored.values() if each["metadata"]["uid"] in self.ours]
        assert sum(map(is_across, ours)) <= PLACES


def _place(sent: Sent) -> tuple[str, str]:
    return sent.pod["metadata"]["uid"], sent.node


def is_across(raw: Json) -> bool:
    """Return whether a pod counts against the quota."""
    return bool(raw["metadata"]["labels"]["app"] == "far")


TestInterleavings = pytest.mark.thorough(Interleavings.TestCase)
