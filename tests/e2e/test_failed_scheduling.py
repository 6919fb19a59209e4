"""What a real scheduler's event says of all nodes together is what explain says of each."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import pytest

from affinityctl.scheduler.volumes.claims import PodClaims
from extender.core.model.verdict import POD_TOPOLOGY_SPREAD
from tests.builders import HOST, ZONE
from tests.conformance.drawing import look_at_each
from tests.conformance.spreading import scheduler_file
from tests.conformance.stored import cases_with_defaults, cases_without_defaults
from tests.conformance.verdicts import (
    FIELDS,
    READER,
    Verdict,
    judged,
    profile_of,
    read,
)
from tests.e2e import storing
from tests.e2e.api import ApiError, Mirror, for_each
from tests.e2e.applying import collection
from tests.e2e.sandbox import SETTLE_S
from tests.e2e.scheduling import STOCK, configured
from tests.e2e.storing import admissible, removed_afterwards
from tests.events import messages

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from affinityctl.scheduler.profiles import Profile
    from extender.core.cluster.state import ClusterState
    from tests.e2e.objects import JSON
    from tests.e2e.sandbox import Sandbox

CLUSTERS, PODS = 40, 5
"""As many of the pods that are drawn for each cluster are asked about."""
WITH_DEFAULTS, ROUNDS, ENOUGH = 20, 8, 5
"""Clusters in a round, and rounds at most until default constraints kept so many pods away."""
DEFAULTS = [
    {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"} for key in (ZONE, HOST)
]
TRIES = 2
"""At the first one the scheduler may not have seen yet what was made a moment ago."""
EVENTS = "/apis/events.k8s.io/v1/events"
QPS = 1000
PLACED = "Successfully assigned"


@dataclass(slots=True)
class Told:
    """What the scheduler said of the pods."""

    placed: int = 0
    refused: int = 0
    unasked: int = 0
    """Fit, and would have a node once their claims are bound, which no controller here does."""
    invalid: int = 0
    by_default: int = 0
    """Those whom default constraints kept from a node."""
    reasons: Counter[str] = field(default_factory=Counter)


async def test_the_event_says_what_explain_says(
    sandbox: Sandbox, start: int, say: Callable[[str], None]
) -> None:
    drawn: list[dict[str, Any]] = []
    look_at_each(cases_without_defaults(), drawn.append, start=start, examples=CLUSTERS)
    told = Told()
    async with sandbox.scheduled_by(STOCK, qps=QPS):
        await _compare(sandbox, drawn, told)
    say(f"{len(drawn)} clusters: {told}")
    assert len(drawn) == CLUSTERS
    assert min(told.placed, told.refused) > CLUSTERS / 5


async def test_with_default_constraints_it_does_so_too(
    sandbox: Sandbox, start: int, say: Callable[[str], None]
) -> None:
    """Of what selects pods, the clusters have services."""
    told = Told()
    file, folder = scheduler_file(DEFAULTS), sandbox.folder("defaults")
    async with configured(sandbox.control_plane, file, folder, qps=QPS):
        for number in range(ROUNDS):
            drawn: list[dict[str, Any]] = []
            cases = cases_with_defaults()
            look_at_each(cases, drawn.append, start=start + number, examples=WITH_DEFAULTS)
            await _compare(sandbox, drawn, told)
            say(f"{len(drawn)} more clusters with default constraints: {told}")
            if told.by_default >= ENOUGH:
                return
    pytest.fail(f"default constraints kept {told.by_default} pods from a node")


async def _compare(sandbox: Sandbox, drawn: Sequence[dict[str, Any]], told: Told) -> None:
    """Ask about the pods of clusters, one cluster after the other."""
    async with sandbox.api.mirror(EVENTS) as events:
        for case in drawn:
            async with removed_afterwards(sandbox.api, "Service"):
                stored_case = await _create(sandbox, case)
                by = read(stored_case)[0], profile_of(stored_case)
                for pod in map(admissible, case["judged"][:PODS]):
                    difference = await _asked(sandbox, events, by, pod, told)
                    assert not difference, (
                        f"{difference}\n{json.dumps(stored_case | {'judged': [pod]})}"
                    )
            await sandbox.clear()


async def _create(sandbox: Sandbox, case: Mapping[str, Any]) -> dict[str, Any]:
    """Create the cluster of a case, without what no API server stores; return what it stored."""
    uids: dict[str, str] = {}
    """Of the claims, by their names."""

    async def create(thing: JSON) -> None:
        claim = thing.get("spec", {}).get("claimRef")
        if claim and claim["uid"] == f"uid-{claim['name']}":
            claim["uid"] = uids.get(claim["name"], claim["uid"])
        try:
            made = await storing.create(sandbox.api, thing)
        except ApiError as error:
            _assert_invalid(error)
        else:
            uids[made["metadata"]["name"]] = made["metadata"]["uid"]

    there = case["volumes"] | case["cluster"]
    await sandbox.add(*map(admissible, (*there["namespaces"], *there["nodes"])))
    for field_name, kind in FIELDS.items():
        if kind not in {"Namespace", "Node"}:
            things = (each | {"kind": kind} for each in there[field_name] if _settled(kind, each))
            await for_each(map(admissible, things), create)
    found = {name: await storing.stored(sandbox.api, kind) for name, kind in FIELDS.items()}
    made: dict[str, Any] = {"cluster": found, "judged": []}
    if "spreading" in case:
        for service in case["spreading"]["services"]:
            spec = service["spec"] | {"ports": [{"port": 80}]}
            await create(service | {"kind": "Service", "spec": spec})
        services = await storing.stored(sandbox.api, "Service")
        nothing: dict[str, Any] = dict.fromkeys(case["spreading"], ())
        made["spreading"] = nothing | {"services": services}
        made["scheduler"] = scheduler_file(DEFAULTS)
    return made


def _settled(kind: str, thing: JSON) -> bool:
    """Return whether the scheduler leaves a thing as it is: it would place nominated pods."""
    return kind != "Pod" or "nodeName" in thing["spec"]


async def _asked(
    sandbox: Sandbox, events: Mirror, by: tuple[ClusterState, Profile], pod: JSON, told: Told
) -> str:
    """Have the scheduler decide about a pod; return what is different, nothing if nothing is."""
    path, difference = collection(pod), ""
    state, profile = by
    try:
        admitted = await sandbox.api.request("POST", path, pod, dryRun="All")
    except ApiError as error:
        _assert_invalid(error)
        told.invalid += 1
        return ""
    asked = READER.read(json.dumps(admitted).encode())
    found, nodes = judged(state, asked, profile), {*state.nodes}
    if nodes - {*found} and PodClaims.of(state, asked).delayed:
        told.unasked += 1
        return ""
    for _ in range(TRIES):
        made = await sandbox.api.create(path, pod)
        said = await _said(events, made["metadata"]["uid"])
        await sandbox.api.delete(f"{path}/{pod['metadata']['name']}")
        if _agree(said, found, nodes):
            told.placed += said.startswith(PLACED)
            told.refused += not said.startswith(PLACED)
            told.by_default += any(
                each.is_default for each in profile.of(asked).spread.constraints(asked)
            ) and any(plugin == POD_TOPOLOGY_SPREAD for plugin, *_ in found.values())
            told.reasons.update(each for _, reasons, _ in found.values() for each in reasons)
            return ""
        difference = f"the scheduler: {said}\nexplain: {found}"
    return difference


def _assert_invalid(error: ApiError) -> None:
    """Pass over what no API server stores."""
    if error.status != HTTPStatus.UNPROCESSABLE_ENTITY:
        raise error


async def _said(events: Mirror, uid: str) -> str:
    """Return what the first event about a pod says: its node, or why it has none."""

    def notes() -> list[str]:
        every = events.objects.values()
        return [str(each["note"]) for each in every if each["regarding"].get("uid") == uid]

    await events.until(lambda: bool(notes()), SETTLE_S, f"an event about {uid}")
    return notes()[0]


def _agree(said: str, found: Mapping[str, Verdict], nodes: set[str]) -> bool:
    fitting = nodes - {*found}
    if fitting:
        return said.startswith(PLACED) and said.rpartition(" ")[2] in fitting
    return said.startswith(messages([reasons for _, reasons, _ in found.values()]))
