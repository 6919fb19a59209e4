"""What lint says that the API server refuses, a real one refuses, as a pod and in a Deployment."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import pytest

from affinityctl.commands.lint.patching import merged
from extender.core.wire.objects import PodReader
from tests.builders import (
    HOST,
    ZONE,
    Pod,
    model_pod,
    node_term,
    pod,
    requirement,
    selector,
    term,
    workload,
)
from tests.commands.lint.asking import found, linted
from tests.commands.lint.test_planted_workloads import CLUSTER
from tests.e2e.api import Api, ApiError
from tests.e2e.applying import collection
from tests.e2e.controlplane.cluster import storage_and_apiserver
from tests.e2e.controlplane.credentials import ADMIN

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.e2e.controlplane.binaries import Binaries
    from tests.e2e.controlplane.cluster import ControlPlane
    from tests.e2e.objects import JSON

REFUSED = frozenset(
    (
        "affinity-unreadable",
        "weight-out-of-range",
        "label-keys-without-selector",
        "label-key-in-both",
    )
)
"""The rules that say so."""
DB = selector(app="db")


@pytest.fixture(scope="module")
def cluster(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Run an API server alone."""
    folder = tmp_path_factory.mktemp("lint")
    with storage_and_apiserver(binaries, binaries, folder, []) as cluster:
        yield cluster


@pytest.fixture
async def api(cluster: ControlPlane) -> AsyncIterator[Api]:
    async with Api.connected(cluster.server, ADMIN.token, cluster.credentials.ca) as api:
        yield api


def web() -> Pod:
    return pod("web").labels(app="web").uid(None)


def without_key(raw: JSON) -> JSON:
    return {name: value for name, value in raw.items() if name != "topologyKey"}


def complete(thing: JSON) -> JSON:
    """Fill in what the API server wants of a pod, and of a Deployment, besides."""
    if thing["kind"] == "Pod":
        spec = {"containers": [{"name": "c", "image": "i"}]} | thing["spec"]
        return thing | {"apiVersion": "v1", "spec": spec}
    template = complete({"kind": "Pod", **thing["spec"]["template"]})
    more = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    return thing | {"apiVersion": "apps/v1", "spec": thing["spec"] | more}


async def refusal(api: Api, thing: JSON) -> str | None:
    """Try to create an object; return what it is refused for, None when it is not."""
    try:
        await api.request("POST", collection(thing), thing, dryRun="All")
    except ApiError as error:
        if error.status != HTTPStatus.UNPROCESSABLE_ENTITY:
            raise
        return str(error)
    return None


@pytest.mark.parametrize(
    ("template", "fine"),
    [
        pytest.param(web().anti_affinity(term(HOST, DB)), True, id="nothing wrong"),
        pytest.param(web().anti_affinity(without_key(term(HOST, DB))), False, id="no key"),
        pytest.param(web().anti_affinity(term("a b", DB)), False, id="a broken key"),
        pytest.param(web().anti_affinity(term(HOST, selector(app="d b"))), False, id="a value"),
        pytest.param(
            web().anti_affinity(term(HOST, selector(requirement("app", "Is")))), False, id="Is"
        ),
        pytest.param(
            web().anti_affinity(term(HOST, selector(requirement("app", "In")))),
            False,
            id="In without values",
        ),
        pytest.param(
            web().anti_affinity(term(HOST, DB, namespaces=["No One"])), False, id="a namespace"
        ),
        pytest.param(web().avoids(0, term(HOST, DB)), False, id="a weight of 0"),
        pytest.param(web().prefers(101, term(HOST, DB)), False, id="a weight of 101"),
        pytest.param(web().requires_nodes(), False, id="no node selector term"),
        pytest.param(web().requires_nodes({}), True, id="an empty node selector term"),
        pytest.param(
            web().requires_nodes(node_term(requirement("gpu", "Gt", "1", "2"))),
            False,
            id="two bounds",
        ),
        pytest.param(
            web().requires_nodes(node_term(requirement("disk", "In", "s s d"))),
            False,
            id="a value that no node can have",
        ),
        pytest.param(
            web().requires_nodes(node_term(requirement("a b", "Exists"))), False, id="no label key"
        ),
        pytest.param(
            web().requires_nodes({"matchFields": [requirement("metadata.uid", "In", "x")]}),
            False,
            id="a field that is not the name",
        ),
        pytest.param(
            web().anti_affinity(term(HOST, matchLabelKeys=["app"])), False, id="keys alone"
        ),
        pytest.param(
            web().anti_affinity(term(HOST, DB, matchLabelKeys=["v"], mismatchLabelKeys=["v"])),
            False,
            id="a key in both",
        ),
    ],
)
async def test_the_api_server_is_of_the_same_opinion(template: Pod, fine: bool, api: Api) -> None:
    things: list[Any] = [template, workload("Deployment", "web", template)]
    for thing in things:
        refused = await refusal(api, complete(thing))
        assert (refused is None) is fine, refused
        assert REFUSED.isdisjoint(found(linted(thing))) is fine


