"""The ValidatingAdmissionPolicy for rules in annotations, on a real API server.

It refuses most of what the extender could not read, and nothing that the extender reads.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from extender.core.wire.manifests import (
    REVISIONS_ANNOTATION,
)
from tests import builders
from tests.annotating import DURING, PREFERRED, REQUIRED
from tests.beside import AFFINITY_ANNOTATION, POLICY_ANNOTATION
from tests.builders import HOST, ZONE, model_pod, node_term, requirement, selector, term
from tests.conformance.cases import load_cases
from tests.e2e.api import Api, ApiError
from tests.e2e.applying import collection
from tests.e2e.controlplane.cluster import storage_and_apiserver
from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.objects import JSON, pod

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.e2e.controlplane.binaries import Binaries
    from tests.e2e.controlplane.cluster import ControlPlane

POLICY = Path(__file__).parents[2] / "manifests/components/annotation-policy/policy.yaml"
PODS = "/api/v1/namespaces/default/pods"
WEB = selector(app="web")
SOME = selector(requirement("app", "In", *(f"{n:063}" for n in range(16))))
SSD = node_term(requirement("disk", "In", "ssd"))


@pytest.fixture(scope="module")
def cluster(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Run an API server alone, with the policy in force."""
    folder = tmp_path_factory.mktemp("policy")
    with storage_and_apiserver(binaries, binaries, folder, []) as cluster:
        asyncio.run(_put_in_force(cluster))
        yield cluster


@pytest.fixture
async def api(cluster: ControlPlane) -> AsyncIterator[Api]:
    async with Api.connected(cluster.server, ADMIN.token, cluster.credentials.ca) as api:
        yield api


async def _put_in_force(cluster: ControlPlane) -> None:
    async with Api.connected(cluster.server, ADMIN.token, cluster.credentials.ca) as api:
        for thing in yaml.safe_load_all(POLICY.read_text()):
            await api.create(collection(thing), thing)
        async with asyncio.timeout(30):
            # The API server tells of no event when a policy comes into force.
            while await _says(api, {POLICY_ANNOTATION: "x"}) is None:  # noqa: ASYNC110
                await asyncio.sleep(0.2)


async def _says(api: Api, annotations: dict[str, str]) -> str | None:
    """Try a pod with these annotations; return what it is refused for, None when it is not."""
    raw = pod("tried")
    raw["metadata"] |= {"annotations": annotations}
    try:
        await api.request("POST", PODS, raw, dryRun="All")
    except ApiError as error:
        if error.status != HTTPStatus.UNPROCESSABLE_ENTITY:
            raise
        return str(json.loads(str(error).partition(": ")[2])["message"])
    return None


def anti(*terms: Any) -> JSON:
    return {"podAntiAffinity": {REQUIRED: [*terms]}}


FULL = {
    "nodeAffinity": {
        REQUIRED: {"nodeSelectorTerms": [SSD, node_term(In="a")]},
        DURING: {"nodeSelectorTerms": [node_term(requirement("cpus", "Gt", "4"))]},
        PREFERRED: [{"weight": 100, "preference": node_term(requirement("x", "Exists"))}],
    },
    "podAffinity": {
        REQUIRED: [term(ZONE, WEB, namespaces=["a", "b"], namespaceSelector={})],
        DURING: [term(HOST, selector(requirement("a", "NotIn", "x", "y")))],
        PREFERRED: [{"weight": 1, "podAffinityTerm": term(ZONE, {}, mismatchLabelKeys=["v"])}],
    },
    "podAntiAffinity": {
        REQUIRED: None,
        DURING: [term(HOST, WEB, matchLabelKeys=["v"], maxMatchingPods=2)],
        PREFERRED: [{"weight": 1, "podAffinityTerm": term(ZONE, {}, maxMatchingPods=None)}],
    },
}


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("{}", id="no rules"),
        pytest.param(json.dumps(FULL), id="every field"),
        pytest.param(json.dumps(FULL, indent=4), id="over many lines"),
        pytest.param(json.dumps(FULL, separators=(",", ":")), id="without blanks"),
        pytest.param(
            json.dumps(anti(term(ZONE, selector(operator="x", weight="0", podAffinity="y")))),
            id="labels named as fields are",
        ),
        pytest.param(r'{"pod\u0041ffinity":{}}', id="a field with an escape"),
        pytest.param(json.dumps(anti(*[term(ZONE, SOME)] * 64)), id="a long one"),
    ],
)
async def test_what_the_extender_reads_is_let_in(api: Api, value: str) -> None:
    assert _broken(value) is None
    assert await _says(api, {AFFINITY_ANNOTATION: value}) is None


