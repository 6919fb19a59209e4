"""explain --watch: what is told of a pod until it has a node."""

from __future__ import annotations

import asyncio
import json
import re
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from affinityctl import cli
from affinityctl.commands.explain.watching import FIRST, LAST, Looked, changes, until_changed, watch
from affinityctl.commands.simulate.applied import SimulationReader
from affinityctl.commands.simulate.whatif.outcome import explain
from affinityctl.reading.chosen_pods import POD
from affinityctl.scheduler.volumes.resources import VOLUME_RESOURCES
from extender.core.cluster.state import ClusterState
from extender.core.errors import ConfigError, UnreadableError
from extender.core.model.keys import Key
from extender.diagnosis.verbs.notes import notes
from tests.builders import HOST, Pod, model_node, node, pod, term
from tests.commands.explain.cluster import NODES, WEB
from tests.kube.fake_api import answering, failure
from tests.kube.live import pointing_to
from tests.kube.rig import Rig

NEW = pod("new").anti_affinity(term(HOST, WEB)).requests(cpu="1")
FULL = [pod(f"web-{each}").labels(app="web").on(each) for each in ("a1", "a2", "b1")]
GONE = ConfigError(POD, "no pod new waits or runs in namespace default")
AWAY = UnreadableError("https://api:6443: 503 Service Unavailable")


def looked(*others: Pod, new: Pod = NEW) -> Looked:
    state, reader = ClusterState(), SimulationReader()
    for each in NODES:
        state.upsert_node(model_node(each))
    for raw in (*others, new):
        state.upsert_pod(reader.read(json.dumps(raw).encode()))
    found = explain(state, state.pods["default/new"])
    return found, notes(state, found)


def watched(*looks: Looked | Exception) -> int:
    """Watch until the user has had enough after the last look; return the exit code."""
    left = iter(looks)

    def look() -> Looked:
        now = next(left)
        if isinstance(now, Exception):
            raise now
        return now

    def wait(of: Key) -> None:
        assert of == "default/new"
        nonlocal looks
        waits.append(of)
        if len(waits) == len(looks):
            raise KeyboardInterrupt

    waits: list[Key] = []
    return watch(look, lambda now: f"page of {now[0].pod.key}", wait)


def said(capsys: pytest.CaptureFixture[str]) -> tuple[list[str], list[str]]:
    """Return the lines on standard output and on standard error, without the time."""
    captured = capsys.readouterr()
    without = (re.sub(r"\b\d\d:\d\d:\d\d ", "", each) for each in captured)
    out, err = (each.replace("\n  ", " ").splitlines() for each in without)
    return out, err


@pytest.mark.parametrize(
    ("looks", "code"),
    [
        pytest.param((looked(*FULL),), 1, id="refused when it ends"),
        pytest.param((looked(),), 4, id="it fits, and has no node yet"),
        pytest.param((looked(*FULL), looked(*FULL, new=NEW.on("a1"))), 0, id="it has its node"),
        pytest.param((looked(*FULL), GONE), 1, id="it is gone"),
    ],
)
def test_how_it_ends(looks: tuple[Looked | Exception, ...], code: int) -> None:
    assert watched(*looks) == code


@pytest.mark.parametrize("error", [GONE, AWAY], ids=["a pod", "a server"])
def test_what_was_never_there_ends_it(error: ConfigError) -> None:
    with pytest.raises(type(error)):
        watched(error)


def test_what_changes_is_told_and_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    same = looked(*FULL)
    watched(same, looked(*FULL), looked(*FULL[1:]), looked(new=NEW.on("b1")))
    out, _ = said(capsys)
    assert out == [
        "page of default/new",
        "default/new fits on 1 of 3 nodes",
        (
            "2 of 3 nodes: your anti-affinity on hostname, blocked by default/web-a2, "
            "default/web-b1 on a2, b1; 1 fit"
        ),
        "no more in the way: default/web-a1",
        "default/new fits on 3 of 3 nodes",
        "3 of 3 nodes fit",
        "no more in the way: default/web-a2, default/web-b1",
        "Note: the pod is on b1 already; this is what would be said if it were placed now",
        "default/new has node b1",
    ]


def test_trouble_is_said_once_and_does_not_end_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert watched(looked(*FULL), AWAY, AWAY, looked(*FULL), AWAY, looked(*FULL)) == 1
    out, err = said(capsys)
    assert out == ["page of default/new"]
    assert err == [f"affinity-extender: not seen: {AWAY}"] * 2


def test_blockers_that_come_are_named() -> None:
    before, now = looked(*FULL[1:]), looked(*FULL)
    assert "now in the way: default/web-a1" in list(changes(before, now))
    assert list(changes(now, looked(*FULL))) == []


@pytest.fixture
def live(rig: Rig, tmp_path: Path) -> Path:
    """Serve a cluster; return its kubeconfig."""
    for name in ("namespaces", "nodes", "pods", "resourcequotas"):
        rig.api.collection(f"/api/v1/{name}")
    for each in VOLUME_RESOURCES:
        rig.api.collection(each.path)
    rig.api.collection("/api/v1/nodes").put(node("n", {HOST: "n"}))
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(pointing_to(str(rig.api.url))))
    return path


async def test_a_pod_that_has_its_node_ends_it(
    live: Path, rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    rig.api.collection("/api/v1/pods").put(pod("p").on("n"))
    arguments = ["explain", "p", "--watch", "--kubeconfig", str(live)]
    assert await asyncio.to_thread(cli.main, arguments) == 0
    assert said(capsys)[0][-1] == "default/p has node n"


def seen(version: str) -> Callable[[], web.Response]:
    if version == "gone":
        return lambda: failure(404, "NotFound", "no")
    if version == "a proxy's page":
        return lambda: web.Response(text="<html>Log in</html>", content_type="text/html")
    if version == "another kind":
        return lambda: web.json_response({"kind": "Status", "metadata": None})
    made = {"kind": "Pod", "metadata": {"resourceVersion": version}}
    return lambda: web.json_response(made)


@pytest.mark.parametrize(
    ("versions", "asked"),
    [
        pytest.param(["1"] * LAST, LAST, id="not changed"),
        pytest.param(["1", "1", "1", "1", "1", "2"], 6, id="changed"),
        pytest.param(["1", "2", "2", "2"], FIRST + 1, id="changed soon"),
        pytest.param(["1", "gone"], 2, id="gone"),
        pytest.param(["1", "a proxy's page"], 2, id="a proxy answers"),
        pytest.param(["1", "another kind"], 2, id="no pod"),
    ],
)
async def test_the_pod_alone_is_asked_for_in_between(
    versions: list[str], asked: int, live: Path, rig: Rig
) -> None:
    path = "/api/v1/namespaces/default/pods/p"
    rig.api.collection(path).lists.extend(answering(seen(each)) for each in versions)
    flags = Namespace(kubeconfig=str(live), context=None, as_user=None, as_group=[])
    await asyncio.to_thread(until_changed, flags, Key("default/p"), 0.0)
    assert len([each for each in rig.api.seen if each.path == path]) == asked


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("p --cluster dump.json", "has no use beside a file"),
        ("-f pod.yaml", "has no use beside a file"),
        ("p q", "name one pod"),
        ("-A", "name one pod"),
        ("p -o json", "name one pod, and no -o but wide"),
    ],
)
def test_wrong_use(line: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "--watch", *line.split()]) == 2
    assert why in capsys.readouterr().err