def with_host_port() -> Pod:
    made = web()
    port = {"containerPort": 80, "hostPort": 80}
    made["spec"]["containers"] = [{"name": "c", "image": "i", "ports": [port]}]
    return made


PATCHED = [
    pytest.param(web().anti_affinity(term(ZONE, selector(app="web"))), {}, id="label keys"),
    pytest.param(with_host_port(), {"replicas": 6}, id="no surge"),
    pytest.param(
        web().anti_affinity(term(ZONE, selector(app="web"))), {"replicas": 4}, id="spread instead"
    ),
    pytest.param(web(), {}, id="spread"),
]


@pytest.mark.parametrize(("template", "spec"), PATCHED)
async def test_a_patch_that_lint_proposes_is_accepted_and_cures(
    template: Pod, spec: JSON, api: Api
) -> None:
    surging = {"strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
    thing = complete(
        workload("Deployment", "cured", template, **{"replicas": 3, **surging, **spec})
    )
    created = await api.create(collection(thing), thing)
    path = f"{collection(thing)}/cured"
    try:
        report = linted(*CLUSTER, {**thing, **created})
        patch: Any = merged(report.findings)
        assert patch
        kind = "application/json-patch+json"
        stored = await api.request("PATCH", path, patch, content_type=kind)
        assert found(linted(*CLUSTER, {**thing, **stored})) == []
    finally:
        await api.delete(path)


async def test_a_comparison_with_what_is_no_number_is_accepted_and_met_by_no_node(
    api: Api,
) -> None:
    template = web().requires_nodes(node_term(requirement("gpu", "Gt", "many")))
    assert await refusal(api, complete(template)) is None
    assert found(linted(template)) == ["comparison-without-number"]


async def test_a_key_that_is_selected_is_refused_only_when_it_is_merged_into_a_pod(
    api: Api,
) -> None:
    template = web().anti_affinity(term(HOST, selector(app="web"), matchLabelKeys=["app"]))
    deployment = workload("Deployment", "web", template)
    said = await refusal(api, complete(template))
    assert said is not None
    assert "exists in both matchLabelKeys and labelSelector" in said
    assert await refusal(api, complete(deployment)) is None
    for thing in (template, deployment):
        assert found(linted(thing)) == ["label-key-already-selected"]


@pytest.mark.parametrize(
    ("selected", "keys"),
    [
        pytest.param(selector(), {"mismatchLabelKeys": ["app"]}, id="all but one's own"),
        pytest.param(
            selector(requirement("app", "NotIn", "db")),
            {"mismatchLabelKeys": ["app"]},
            id="others, and not one more",
        ),
        pytest.param(
            selector(requirement("app", "NotIn", "web", "db")),
            {"mismatchLabelKeys": ["app"]},
            id="one's own is left out by hand as well",
        ),
        pytest.param(
            selector(requirement("app", "In", "db", "cache")),
            {"mismatchLabelKeys": ["app"]},
            id="some others",
        ),
        pytest.param(DB, {"matchLabelKeys": ["tier", "none"]}, id="of one's own tier"),
        pytest.param(
            selector(requirement("none", "In", "a")),
            {"matchLabelKeys": ["none"], "mismatchLabelKeys": ["tier"]},
            id="a selected key that the pod lacks",
        ),
    ],
)
async def test_label_keys_of_a_manifest_mean_what_the_api_server_makes_of_them(
    selected: JSON, keys: JSON, api: Api
) -> None:
    written = complete(web().labels(tier="a").anti_affinity(term(HOST, selected, **keys)))
    stored = await api.request("POST", collection(written), written, dryRun="All")
    # A dry run gives no version, so the reader has to be told that the keys are merged.
    live = PodReader(stored=True).read(json.dumps(stored).encode())
    for seen in (written, stored):
        assert model_pod(seen).pod_class.affinity == live.pod_class.affinity
