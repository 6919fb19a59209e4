"""A cluster in which the preemption controller acts, on a clock that stands still."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from msgspec import structs
from prometheus_client import CollectorRegistry

from extender.core.cluster.state import ClusterState
from extender.core.controllers.context import Clocks, ControllerContext
from extender.core.controllers.history import History
from extender.core.controllers.reconciling import LOOK_SECONDS
from extender.core.metrics import Metrics
from extender.core.metrics.table import EVICTIONS
from extender.core.model.disruption import preemptor_in
from extender.core.model.objects import Pod as ModelPod
from extender.core.model.verdict import Reason
from extender.core.ports import Occurrence, ReleaseNomination
from extender.core.verbs.filtering import judge
from extender.core.warm_up import WarmUp
from extender.features.refused_pods.part import PREEMPTIONS, Helping
from extender.features.refused_pods.preemption import PreemptionController
from extender.features.refused_pods.refusals import SETTLING_SECONDS, WHOLE_SEARCH
from tests.builders import HOST, Pod, model_pod, pod, selector, state_of, term
from tests.important_pods import HIGH, MIDDLE, db, server
from tests.shown_objects import Objects
from tests.verbs.judging import AFFINITY

WAIT = 5.0


def loner(name: str) -> Pod:
    """Build an important pod that wants neither databases nor its like near it."""
    both = selector({"key": "app", "operator": "In", "values": ["db", "loner"]})
    return pod(name).labels(app="loner").priority(HIGH).anti_affinity(term(HOST, both))


# Where the scheduler preempts


def short(key: str) -> str:
    """Return the name in a key."""
    return key.partition("/")[2]


A, B = server("a"), server("b", "z2")
ON_A = db("on-a", "a")
ON_B = db("on-b", "b", MIDDLE)
ROCKY = [f"rocky-{number}" for number in range(WHOLE_SEARCH)]
"""Names of nodes that nobody can make fit; with one more, the scheduler tries only a part."""


@dataclass(slots=True)
class Gate:
    """Where requests wait until a test lets them through."""

    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)


class Api:
    """Carries out what it is told, and shows it to every state that watches."""

    def __init__(self, *states: ClusterState) -> None:
        self.states = states
        self.objects = Objects(states[0])
        self.calls: list[str] = []
        """What was done, in order."""
        self.notes: list[str] = []
        self.messages: set[str] = set()
        self.marked: set[str] = set()
        """The uids of the pods that have the condition."""
        self.grace = False
        """Whether pods take their time to end."""
        self.shows = True
        """Whether watches are up to date."""
        self.fails: Callable[[str], Exception | None] = lambda _: None
        """Says what goes wrong, given the call; nothing is done then."""
        self.gates: dict[str, Gate] = {}
        """Where requests have to wait, by their first word."""
        self.pods = {each.uid: each for state in states for each in state.pods.values()}

    async def _arrive(self, call: str) -> None:
        self.calls.append(call)
        gate = self.gates.get(call.partition(" ")[0])
        if gate is not None:
            gate.arrived.set()
            await gate.opened.wait()
        error = self.fails(call)
        if error is not None:
            self.calls[-1] += " failed"
            raise error

    async def nominate(self, pod: ModelPod, before: str | None, node: str | None) -> bool:
        await self._arrive(f"nominate {short(pod.key)} {before}->{node}")
        known = self.pods.get(pod.uid)
        if known is None or known.status.nominated != before:
            self.calls[-1] += " overtaken"
            return False
        self._set(known.with_status(nominated=node))
        return True

    async def wake(self, pod: ModelPod) -> bool:
        """Make the scheduler try a pod again, which is nothing that a watch shows us."""
        await self._arrive(f"wake {short(pod.key)}")
        return pod.uid in self.pods

    async def mark(self, victim: ModelPod, message: str) -> bool:
        await self._arrive(f"mark {short(victim.key)}")
        self.messages.add(message)
        self.marked.add(victim.uid)
        known = self.pods.get(victim.uid)
        if known is not None:
            self._set(known.with_status(victim_of=preemptor_in(message)))
        return known is not None

    async def delete(
        self,
        victim: ModelPod,
        *,
        dry_run: bool = False,
        may_go: Callable[[], bool] = lambda: True,
    ) -> bool | None:
        await self._arrive(f"{'try' if dry_run else 'delete'} {short(victim.key)}")
        if not may_go():
            return None
        known = self.pods.get(victim.uid)
        if known is None or dry_run:
            return known is not None
        if self.grace:
            self._set(known.with_status(deleting=True, preempted=known.uid in self.marked))
        else:
            self.end(victim.uid)
        return True

    async def tell(self, victim: ModelPod, preemptor: ModelPod, note: str) -> None:
        await self._arrive(f"tell {short(victim.key)} {short(preemptor.key)}")
        self.notes.append(note)

    async def report(self, pod: ModelPod | None, occurrence: Occurrence) -> None:
        assert pod is not None
        await self._arrive(f"report {short(pod.key)} {occurrence.reason}")
        self.notes.append(occurrence.note)

    def end(self, uid: str) -> None:
        """Let a pod be gone."""
        gone = self.pods.pop(uid)
        if self.shows:
            for state in self.states:
                state.remove_pod(gone.key, uid)

    def bind(self, name: str, node: str) -> None:
        """Let the scheduler bind a pod."""
        self._set(
            structs.replace(self.pods[f"default-{name}"], node=node).with_status(nominated=None)
        )

    def nominated(self, name: str, node: str) -> None:
        """Let somebody else nominate a pod."""
        self._set(self.pods[f"default-{name}"].with_status(nominated=node))

    def wiped_out(self, name: str) -> None:
        """Let the scheduler remove a nomination, as at the end of an attempt."""
        self._set(self.pods[f"default-{name}"].with_status(nominated=None))

    def _set(self, pod: ModelPod) -> None:
        self.pods[pod.uid] = pod
        if self.shows:
            self.show()

    def show(self) -> None:
        """Let the watches catch up."""
        for state in self.states:
            for known in [*state.pods.values()]:
                if known.uid not in self.pods:
                    state.remove_pod(known.key, known.uid)
            for each in self.pods.values():
                state.upsert_pod(each)


class PreemptionRig:
    """A controller over a cluster of a few nodes; everything happens when a test says so."""

    def __init__(
        self,
        nodes: list[dict[str, object]],
        *pods: Pod,
        api: Api | None = None,
        release_nomination: ReleaseNomination | None = None,
        hints: frozenset[str] = frozenset(),
    ) -> None:
        self.now = 100.0
        self.state = state_of(nodes, [], pods)
        if api is None:
            self.api = Api(self.state)
        else:
            self.api = api
            api.states = (*api.states, self.state)
        self.registry = CollectorRegistry()
        self.raw = {short(model_pod(each).key): each for each in pods}
        self.controller = self.another(release_nomination, hints)

    def another(
        self,
        release_nomination: ReleaseNomination | None = None,
        hints: frozenset[str] = frozenset(),
    ) -> PreemptionController:
        """Build a controller over the same picture, as after a restart."""
        self.registry, self.history = CollectorRegistry(), History()
        metrics = Metrics(self.registry, "test")
        clock = lambda: self.now  # noqa: E731
        context = ControllerContext(
            self.state,
            AFFINITY,
            metrics,
            WarmUp(self.state, metrics),
            self.history,
            Clocks(clock, clock, lambda: 0.0, lambda _: asyncio.sleep(0)),
        )
        return PreemptionController(
            context,
            Helping.metrics(metrics.make).preemptions,
            self.api,
            self.api,
            release_nomination=release_nomination,
            is_hint=lambda uid: uid in hints,
        )

    def refuse(self, name: str = "important", *asked: str) -> None:
        """Let filter refuse a pod on all nodes, or those asked about; it must be right to."""
        known = self.state.pods.get(f"default/{name}") or model_pod(self.raw[name])
        names = list(asked) or list(self.state.nodes)
        verdicts = judge(self.state, known, self.state.nodes.asked(names), AFFINITY)
        assert not verdicts.fits.names, "filter would not refuse it"
        self.tell_of_refusal(known, verdicts.refused)

    def tell_of_refusal(
        self, known: ModelPod, refused: object = ((Reason.ANTI_AFFINITY, ()),)
    ) -> None:
        self.controller.refused(known, refused)  # type: ignore[arg-type]

    async def pass_time(self, seconds: float = SETTLING_SECONDS) -> None:
        """Let time pass, and do what is due."""
        self.now += seconds
        self.state.expire(self.now)
        for _ in range(1000):
            if not await self.controller.process_next():
                return
        raise AssertionError("the controller is busy without end")

    @asynccontextmanager
    async def held_at(self, word: str) -> AsyncIterator[asyncio.Task[None]]:
        """Stop at the first request of a kind; let it through at the end."""
        gate = self.api.gates[word] = Gate()
        self.now += 1
        work = asyncio.create_task(self.pass_time(0))
        async with asyncio.timeout(WAIT):
            await gate.arrived.wait()
            yield work
            del self.api.gates[word]
            gate.opened.set()
            await asyncio.gather(work, return_exceptions=True)

    async def tick(self, times: int = 1) -> None:
        for _ in range(times):
            await self.pass_time(LOOK_SECONDS)

    def done(self, *words: str) -> list[str]:
        """Return what the API server was told, of these kinds, without dry runs."""
        calls = [call for call in self.api.calls if not call.startswith("try ")]
        return [call for call in calls if not words or call.partition(" ")[0] in words]

    def evicted(self) -> list[str]:
        """Return the names of the pods that were deleted, each once, sorted."""
        deleted = [call for call in self.done("delete") if not call.endswith("failed")]
        return sorted({call.partition(" ")[2] for call in deleted})

    def counts(self) -> dict[str, int]:
        return self._counts("preemptions", PREEMPTIONS)

    def eviction_counts(self) -> dict[str, int]:
        return self._counts("evictions", EVICTIONS, plugin="InterPodAffinity")

    def _counts(self, metric: str, results: tuple[str, ...], **labels: str) -> dict[str, int]:
        name = f"affinity_extender_{metric}_total"
        found = {
            result: self.registry.get_sample_value(name, {**labels, "result": result})
            for result in results
        }
        return {result: int(count) for result, count in found.items() if count}