async def test_the_rules_of_all_conformance_cases_are_let_in(api: Api) -> None:
    values = {
        json.dumps(raw["spec"]["affinity"])
        for case in load_cases()
        for raw in (*case.cluster["pods"], *(each.pod for each in case.questions))
        if raw["spec"].get("affinity")
    }
    sound = sorted(value for value in values if _broken(value) is None)
    assert len(sound) > 500
    for value in sound[:: len(sound) // 250]:
        assert await _says(api, {AFFINITY_ANNOTATION: value}) is None, value


def _broken(value: str) -> Any:
    return model_pod(builders.pod("p").annotated(AFFINITY_ANNOTATION, value)).spec.broken_rules


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("", id="nothing"),
        pytest.param("null", id="null"),
        pytest.param("{", id="half an object"),
        pytest.param("podAffinity: {}", id="YAML"),
        pytest.param("{'podAffinity': {}}", id="other quotes"),
        pytest.param({"podAntiaffinity": {}}, id="a misspelt side"),
        pytest.param({"podAffinity": {"required": []}}, id="an unknown strength"),
        pytest.param({"podAffinity": {REQUIRED: term(ZONE, WEB)}}, id="a term for a list"),
        pytest.param(anti(term(ZONE, WEB, topologykey="x")), id="an unknown field"),
        pytest.param(anti(term("", WEB)), id="an empty topology key"),
        pytest.param(anti(term(ZONE, WEB, maxMatchingPods="2")), id="a string for a limit"),
        pytest.param(anti(term(ZONE, WEB, maxMatchingPods="40%")), id="a percentage"),
        pytest.param(
            {
                "podAntiAffinity": {
                    PREFERRED: [{"weight": 1, "podAffinityTerm": term(ZONE, {}, maxMatchingPods=2)}]
                }
            },
            id="a limit on a preferred term",
        ),
        pytest.param(anti(term(ZONE, WEB, maxMatchingPods=-1)), id="a limit below 0"),
        pytest.param(anti(term(ZONE, selector(requirement("a", "in", "b")))), id="in"),
        pytest.param(anti(term(ZONE, selector(requirement("a", "Gt", "1")))), id="Gt of a pod"),
        pytest.param(anti(term(ZONE, {"matchLabels": {"a": 1}})), id="a number for a label"),
        pytest.param(
            {"nodeAffinity": {PREFERRED: [{"weight": 0, "preference": SSD}]}}, id="weight 0"
        ),
        pytest.param(
            {"nodeAffinity": {PREFERRED: [{"weight": 101, "preference": SSD}]}}, id="weight 101"
        ),
        pytest.param({"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}, id="no node term"),
        pytest.param({"nodeAffinity": {REQUIRED: [SSD]}}, id="a list for a node selector"),
    ],
)
async def test_what_cel_can_tell_is_refused_at_create(api: Api, value: Any) -> None:
    text = value if isinstance(value, str) else json.dumps(value)
    assert _broken(text) is not None
    says = await _says(api, {AFFINITY_ANNOTATION: text})
    assert says is not None
    assert f"metadata.annotations[{AFFINITY_ANNOTATION}]" in says


@pytest.mark.parametrize("value", ["Replace", ""])
async def test_a_policy_is_refused_as_filter_does(api: Api, value: str) -> None:
    says = await _says(api, {AFFINITY_ANNOTATION: "{}", POLICY_ANNOTATION: value})
    assert says is not None
    assert f"metadata.annotations[{POLICY_ANNOTATION}]: no longer read" in says


@pytest.mark.parametrize(("value", "sound"), [("Own", True), ("own", False), ("", False)])
async def test_revisions_are_checked(api: Api, value: str, *, sound: bool) -> None:
    says = await _says(api, {REVISIONS_ANNOTATION: value})
    assert (says is None) is sound
    assert sound or f"metadata.annotations[{REVISIONS_ANNOTATION}]" in str(says)


async def test_pods_without_such_annotations_are_let_in(api: Api) -> None:
    assert await _says(api, {}) is None
    assert await _says(api, {"example.com/other": "{"}) is None


async def test_an_edit_is_checked_and_nothing_else_is(api: Api) -> None:
    raw = pod("edited")
    raw["metadata"] |= {"annotations": {AFFINITY_ANNOTATION: "{}"}}
    await api.create(PODS, raw)
    path = f"{PODS}/edited"
    await api.patch(path, {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(ApiError, match="names of fields"):
        await api.patch(path, {"metadata": {"annotations": {AFFINITY_ANNOTATION: "{"}}})
