"""What goes wrong in the simulation, and what finds it there, each by itself."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from typing import Any

import msgspec
import pytest

from extender.core.controllers.history import MOST, History
from extender.core.model.lru_cache import CountedCache, LruCache
from simulation.annotating_plan import ANNOTATING_USERS
from simulation.apiserver.server import ApiServer
from simulation.apiserver.store import RESTORE, Change, Json, Store
from simulation.apiserver.watches import Watch
from simulation.evicting_plan import EVICTING_FAULTS, EVICTING_USERS
from simulation.invariants.broken import BrokenError
from simulation.invariants.preemptions import Known
from simulation.invariants.registries import check_registries
from simulation.loop import simulate, spawn
from simulation.plan import make_plan
from simulation.repairing_plan import REPAIRING_USERS
from simulation.scaling_plan import SCALING_USERS
from simulation.scheduler.cache import Cache
from simulation.scheduler.objects import PodInfo, pod_info
from simulation.setbacks_plan import BESIDE
from simulation.templates import namespace, node, pod, template
from simulation.themes import FAULTS, RESTORE_ETCD, USERS
from simulation.trace import Trace


def servers(count: int) -> tuple[Store, ApiServer]:
    store = Store()
    loop = asyncio.get_running_loop()
    return store, ApiServer(store, Random(1), Trace(loop.time), servers=count)


class Heard:
    """What a watch is told."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def say(self, line: bytes | None) -> int:
        if line is not None:
            event: Any = msgspec.json.decode(line)
            self.names.append(event["object"]["metadata"]["name"])
        return 0


def test_a_server_that_lags_goes_on_answering_as_of_then() -> None:
    async def play() -> None:
        store, front = servers(2)
        late, other = front.caches
        late.stand_still(10.0)
        store.create("namespaces", namespace("a", "blue"), "users")
        await asyncio.sleep(5.0)
        assert [len(each.all("namespaces")) for each in (late, other)] == [0, 1]
        assert 4.0 < front.behind <= 5.0
        assert not await late.reach(store.version), "a request for it is turned away"
        await asyncio.sleep(5.0)
        assert [len(each.all("namespaces")) for each in (late, other)] == [1, 1]
        assert front.behind == 0.0

    simulate(play())


def test_a_server_that_is_restarted_twice_comes_back_once() -> None:
    async def play() -> None:
        store, front = servers(1)
        front.restart(5.0)
        await asyncio.sleep(2.0)
        front.restart(10.0)
        await asyncio.sleep(4.0)
        was_down = front.troubles.down
        await asyncio.sleep(6.5)
        assert (was_down, front.troubles.down) == (True, False)
        heard = Heard()
        front.caches[0].open(Watch("namespaces", False, heard.say), store.version)  # noqa: FBT003
        store.create("namespaces", namespace("a", "blue"), "users")
        await asyncio.sleep(5.0)
        assert heard.names == ["a"], "nothing is refilled under a watch that is open"

    simulate(play())


@pytest.mark.parametrize(
    ("bumped", "told"),
    [
        pytest.param(False, {"b": 1002, "c": 1003}, id="used again"),
        pytest.param(True, {"b": 1002, "c": 1007}, id="raised"),
    ],
)
def test_a_restore_takes_versions_back_and_tells_what_differs_in_order(
    bumped: bool, told: dict[str, int]
) -> None:
    async def play() -> None:
        store, front = servers(1)
        seen: list[Change] = []
        store.observers.append(seen.append)
        for name in ("a", "b"):
            store.create("namespaces", namespace(name, "blue"), "users")
        backup = store.back_up()
        store.remove("namespaces", "b", "users")
        store.create("namespaces", namespace("lost", "blue"), "users")

        under_way = [
            spawn(front.commit(lambda: store.remove("namespaces", "a", "users"), later), "users")
            for later in (0.0, 3.4)
        ]
        await asyncio.sleep(0)
        front.restore(3.0, lambda: store.restore(backup, bumped=bumped))
        await asyncio.sleep(3.5)
        assert all(each.cancelled() for each in under_way), "they are never carried out"

        restored = [each for each in seen if each.by == RESTORE]
        assert [(each.key, each.new is None) for each in restored] == [("b", False), ("lost", True)]
        assert sorted(each.version for each in seen) == [each.version for each in seen]
        made = store.create("namespaces", namespace("c", "blue"), "users")
        objects = [store.get("namespaces", "b"), made]
        assert {each["metadata"]["name"]: version_of(each) for each in objects} == told
        heard = Heard()
        ahead = store.version + 2
        front.caches[0].open(Watch("namespaces", False, heard.say), ahead)  # noqa: FBT003
        for name in ("d", "e", "f"):
            store.create("namespaces", namespace(name, "blue"), "users")
        await asyncio.sleep(1.0)
        assert heard.names == ["f"], "silent up to the version that it was opened from"

    simulate(play())


