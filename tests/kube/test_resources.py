"""From the API server into the real cluster state, counters included."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from extender.core.cluster.state import ClusterState
from extender.core.kube.frames import read_object
from extender.core.kube.watchers import Watchers, build_reflectors
from extender.core.logs import CHANGES, PRODUCTION
from extender.core.model.disruption import mark_message
from extender.core.reading import APART_BYTES
from extender.core.resources import RESOURCES, VITAL, WatchedResource
from extender.core.wire import decoding
from extender.core.wire.objects import PodReader
from simulation.invariants.recount import live, mismatches
from tests.kube.fake_api import CLOSE, Json
from tests.kube.rig import Rig

PODS, NODES, NAMESPACES = "/api/v1/pods", "/api/v1/nodes", "/api/v1/namespaces"


def pod(name: str, node: str | None, *, uid: str = "", phase: str = "Running", **spec: Any) -> Json:
    """Build a Pod of namespace shop, labelled with its name."""
    return {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": uid or f"uid-of-{name}",
            "labels": {"app": name},
        },
        "spec": {"nodeName": node, **spec} if node else spec,
        "status": {"phase": phase},
    }


def node(name: str, zone: str) -> Json:
    """Build a Node in a zone."""
    return {"metadata": {"name": name, "uid": f"uid-of-{name}", "labels": {"zone": zone}}}


def away_from(app: str) -> Json:
    """Build the affinity of a pod that wants no zone with `app`."""
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def placed(state: ClusterState) -> dict[str, str | None]:
    """Return the node of each pod, by name."""
    return {key.partition("/")[2]: each.node for key, each in state.pods.items()}


class Cluster:
    """The three collections, and the state that mirrors them."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.pods = rig.api.collection(PODS)
        self.nodes = rig.api.collection(NODES)
        self.namespaces = rig.api.collection(NAMESPACES)
        self.state = ClusterState()

    @contextlib.asynccontextmanager
    async def mirrored(self) -> AsyncIterator[ClusterState]:
        """Run the reflectors, from the moment all are synced and watching."""
        async with self.rig.client() as client:
            reflectors = build_reflectors(
                client,
                self.state,
                [each for each in RESOURCES if each.name in VITAL],
                PodReader(),
                self.rig.settings,
            )
            async with Watchers(reflectors) as watchers:
                await watchers.wait_synced()
                everything = (self.pods, self.nodes, self.namespaces)
                await self.rig.pulse.until(lambda: all(each.open for each in everything))
                yield self.state

    async def until_pods(self, **nodes: str | None) -> None:
        """Wait until exactly these pods are known on these nodes."""
        await self.rig.pulse.until(lambda: placed(self.state) == nodes)

    def miss(self) -> None:
        """Keep what happens next to pods from the watch, until `catch_up`."""
        self.pods.muted = True

    def catch_up(self) -> None:
        """End the watch that missed things, with its version too old to go on from."""
        self.pods.compact()
        self.pods.muted = False
        self.pods.send(CLOSE)


@pytest.fixture
def cluster(rig: Rig) -> Cluster:
    """Return two nodes and a namespace."""
    made = Cluster(rig)
    made.nodes.put(node("n1", "east"))
    made.nodes.put(node("n2", "west"))
    made.namespaces.put({"metadata": {"name": "shop", "labels": {"team": "a"}}})
    return made


async def test_first_list_fills_the_state(cluster: Cluster) -> None:
    cluster.pods.put(pod("web", "n1"))
    cluster.pods.put(pod("waiting", None))
    async with cluster.mirrored() as state:
        assert placed(state) == {"web": "n1", "waiting": None}
        assert set(state.nodes) == {"n1", "n2"}
        assert state.nodes.labels("n1") == {"zone": "east"}
        assert state.namespaces == {"shop": {"team": "a"}}


