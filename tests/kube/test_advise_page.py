"""Every command in docs/advise.md is run, on a live cluster and on a dump of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp import web

from tests.builders import HOST, namespace, node, pod, selector, term, workload
from tests.kube.fake_api import answering
from tests.kube.live import PATHS, made_current
from tests.kube.rig import Rig
from tests.pages import Page, assert_as_on_the_dump, write_dump

PAGE = Page("docs/advise.md")
LIVE, DUMPED = "affinity-extender advise", "affinity-extender advise --cluster dump.json"
WEB = pod("web-0").labels(app="web").anti_affinity(term(HOST, selector(app="web")))
OBJECTS = [
    node("n1", {HOST: "n1"}),
    namespace("default"),
    workload("Deployment", "web", WEB, replicas=1),
    WEB.owned_by("ReplicaSet/web-5d").labels({"pod-template-hash": "5d"}).on("n1"),
]


def test_no_command_is_left_out() -> None:
    assert PAGE.asked == [LIVE, "affinity-extender dump -o dump.json", DUMPED]


async def test_a_live_cluster_is_listed_once_and_is_advised_as_a_dump_of_it(
    rig: Rig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_dump(tmp_path, OBJECTS)
    made_current(rig, OBJECTS, tmp_path, monkeypatch)
    version = {"major": "1", "minor": "37", "gitVersion": "v1.37.2"}
    rig.api.collection("/version").lists.append(answering(lambda: web.json_response(version)))

    told = await assert_as_on_the_dump(LIVE, 0, capsys)
    assert told.startswith("1 of 1 pod on 1 node ")
    asked = [seen.path for seen in rig.api.seen if seen.path in PATHS.values()]
    assert len(asked) == len(set(asked))