def version_of(obj: Json) -> int:
    return int(obj["metadata"]["resourceVersion"])


def test_events_are_repeated_now_and_when_a_watch_is_opened() -> None:
    async def play() -> None:
        store, front = servers(1)
        cache, heard = front.caches[0], Heard()
        cache.repeats = 1.0
        cache.open(Watch("namespaces", False, heard.say), store.version)  # noqa: FBT003
        for name in ("a", "b"):
            store.create("namespaces", namespace(name, "blue"), "users")
        await asyncio.sleep(1.0)
        assert heard.names == ["a", "a", "b", "b"]
        again: Counter[str] = Counter()
        for _ in range(20):
            later = Heard()
            cache.open(Watch("namespaces", False, later.say), store.version)  # noqa: FBT003
            again.update(later.names)
        assert set(again) == {"a", "b"}

    simulate(play())


class Program:
    """Holds something."""

    def __init__(self, held: object) -> None:
        self.held = held


def test_what_a_process_holds_is_found_wherever_it_is() -> None:
    def hold(held: list[int]) -> object:
        return Program({"a callback": lambda: held})

    check_registries([hold([*range(200)])], 10)
    with pytest.raises(BrokenError, match="1000 entries in a list"):
        check_registries([hold([*range(1_000)])], 10)


def test_bytes_are_counted_however_few_there_are_of_them() -> None:
    with pytest.raises(BrokenError, match="bytes in all"):
        check_registries([Program(bytes(10 << 20))], 10)
    cache: LruCache[str, bytes] = LruCache(100 << 20)
    cache.put("large", bytes(10 << 20), 10 << 20)
    check_registries([Program(cache)], 10)


def test_a_cache_that_says_less_than_it_holds_is_found() -> None:
    cache: LruCache[str, bytes] = LruCache(1 << 20)
    cache.put("a", b"", 100)
    cache.size = 0
    with pytest.raises(BrokenError, match="a cache of"):
        check_registries([cache], 10)


def test_a_cache_with_more_entries_than_it_may_have_is_found() -> None:
    cache: CountedCache[str, bytes] = CountedCache(1_000)
    for number in range(1_000):
        cache.put(str(number), b"")
    check_registries([cache], 10)
    cache._most = 999
    with pytest.raises(BrokenError, match="a cache of 999 entries has 1000"):
        check_registries([cache], 10)


def test_the_history_of_the_last_hour_may_hold_what_it_says_and_no_more() -> None:
    kept = History()
    for number in range(MOST):
        kept.note("hint", "set", f"default/web-{number}")
    check_registries([Program(kept)], 10)
    kept._entries.append(kept._entries[0])
    with pytest.raises(BrokenError, match=f"{MOST + 1} entries"):
        check_registries([Program(kept)], 10)


def test_everything_that_can_happen_happens_in_some_plan() -> None:
    happens = {action.what for seed in range(200) for action in make_plan(seed).actions}
    users = {
        *USERS,
        *EVICTING_USERS,
        *REPAIRING_USERS,
        *SCALING_USERS,
        *ANNOTATING_USERS,
        *BESIDE,
        "new disks",
        "gang wave",
        "hidden places",
    }
    assert happens == users | {*FAULTS, *EVICTING_FAULTS, RESTORE_ETCD}


def _scheduled(name: str, port: int, priority: int = 0, **status: str) -> PodInfo:
    made_of = template("plain", name, "", priority) | {"port": port}
    made = pod(name, "default", made_of, owner="", scheduler="", milli=10)
    metadata = {**made["metadata"], "uid": name}
    return pod_info({**made, "metadata": metadata, "status": status})


def test_a_port_of_a_host_is_free_when_who_has_it_goes() -> None:
    cache = Cache()
    cache.set_node(node("n1", "z1", 4))
    there, important = _scheduled("there", 80), _scheduled("comes", 80, 10)
    cache.place(there, "n1")
    only = cache.nodes["n1"]
    assert not cache.fits(important, only)
    assert cache.fits(_scheduled("elsewhere", 81), only)
    assert cache.fits(important, only, [there])
    promised = _scheduled("nominated", 80, 20, nominatedNodeName="n1")
    cache.nominated["nominated"] = promised
    assert not cache.fits(important, only, [there]), "a more important pod is to have it"


def test_an_extender_may_delete_whom_a_scheduler_has_marked_since() -> None:
    known = Known({})
    for at, said in ((1.0, "ours: (uid u1)"), (5.0, "theirs: a pod")):
        marked = {"type": "DisruptionTarget", "status": "True", "message": said}
        known.note_mark({"status": {"conditions": [marked]}}, at)
    assert known.preemptor_since(4.0) == "u1"
    assert known.preemptor_since(6.0) is None
