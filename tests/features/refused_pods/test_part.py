"""What the program gets where the feature is on, without an API server and with one."""

from __future__ import annotations

from typing import Any

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.config.document import decode
from extender.core.config.schema import API_VERSION, KIND
from extender.core.controllers.history import History
from extender.core.kube.client import ApiClient
from extender.core.kube.reader import ObjectReader
from extender.core.metrics import Metrics
from extender.core.parts import Context, build_parts
from extender.core.source import ApiServer, Source, StillPicture, pod_reader
from extender.core.verbs.plugins import Refused
from extender.core.warm_up import WarmUp
from extender.features.refused_pods.hints import HintController, HintLimits
from extender.features.refused_pods.part import HINTS, PREEMPTIONS, Helping
from extender.features.refused_pods.preemption import PreemptionController
from tests.builders import model_pod, pod
from tests.important_pods import HIGH, LOW
from tests.kube.rig import credentials_for

FILES = Source("files", StillPicture({}, {}))
METRICS = {"affinity_extender_hints_total", "affinity_extender_preemptions_total"}


def context(source: Source, **fields: Any) -> Context:
    """Build what all parts share."""
    config = decode({"apiVersion": API_VERSION, "kind": KIND, "mode": "replace", **fields})
    state, metrics = ClusterState(), Metrics()
    return Context(config, source, state, metrics, lambda: None, WarmUp(state, metrics), History())


def built(shared: Context) -> Helping:
    """Build it beside the features that are always on."""
    (part,) = (each for each in build_parts(shared) if isinstance(each, Helping))
    return part


@pytest.mark.parametrize(
    "fields",
    [
        {"mode": "assist"},
        {"mode": "shadow"},
        {"hints": {"enabled": False}, "preemption": {"enabled": False}},
        {"hints": {"enabled": False}, "schedulerVersion": "1.38"},
    ],
)
def test_off_there_is_nothing_of_it(fields: dict[str, Any]) -> None:
    shared = context(FILES, **fields)
    assert not any(isinstance(each, Helping) for each in build_parts(shared))
    assert METRICS.isdisjoint(each.name for each in shared.metrics.families)
    assert shared.history.told == {}


def test_every_series_is_there_before_anything_has_happened() -> None:
    shared = context(FILES)
    build_parts(shared)
    values = shared.metrics.values()
    assert values["affinity_extender_hints_total", "result"] == {*HINTS}
    assert values["affinity_extender_preemptions_total", "result"] == {*PREEMPTIONS}


def test_a_file_is_written_to_by_nobody() -> None:
    part = built(context(FILES))
    assert list(part.tasks()) == []
    assert all(each.pointer is None and each.preemptor is None for each in part.hooks)


@pytest.mark.parametrize(
    ("hints", "preemption", "names"),
    [
        (True, True, ["nomination", "preemption"]),
        (True, False, ["nomination"]),
        (False, True, ["preemption"]),
    ],
)
async def test_each_goes_by_its_own_switch(
    *, hints: bool, preemption: bool, names: list[str]
) -> None:
    async with ApiClient(credentials_for("http://127.0.0.1:1")) as client:
        shared = context(FILES)
        objects = ObjectReader(client, pod_reader(shared.config))
        source = Source(
            "a test",
            StillPicture({}, {}),
            api=ApiServer(client, objects),
        )
        switches = {"hints": {"enabled": hints}, "preemption": {"enabled": preemption}}
        part = built(context(source, **switches))
        tasks = dict(part.tasks())
        for each in tasks.values():
            each.close()
        await part.close()
    assert [*tasks] == names
    assert any(each.pointer is not None for each in part.hooks) == hints
    assert any(each.preemptor is not None for each in part.hooks) == preemption


async def test_limits_are_those_of_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[HintLimits] = []
    begin = HintController.__init__

    def beginning(self: HintController, *args: Any) -> None:
        found.extend(each for each in args if isinstance(each, HintLimits))
        begin(self, *args)

    monkeypatch.setattr(HintController, "__init__", beginning)
    limits = {"perSecond": 7, "maxOutstanding": 80, "patienceSeconds": 9}
    async with ApiClient(credentials_for("http://127.0.0.1:1")) as client:
        objects = ObjectReader(client, pod_reader(context(FILES).config))
        source = Source("a test", StillPicture({}, {}), api=ApiServer(client, objects))
        part = built(context(source, hints=limits))
    assert found == [HintLimits(7, 80, 9)]
    (hints,) = (each for each in part.hooks if isinstance(each, HintController))
    assert hints._nominations._window._most == 80


async def test_hints_are_given_up_for_a_preemption_and_at_the_end_of_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed: list[HintController] = []

    async def close(self: HintController) -> None:
        closed.append(self)

    monkeypatch.setattr(HintController, "close", close)
    async with ApiClient(credentials_for("http://127.0.0.1:1")) as client:
        objects = ObjectReader(client, pod_reader(context(FILES).config))
        source = Source("a test", StillPicture({}, {}), api=ApiServer(client, objects))
        part = built(context(source))
        hints, preemption = part.hooks
        assert isinstance(hints, HintController)
        assert isinstance(preemption, PreemptionController)
        assert preemption._victim_sets._release_nomination == hints.release_nomination
        await part.close()
    assert closed == [hints]


async def test_a_node_that_a_hint_names_is_not_one_where_victims_were_to_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(HintController, "nominates", lambda _, uid: uid == "hinted")
    async with ApiClient(credentials_for("http://127.0.0.1:1")) as client:
        objects = ObjectReader(client, pod_reader(context(FILES).config))
        shared = context(Source("a test", StillPicture({}, {}), api=ApiServer(client, objects)))
        shared.state.upsert_pod(model_pod(pod("lesser").priority(LOW).on("a")))
        (preemption,) = (each for each in built(shared).hooks if each.preemptor is not None)
        assert isinstance(preemption, PreemptionController)
        none: Refused = ()
        for uid in ("hinted", "preempting"):
            raw = pod("important").uid(uid).priority(HIGH).nominated("a")
            preemption.refused(model_pod(raw), none)
        found = {uid: preemption._records.get(uid) for uid in ("hinted", "preempting")}
    assert {uid: each and each.last_node for uid, each in found.items()} == {
        "hinted": None,
        "preempting": "a",
    }
