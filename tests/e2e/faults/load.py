"""Users that make pods get in each other's way, and the kubelets of their nodes."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from time import monotonic
from typing import TYPE_CHECKING, Any

import aiohttp

from tests.e2e.api import Api, ApiError
from tests.e2e.kubelet import RUNNING
from tests.e2e.moving import replica_set
from tests.e2e.objects import HOSTNAME, JSON, ZONE, namespace, node, pod, term
from tests.e2e.preempting import HIGH, LOW, ranked
from tests.e2e.sandbox import pod_path, pods_path

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from random import Random

    from tests.e2e.faults.judge import Judge
    from tests.e2e.faults.store import Store

USER, READY = "e2e/user", "e2e/ready"
RACK, POOL = "example.com/rack", "example.com/pool"
JOB_NODES, ROOM_NODES, MOVE_NODES, ZONES = 20, 4, 12, 4
TEAMS, JOBS_EACH = 8, 7
MOVERS, FOLLOWERS = 24, 8
ROOMS = 4
"""Of some nodes each."""
CREWS, CREW = 4, 4
GRACE_S = 3.0
"""For which a rule has to be broken before a pod is evicted."""
_REST_S = 13.0
"""Between two moves of a controller: its successor has to be ready for 10 s."""
_RETRY_S = 0.25
_SHOWN_S = 5.0
"""How long a user waits to see the pod that it has created, before it creates another one."""
_SETTLED = (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND)
_UNWANTED = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)


class Users:
    """All of them, and what they share."""

    def __init__(self, api: Api, store: Store, judge: Judge, random: Random) -> None:
        self.wanted = True
        """False while nothing is to change but what the program does."""
        self._api = api
        self._store = store
        self._judge = judge
        self._random = random
        self._numbers = 0
        self._until: dict[str, float] = {}
        """When users delete pods, and kubelets end them, by uid."""
        self._running: set[asyncio.Future[None]] = set()

    @property
    def creating(self) -> bool:
        """Whether users may create pods; who does not see what is there would create too many."""
        return self.wanted and self._store.current

    async def set_up(self) -> None:
        """Create what is there for the whole time."""
        for each in _nodes():
            await self._create("/api/v1/nodes", each)
        for number, rack in ((0, "a"), (MOVE_NODES // 2, "b")):
            made = pod(f"anchor-{rack}", labels={"app": "anchor"}, on=f"move-{number:02}")
            await self._create(pods_path(made), made)
        for number in range(MOVERS + FOLLOWERS):
            name = f"mover-{number:02}"
            await self._create("/api/v1/namespaces", namespace(name))
            made = _mover(name, number)
            await self._create(f"/apis/apps/v1/namespaces/{name}/replicasets", made)

    async def work(self) -> None:
        """Do what users and kubelets do, for ever."""
        async with asyncio.TaskGroup() as tasks:
            for number in range(TEAMS):
                tasks.create_task(self._every(0.2, lambda n=number: self._jobs(n)))  # type: ignore[misc]
            for colour in ("red", "blue"):
                tasks.create_task(self._every(0.3, lambda c=colour: self._colour(c)))  # type: ignore[misc]
            for number in range(CREWS):
                tasks.create_task(self._every(0.3, lambda n=number: self._crew(n)))  # type: ignore[misc]
            for number in range(ROOMS):
                tasks.create_task(self._every(0.2, lambda n=number: self._less_important(n)))  # type: ignore[misc]
                tasks.create_task(self._every(0.2, lambda n=number: self._important(n)))  # type: ignore[misc]
            for number in range(MOVERS):
                tasks.create_task(self._movers(f"mover-{number:02}", self._unlabel))
            for number in range(MOVERS, MOVERS + FOLLOWERS):
                tasks.create_task(self._movers(f"mover-{number:02}", self._change_rack))
            tasks.create_task(self._every(0.1, self._kubelets))

    async def _every(self, seconds: float, act: Callable[[], Awaitable[None]]) -> None:
        while True:
            await act()
            await asyncio.sleep(seconds * self._random.uniform(0.5, 1.5))

    # Pods that exclude each other

    async def _jobs(self, number: int) -> None:
        """Keep some pods that exclude each other and those of another team on a node."""
        mine, theirs = f"job-{number}", f"job-{number ^ 1}"
        await self._end_some(mine, 0.2, 2.0)
        if self.creating and len(self._of(mine)) < JOBS_EACH:
            for _ in range(self._random.randint(1, 4)):
                apart = [term(HOSTNAME, {"app": mine}), term(HOSTNAME, {"app": theirs})]
                await self._pod(mine, "jobs", apart=apart)

    async def _colour(self, mine: str) -> None:
        """Keep some pods that exclude those of the other colour in a zone."""
        theirs = {"red": "blue", "blue": "red"}[mine]
        await self._end_some(mine, 0.2, 4.0)
        if self.creating and len(self._of(mine)) < self._random.randint(1, 4):
            await self._pod(mine, "jobs", apart=[term(ZONE, {"app": theirs})])

    async def _crew(self, number: int) -> None:
        """Create pods that have to share a zone, and delete all of them some time later."""
        mine = f"crew-{number}"
        there = self._of(mine)
        if there:
            if self.creating and all(each["spec"].get("nodeName") for each in there):
                await asyncio.gather(*(self._delete(each) for each in there))
        elif self.creating:
            near = [term(ZONE, {"app": mine})]
            await asyncio.gather(*(self._pod(mine, "jobs", near=near) for _ in range(CREW)))

    # Pods that others have to give way to

    async def _less_important(self, number: int) -> None:
        low, high = f"low-{number}", f"high-{number}"
        if self.creating and len(self._of(low)) <= ROOM_NODES:
            apart = [term(HOSTNAME, {"app": low}), term(HOSTNAME, {"app": high})]
            grace = self._random.choice((0, 0, 30))
            await self._pod(low, f"room-{number}", rank=(LOW, grace), apart=apart)

    async def _important(self, number: int) -> None:
        """Create some at once, when the earlier ones are gone and no node or one is free."""
        low, high = f"low-{number}", f"high-{number}"
        await self._end_some(high, 0.1, 0.5)
        full = sum(1 for each in self._of(low) if each["spec"].get("nodeName"))
        if self.creating and full >= ROOM_NODES - 1 and not self._of(high):
            apart = [term(HOSTNAME, {"app": low}), term(HOSTNAME, {"app": high})]
            for _ in range(self._random.randint(1, ROOM_NODES)):
                await self._pod(high, f"room-{number}", rank=(HIGH, 0), apart=apart)

    # Pods whose nodes are relabelled

    async def _movers(self, name: str, relabel: Callable[[str], Awaitable[None]]) -> None:
        """Break the rule of a pod each time the last move is over."""
        settled, known = monotonic(), set[str]()
        while True:
            await asyncio.sleep(self._random.uniform(0.5, 1.5))
            there = {e["metadata"]["uid"]: e for e in self._of(name)}
            steady = len(there) == 2 and all(map(_is_running, there.values()))
            if not steady or there.keys() != known:
                settled, known = monotonic(), set(there)
            elif self.creating and monotonic() > settled + _REST_S:
                where = str(self._random.choice([*there.values()])["spec"]["nodeName"])
                await relabel(f"{name} {where}")
                # If it does not move, it is paused, or this was undone in time.
                settled = monotonic() + self._random.uniform(0, 5)

    async def _unlabel(self, who: str) -> None:
        """Take a label from the node of a pod, and give it to others."""
        name, where = who.split()
        key = _label_of(name)
        others = [each for each in _move_nodes() if each != where]
        for each in self._random.sample(others, 4):
            await self._label(each, **{key: "yes"})
        await self._label(where, **{key: None})
        if self._random.random() < 0.2:  # in time, so that no pod has to move
            await asyncio.sleep(self._random.uniform(0, GRACE_S / 3))
            await self._label(where, **{key: "yes"})

    async def _change_rack(self, who: str) -> None:
        """Take the node of a pod out of its rack for a while."""
        where = who.split()[1]
        rack = self._store.nodes[where]["metadata"]["labels"][RACK]
        if rack == "none" or where in _anchored():
            return
        await self._label(where, **{RACK: "none"})
        await asyncio.sleep(self._random.choice((0.5, 12.0, 20.0)))
        await self._label(where, **{RACK: rack})

    # Kubelets

    async def _kubelets(self) -> None:
        now = monotonic()
        for uid, each in [*self._store.pods.items()]:
            if not each["spec"].get("nodeName") or now < self._until.get(f"kubelet {uid}", 0.0):
                continue
            if each["metadata"].get("deletionTimestamp"):
                wait = self._random.uniform(0.2, 1.5)
                self._until[f"kubelet {uid}"] = now + wait + 5
                asyncio.get_running_loop().call_later(wait, self._soon, self._remove(each))
            elif each["metadata"]["labels"].get(READY) and not _is_running(each):
                self._until[f"kubelet {uid}"] = now + 2
                self._soon(self._run(each))
        for key in [key for key, until in self._until.items() if until < now - 60]:
            del self._until[key]

    async def _run(self, each: JSON) -> None:
        status = {"metadata": {"uid": each["metadata"]["uid"]}, "status": RUNNING}
        await self._insist(lambda: self._api.patch(f"{pod_path(each)}/status", status))

    async def _remove(self, each: JSON) -> None:
        options = {
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": each["metadata"]["uid"]},
        }
        await self._insist(lambda: self._api.request("DELETE", pod_path(each), options))

    # What users have in common

    def _of(self, app: str) -> list[JSON]:
        return [
            each
            for each in self._store.pods.values()
            if each["metadata"]["labels"].get("app") == app
            and not each["metadata"].get("deletionTimestamp")
        ]

    async def _end_some(self, app: str, least: float, most: float) -> None:
        """Delete pods some time after they were bound."""
        now = monotonic()
        for each in self._of(app):
            uid = each["metadata"]["uid"]
            if not self.creating or not each["spec"].get("nodeName"):
                continue
            until = self._until.setdefault(uid, now + self._random.uniform(least, most))
            if until <= now:
                await self._delete(each)

    async def _pod(
        self,
        app: str,
        pool: str,
        rank: tuple[tuple[str, int], int] | None = None,
        **affinity: Any,
    ) -> None:
        self._numbers += 1
        made = pod(f"{app}-{self._numbers:06}", labels={"app": app}, **affinity)
        if rank:
            made = ranked(made, *rank)
        made["spec"].setdefault("terminationGracePeriodSeconds", 0)
        made["spec"]["nodeSelector"] = {POOL: pool}
        await self._create(pods_path(made), made)
        await self._store.shown(made["metadata"]["name"], _SHOWN_S)

    async def _delete(self, each: JSON) -> None:
        self._judge.deletes(each["metadata"]["uid"])
        await self._remove(each)

    async def _label(self, name: str, **labels: str | None) -> None:
        change = {"metadata": {"labels": labels}}
        await self._insist(lambda: self._api.patch(f"/api/v1/nodes/{name}", change))

    async def _create(self, path: str, thing: JSON) -> None:
        await self._insist(lambda: self._api.create(path, thing))

    async def _insist(self, request: Callable[[], Awaitable[object]]) -> None:
        """Make a request until it is done, or somebody else has done it."""
        while True:
            try:
                await request()
            except ApiError as error:
                if error.status in _SETTLED:
                    return
                if error.status in _UNWANTED:
                    raise
            except (aiohttp.ClientError, OSError, TimeoutError):
                pass
            else:
                return
            await asyncio.sleep(_RETRY_S)

    def _soon(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)


def _nodes() -> Iterator[JSON]:
    for number in range(JOB_NODES):
        yield _node(f"job-{number:02}", number, "jobs")
    for number in range(ROOMS * ROOM_NODES):
        yield _node(f"room-{number:02}", number, f"room-{number // ROOM_NODES}")
    for number, name in enumerate(_move_nodes()):
        allowed = {
            _label_of(f"mover-{mover:02}"): "yes"
            for mover in range(MOVERS)
            if (number + mover) % 4 == 0
        }
        rack = "a" if number < MOVE_NODES // 2 else "b"
        yield _node(name, number, "move", allowed | {RACK: rack})


def _node(name: str, number: int, pool: str, labels: dict[str, str] | None = None) -> JSON:
    made = node(name, f"z{number % ZONES}")
    made["metadata"]["labels"] |= {POOL: pool} | (labels or {})
    return made


def _move_nodes() -> list[str]:
    return [f"move-{number:02}" for number in range(MOVE_NODES)]


def _anchored() -> set[str]:
    return {f"move-{number:02}" for number in (0, MOVE_NODES // 2)}


def _label_of(name: str) -> str:
    return f"example.com/for-{name}"


def _mover(name: str, number: int) -> JSON:
    """Return a ReplicaSet in a namespace of its own, whose pods follow labels of nodes."""
    expression = {"key": _label_of(name), "operator": "In", "values": ["yes"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    near = term(RACK, {"app": "anchor"}, namespaces=["default"])
    affinity = (
        {"nodeAffinity": {_REQUIRED: terms}}
        if number < MOVERS
        else {"podAffinity": {_REQUIRED: [near]}}
    )
    made = replica_set(name, affinity, replicas=2, nodeSelector={POOL: "move"})
    made["metadata"]["namespace"] = name
    made["spec"]["template"]["metadata"]["labels"] = {"app": name, READY: "yes"}
    return made


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _is_running(each: JSON) -> bool:
    return bool((each.get("status") or {}).get("phase") == "Running")