async def test_each_change_is_logged_at_its_level(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    async with cluster.mirrored():
        caplog.set_level(CHANGES)
        cluster.pods.put(pod("web", "n1"))
        await cluster.until_pods(web="n1")
        cluster.pods.delete("shop/web")
        await cluster.until_pods()
        caplog.set_level(PRODUCTION)
        cluster.pods.put(pod("web", "n1"))
        await cluster.until_pods(web="n1")
    lines = [record.getMessage() for record in caplog.records if record.levelno == CHANGES]
    assert lines == ["pods: ADDED shop/web", "pods: DELETED shop/web"]


async def test_a_restored_etcd_takes_deletions_and_marks_of_victims_back(cluster: Cluster) -> None:
    cluster.pods.put(pod("web", "n1"))
    async with cluster.mirrored() as state:
        mark = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        mark["message"] = mark_message("default-scheduler", "vip")
        going = pod("web", "n1") | {"status": {"conditions": [mark]}}
        going["metadata"] |= {"deletionTimestamp": "2026-11-29T12:00:00Z"}
        cluster.pods.put(going)
        await cluster.rig.pulse.until(lambda: bool(state.victims_of("vip")))
        cluster.miss()
        cluster.pods.put(pod("web", "n1"))
        cluster.catch_up()
        await cluster.rig.pulse.until(lambda: not state.terminating_pods)
        assert state.victims_of("vip") == ()


async def test_terminal_pods_are_not_even_asked_for(cluster: Cluster) -> None:
    async with cluster.mirrored():
        pass
    for seen in (cluster.pods.listed[0], cluster.pods.watched[0]):
        assert seen.params["fieldSelector"] == "status.phase!=Succeeded,status.phase!=Failed"


async def test_pod_is_bound_moved_and_deleted(cluster: Cluster) -> None:
    cluster.pods.put(pod("web", None))
    async with cluster.mirrored():
        cluster.pods.put(pod("web", "n1"))
        await cluster.until_pods(web="n1")
        cluster.pods.delete("shop/web")
        await cluster.until_pods()


@pytest.mark.parametrize(
    "phase", [pytest.param("Succeeded", id="it succeeds"), pytest.param("Failed", id="it fails")]
)
async def test_pod_goes_when(cluster: Cluster, phase: str) -> None:
    cluster.pods.put(pod("job", "n1"))
    async with cluster.mirrored():
        cluster.pods.put(pod("job", "n1", phase=phase))
        await cluster.until_pods()


async def test_pod_that_leaves_the_selector_goes_with_its_last_state(cluster: Cluster) -> None:
    cluster.pods.put(pod("job", "n1"))
    async with cluster.mirrored():
        # What the API server sends when a pod turns terminal: DELETED, with the new object.
        cluster.pods.objects["shop/job"] = pod("job", "n1", phase="Succeeded")
        cluster.pods.delete("shop/job")
        await cluster.until_pods()


async def test_successor_of_the_same_name_survives_the_late_end_of_the_first(
    cluster: Cluster,
) -> None:
    cluster.pods.put(pod("db-0", "n1", uid="first"))
    async with cluster.mirrored() as state:
        cluster.pods.put(pod("db-0", "n2", uid="second"))
        cluster.pods.objects["shop/db-0"] = pod("db-0", "n1", uid="first")
        cluster.pods.delete("shop/db-0")
        cluster.pods.put(pod("last", "n1"))
        await cluster.until_pods(**{"db-0": "n2", "last": "n1"})
        assert state.pods["shop/db-0"].uid == "second"


async def test_everything_missed_is_made_good_by_a_list(cluster: Cluster) -> None:
    for name in ("kept", "gone", "moved", "job"):
        cluster.pods.put(pod(name, "n1"))
    async with cluster.mirrored():
        cluster.miss()
        cluster.pods.delete("shop/gone")
        cluster.pods.delete("shop/moved")
        cluster.pods.put(pod("moved", "n2", uid="another"))
        cluster.pods.put(pod("job", "n1", phase="Succeeded"))
        cluster.pods.put(pod("new", "n2"))
        cluster.catch_up()
        await cluster.until_pods(kept="n1", moved="n2", new="n2")
    assert cluster.rig.observer.relists == {"expired": 1}


async def test_counters_equal_a_recount_after_all_that(cluster: Cluster) -> None:
    cluster.pods.put(pod("web", "n1", affinity=away_from("db")))
    cluster.pods.put(pod("db", "n2", affinity=away_from("web")))
    async with cluster.mirrored() as state:
        assert len(live(state)) == 2
        cluster.miss()
        cluster.pods.delete("shop/db")
        cluster.pods.put(pod("db", "n1", uid="another", affinity=away_from("cache")))
        cluster.pods.put(pod("web", "n1", phase="Failed", affinity=away_from("db")))
        cluster.catch_up()
        await cluster.until_pods(db="n1")
        cluster.nodes.put(node("n1", "north"))
        await cluster.rig.pulse.until(lambda: state.nodes.labels("n1") == {"zone": "north"})
        assert list(live(state).values()) == [{"north": 1}]
        assert mismatches(state) == []


async def test_pod_that_cannot_be_read_stays_as_it_was(cluster: Cluster) -> None:
    cluster.pods.put(pod("web", "n1"))
    broken = away_from("web")
    broken["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0].pop(
        "topologyKey"
    )
    async with cluster.mirrored():
        cluster.pods.put(pod("web", "n2", affinity=broken))
        cluster.pods.put(pod("next", "n2"))
        await cluster.until_pods(web="n1", next="n2")
        cluster.miss()
        cluster.pods.delete("shop/next")
        cluster.catch_up()
        await cluster.until_pods(web="n1")
    assert cluster.rig.observer.skips == {"unreadable": 2}


async def test_nodes_and_namespaces_come_change_and_go(cluster: Cluster) -> None:
    async with cluster.mirrored() as state:
        cluster.nodes.put(node("n1", "north"))
        cluster.nodes.delete("n2")
        cluster.nodes.put(node("n3", "south"))
        cluster.namespaces.put({"metadata": {"name": "shop", "labels": {"team": "b"}}})
        cluster.namespaces.put({"metadata": {"name": "new"}})
        await cluster.rig.pulse.until(
            lambda: set(state.nodes) == {"n1", "n3"} and "new" in state.namespaces
        )
        assert state.nodes.labels("n1") == {"zone": "north"}
        assert state.namespaces == {"shop": {"team": "b"}, "new": {}}
        cluster.namespaces.delete("new")
        await cluster.rig.pulse.until(lambda: set(state.namespaces) == {"shop"})


async def test_nodes_and_namespaces_that_went_unseen_go_with_the_next_list(
    cluster: Cluster,
) -> None:
    async with cluster.mirrored() as state:
        for missed, key in ((cluster.nodes, "n2"), (cluster.namespaces, "shop")):
            missed.muted = True
            missed.delete(key)
            missed.compact()
            missed.send(CLOSE)
        await cluster.rig.pulse.until(lambda: set(state.nodes) == {"n1"} and not state.namespaces)


@pytest.mark.parametrize("mirrored", [pytest.param(each, id=each.name) for each in RESOURCES])
async def test_large_objects_of_every_kind_are_read_in_a_thread(
    rig: Rig, mirrored: WatchedResource[Any]
) -> None:
    threads: list[int] = []

    def noting(pods: PodReader) -> Callable[[decoding.Json], Any]:
        read = mirrored.reader(pods)

        def noted(raw: decoding.Json) -> Any:
            threads.append(threading.get_ident())
            return read(raw)

        return noted

    async with rig.client() as client:
        (reflector,) = build_reflectors(
            client, ClusterState(), [replace(mirrored, reader=noting)], PodReader()
        )
        usual = msgspec.Raw(b'{"metadata":{"name":"usual"}}')
        await read_object(reflector.resource, usual)
        large = msgspec.Raw(bytes(usual).ljust(APART_BYTES + 1))
        await read_object(reflector.resource, large)
    here, apart = threads
    assert here == threading.get_ident()
    assert apart != threading.get_ident()
