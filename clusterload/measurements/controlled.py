"""WaitForControlledPodsRunning: wait until the pods of controllers run and are up to date."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from clusterload.measurements.base import Following, Outcome
from clusterload.objects import Kind
from clusterload.reports import Summary
from clusterload.watching import Known, Pulse, Watch, watching
from clusterload.workloads import (
    Controller,
    WholePod,
    agrees,
    all_run,
    describe,
    read_controller,
    read_whole_pod,
    runs,
    state,
)
from extender.core.errors import ExtenderError
from extender.core.kube.frames import read_answer

if TYPE_CHECKING:
    from clusterload.measurements.base import Surroundings
    from clusterload.parameters import Parameters

T = TypeVar("T", bound=Known)

NAME = "WaitForControlledPodsRunning"
DEFAULT_OPERATION_TIMEOUT_S = 600.0
DEFAULT_SYNC_TIMEOUT_S = 60.0

DEPLOYMENT = "Deployment"
KINDS = frozenset((DEPLOYMENT, "ReplicaSet", "ReplicationController", "StatefulSet"))
REPLICA_SET = Kind("apps/v1", "ReplicaSet")
POD = Kind("v1", "Pod")


class _List(msgspec.Struct):
    items: list[msgspec.Raw] | None


class WaitForControlledPodsRunning(Following):
    """Watches controllers and their pods; `gather` waits until each has all its replicas."""

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._pulse = Pulse()
        self._controllers = Watch[Controller](None, self._pulse)
        self._pods = Watch[WholePod](None, self._pulse)
        self._timeout = DEFAULT_OPERATION_TIMEOUT_S
        self._check_updated = True
        self._path = ""
        self._query: Mapping[str, str] = {}
        self._seen: dict[str, tuple[str, int]] = {}
        """The key and the last generation of each controller by uid, deleted ones included."""
        self._changed_at: dict[str, float] = {}
        self._state = "the watch has not caught up yet"
        self._set_owners: dict[str, str] = {}
        """The uid of the Deployment of each ReplicaSet by uid, deleted ones included."""

    async def _start(self, parameters: Parameters) -> None:
        kind = Kind(parameters.text("apiVersion"), parameters.text("kind"))
        if kind.name not in KINDS:
            raise ExtenderError(
                f"kind {kind.name} is not known here; known: {', '.join(sorted(KINDS))}"
            )
        namespace, self._query = parameters.selection()
        self._timeout = parameters.seconds("operationTimeout", DEFAULT_OPERATION_TIMEOUT_S)
        self._check_updated = parameters.flag("checkIfPodsAreUpdated", default=True)
        collection = self._surroundings.objects.collection
        self._path = await collection(kind, namespace)
        self._pods = await self._watch(await collection(POD, namespace), read_whole_pod, {})
        if kind.name == DEPLOYMENT:
            sets = await collection(REPLICA_SET, namespace)
            await self._watch(sets, read_controller, {}, self._note_set)
        self._controllers = await self._watch(
            self._path, read_controller, self._query, self._note_controller
        )

    async def _watch(
        self,
        path: str,
        read: Callable[[msgspec.Raw], T],
        query: Mapping[str, str],
        note: Callable[[T], None] | None = None,
    ) -> Watch[T]:
        client = self._surroundings.client
        opened = watching(client, path, query, read, on_upsert=note, pulse=self._pulse)
        return await self._open.enter_async_context(opened)

    def _note_set(self, replica_set: Controller) -> None:
        self._set_owners[replica_set.uid] = replica_set.owner

    def _note_controller(self, controller: Controller) -> None:
        state_now = (controller.key, controller.generation)
        if self._seen.get(controller.uid) != state_now:
            self._seen[controller.uid] = state_now
            self._changed_at[controller.uid] = time.monotonic()

    async def _gather(self, parameters: Parameters) -> Outcome:
        with self._surroundings.waiting(lambda: self._state):
            await self._catch_up(parameters.seconds("syncTimeout", DEFAULT_SYNC_TIMEOUT_S))
            return await self._until_settled()

    async def _until_settled(self) -> Outcome:
        # Each has its time from when it was last changed.
        last = max(self._changed_at.values(), default=time.monotonic())
        left = last + self._timeout - time.monotonic()
        try:
            async with asyncio.timeout(left):
                await self._pulse.until(self._all_settled)
        except TimeoutError:
            return self._failure(self._unsettled())
        return Outcome()

    async def _catch_up(self, seconds: float) -> None:
        """Wait until the watch has caught up with the API server."""
        listed = read_answer(await self._surroundings.client.get(self._path, self._query), _List)
        now = {each.key: each for each in map(read_controller, listed.items or ())}

        def caught_up() -> bool:
            followed = self._controllers.objects
            return now.keys() == followed.keys() and all(
                followed[key].generation >= each.generation for key, each in now.items()
            )

        try:
            async with asyncio.timeout(seconds):
                await self._pulse.until(caught_up)
        except TimeoutError:
            raise ExtenderError(f"the watch did not catch up in {seconds:g} s") from None

    def _all_settled(self) -> bool:
        left, every = len(self._unsettled()), len(self._seen)
        self._state = f"{every - left:,} of {every:,} object{'' if every == 1 else 's'} up to date"
        return not left

    def _unsettled(self) -> dict[str, Collection[WholePod]]:
        """Return the pods of each controller, by key, that has not all its replicas yet."""
        pods: dict[str, list[WholePod]] = defaultdict(list)
        for pod in self._pods.objects.values():
            pods[self._set_owners.get(pod.owner, pod.owner)].append(pod)
        living = {each.uid: each for each in self._controllers.objects.values()}
        unsettled: dict[str, Collection[WholePod]] = {}
        for uid, (key, _) in self._seen.items():
            if not self._settled(living.get(uid), pods[uid]):
                unsettled[key] = pods[uid]
        return unsettled

    def _settled(self, controller: Controller | None, pods: Sequence[WholePod]) -> bool:
        if controller is None:
            return not pods
        return all_run(pods, controller.replicas) and (
            not self._check_updated
            or all(agrees(controller.pod_spec, msgspec.json.decode(pod.spec)) for pod in pods)
        )

    def _failure(self, unsettled: Mapping[str, Collection[WholePod]]) -> Outcome:
        failed = [
            {
                "namespace": pod.key.rpartition("/")[0],
                "controlledBy": key,
                "name": pod.key.rpartition("/")[2],
                "host": pod.node,
                "status": state(pod),
            }
            for key, pods in sorted(unsettled.items())
            for pod in pods
            if not runs(pod)
        ]
        summary = Summary(f"{NAME}_{int(time.time())}_failedpods", failed)
        several = ", ".join(f"{key}: {describe(pods)}" for key, pods in sorted(unsettled.items()))
        error = f"{len(unsettled)} objects timed out after {self._timeout:g} s: {several}"
        return Outcome([summary] if failed else [], error)
