"""Domains that belong to one value of a label, by the terms that a policy writes into specs."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.e2e.api import ApiError
from tests.e2e.applying import applied
from tests.e2e.exclusive import (
    POLICY,
    RACK,
    annotated,
    would_be,
    written_by_policy,
)
from tests.e2e.extending import REPLACE
from tests.e2e.objects import HOSTNAME, JSON, namespace, node, pod, term
from tests.e2e.sandbox import SETTLE_S, pod_path, pods_path, refusal
from tests.e2e.scheduling import STOCK

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.e2e.sandbox import Sandbox

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NEAR = {
    "topologyKey": RACK,
    "labelSelector": {"matchExpressions": [{"key": "job", "operator": "In", "values": ["a"]}]},
    "namespaceSelector": {},
}
AWAY = {
    "topologyKey": RACK,
    "labelSelector": {
        "matchExpressions": [
            {"key": "job", "operator": "Exists"},
            {"key": "job", "operator": "NotIn", "values": ["a"]},
        ]
    },
    "namespaceSelector": {},
}
CACHE = term(HOSTNAME, {"app": "cache"})
ON_ARM = {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}
ON_NODES = {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [ON_ARM]}]}}
WEIGHTED = {PREFERRED: [{"weight": 1, "podAffinityTerm": CACHE}]}


@pytest.fixture
async def policy(sandbox: Sandbox) -> AsyncIterator[None]:
    """Have the policies in force."""
    async with written_by_policy(sandbox.api):
        yield


def of_job(job: str, number: int = 0, **fields: Any) -> JSON:
    """Return a pod of a job, which says with one line that it wants a rack alone."""
    return annotated(pod(f"{job}-{number}", labels={"job": job}, **fields))


def with_affinity(affinity: JSON | None) -> JSON:
    """Return a pod of job a with an affinity of its own."""
    made = of_job("a")
    return made | {"spec": made["spec"] | {"affinity": affinity}}


def terms(stored: JSON, side: str) -> list[JSON]:
    """Return the required terms of one side."""
    found: list[JSON] = stored["spec"]["affinity"][side][REQUIRED]
    return found


@pytest.mark.usefixtures("policy")
@pytest.mark.parametrize(
    ("affinity", "near", "away"),
    [
        pytest.param(None, [], [], id="none"),
        pytest.param({}, [], [], id="empty"),
        pytest.param({"nodeAffinity": ON_NODES}, [], [], id="about nodes"),
        pytest.param({"podAffinity": {}, "podAntiAffinity": {}}, [], [], id="empty sides"),
        pytest.param(
            {"podAffinity": {REQUIRED: []}, "podAntiAffinity": {REQUIRED: []}}, [], [], id="lists"
        ),
        pytest.param(
            {"podAffinity": WEIGHTED, "podAntiAffinity": WEIGHTED}, [], [], id="preferred"
        ),
        pytest.param({"podAntiAffinity": {REQUIRED: [CACHE]}}, [], [CACHE], id="anti-affinity"),
        pytest.param({"podAffinity": {REQUIRED: [CACHE]}}, [CACHE], [], id="affinity"),
        pytest.param({"podAffinity": {REQUIRED: [NEAR]}}, [], [], id="one of the two"),
    ],
)
async def test_both_terms_are_written_once_beside_what_is_there(
    sandbox: Sandbox, affinity: JSON | None, near: list[JSON], away: list[JSON]
) -> None:
    stored = await would_be(sandbox.api, with_affinity(affinity))
    assert terms(stored, "podAffinity") == [*near, NEAR]
    assert terms(stored, "podAntiAffinity") == [*away, AWAY]
    for side, there in (affinity or {}).items():
        assert stored["spec"]["affinity"][side].get(PREFERRED) == there.get(PREFERRED)
    # Again from what is stored: as a backup or `kubectl get -o yaml` has it.
    again = await would_be(sandbox.api, {**with_affinity(None), "spec": stored["spec"]})
    assert again["spec"]["affinity"] == stored["spec"]["affinity"]


@pytest.mark.usefixtures("policy")
@pytest.mark.parametrize(
    ("value", "labels", "what"),
    [
        pytest.param("job", {"job": "a"}, "not '<label key> by <topology key>'", id="no key"),
        pytest.param("job by", {"job": "a"}, "not '<label key> by", id="nothing after by"),
        pytest.param("", {"job": "a"}, "not '<label key> by <topology key>'", id="nothing"),
        pytest.param("job by a by b", {"job": "a"}, "not '<label key> by", id="two of them"),
        pytest.param("j?b by rack", {"job": "a"}, "not '<label key> by", id="no label key"),
        pytest.param("job by rack", {"app": "a"}, "the pod has no label job", id="another label"),
        pytest.param("job by rack", {}, "the pod has no label job", id="no label"),
    ],
)
async def test_what_is_malformed_is_refused_in_plain_words(
    sandbox: Sandbox, value: str, labels: dict[str, str], what: str
) -> None:
    with pytest.raises(ApiError) as caught:
        await would_be(sandbox.api, annotated(pod("broken", labels=labels), value))
    said = json.loads(str(caught.value).partition(": ")[2])["message"]
    assert "metadata.annotations[affinity-extender.io/exclusive]: " in said
    assert what in said
    assert "JSONPatch" not in said


@pytest.mark.usefixtures("policy")
@pytest.mark.parametrize("blank", [" ", "\n", "\v", "\u0085", "\u00a0", " " * 1000])
async def test_what_is_admitted_has_its_terms_whatever_blanks_are_around_it(
    sandbox: Sandbox, blank: str
) -> None:
    for value in (f"{blank}job by {RACK}", f"job by {RACK}{blank}"):
        stored = await would_be(sandbox.api, annotated(pod("a-0", labels={"job": "a"}), value))
        assert terms(stored, "podAffinity") == [NEAR]
        assert terms(stored, "podAntiAffinity") == [AWAY]


LABELLING = """
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: zz-labelling}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
      - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  mutations:
    - patchType: ApplyConfiguration
      applyConfiguration:
        expression: 'Object{metadata: Object.metadata{labels: {"job": "a"}}}'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: zz-labelling}
spec: {policyName: zz-labelling}
"""
"""A policy that comes after ours, and gives pods their label."""


@pytest.mark.usefixtures("policy")
async def test_a_label_that_another_policy_gives_afterwards_counts(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    file = tmp_path / "labelling.yaml"
    file.write_text(LABELLING)

    async def labelled() -> bool:
        stored = await would_be(sandbox.api, pod("plain"))
        return "job" in stored["metadata"].get("labels", {})

    async with applied(sandbox.api, file), asyncio.timeout(SETTLE_S):
        while not await labelled():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        stored = await would_be(sandbox.api, annotated(pod("a-0")))
        assert terms(stored, "podAffinity") == [NEAR]
        assert terms(stored, "podAntiAffinity") == [AWAY]


async def test_without_the_policy_that_writes_them_pods_are_refused(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    file = tmp_path / "validating.yaml"
    things = yaml.safe_load_all(POLICY.read_text())
    file.write_text(yaml.dump_all(each for each in things if "Validating" in each["kind"]))
    async with written_by_policy(sandbox.api, file):
        with pytest.raises(ApiError, match="its terms are not in the spec"):
            await would_be(sandbox.api, of_job("a"))
        by_hand = with_affinity({"podAffinity": {REQUIRED: [NEAR]}})
        with pytest.raises(ApiError, match="its terms are not in the spec"):
            await would_be(sandbox.api, by_hand)
        by_hand["spec"]["affinity"]["podAntiAffinity"] = {REQUIRED: [AWAY]}
        await would_be(sandbox.api, by_hand)


@pytest.mark.usefixtures("policy")
async def test_pods_of_a_daemonset_and_those_without_the_annotation_are_left_alone(
    sandbox: Sandbox,
) -> None:
    owner = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "name": "agent",
        "uid": "0",
        "controller": True,
    }
    agent = of_job("a")
    agent["metadata"]["ownerReferences"] = [owner]
    for each in (agent, pod("plain", labels={"job": "a"})):
        assert "affinity" not in (await would_be(sandbox.api, each))["spec"]


@pytest.mark.usefixtures("policy")
async def test_a_quota_on_affinity_across_namespaces_refuses_such_pods(sandbox: Sandbox) -> None:
    await sandbox.add(namespace("barred"))
    scope = {"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"}
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none", "namespace": "barred"},
        "spec": {"hard": {"pods": "0"}, "scopeSelector": {"matchExpressions": [scope]}},
    }
    path = "/api/v1/namespaces/barred/resourcequotas"
    barred = annotated(pod("a-0", "barred", labels={"job": "a"}))
    await sandbox.api.create(path, quota)
    try:
        async with sandbox.api.mirror(path) as quotas:
            await quotas.until(
                lambda: "hard" in quotas.objects["barred/none"].get("status", {}),
                SETTLE_S,
                "the quota to be in force",
            )
        with pytest.raises(ApiError, match="exceeded quota") as caught:
            await would_be(sandbox.api, barred)
        assert str(caught.value).startswith("403")
        await would_be(sandbox.api, pod("plain", "barred", labels={"job": "a"}))
    finally:
        await sandbox.api.delete(f"{path}/none")


@pytest.mark.usefixtures("policy")
@pytest.mark.parametrize("mode", [STOCK, REPLACE])
async def test_four_jobs_on_three_racks(sandbox: Sandbox, mode: str) -> None:
    racks = [node(f"{rack}{n}", None, 110, **{RACK: rack}) for rack in "rst" for n in "12"]
    await sandbox.add(*racks)
    async with sandbox.scheduled_by(mode):
        for each in (of_job(job, number) for number in range(3) for job in "abcd"):
            await sandbox.api.create(pods_path(each), each)
        await sandbox.pods.until(lambda: len(sandbox.places()) == 9, SETTLE_S, "9 placed pods")
        racks_of = jobs_in_racks(sandbox)
        assert len(racks_of) == 3
        assert sorted(map(sorted, racks_of.values())) == [["r"], ["s"], ["t"]]
        await sandbox.pods.until(lambda: len(refused(sandbox)) == 3, SETTLE_S, "3 refused pods")

        done = min(racks_of)
        (freed,) = racks_of[done]
        for each in list(sandbox.pods.objects.values()):
            if each["metadata"]["labels"]["job"] == done:
                await sandbox.api.delete(pod_path(each))
        await sandbox.pods.until(
            lambda: len(jobs_in_racks(sandbox)) == 3 and len(sandbox.places()) == 9,
            SETTLE_S,
            "the fourth job to be placed",
        )
        (fourth,) = {*"abcd"} - racks_of.keys()
        assert jobs_in_racks(sandbox)[fourth] == {freed}
        await sandbox.assert_lawful()


@pytest.mark.usefixtures("policy")
@pytest.mark.parametrize("mode", [STOCK, REPLACE])
async def test_a_job_that_requires_another_pod_as_well_is_never_placed(
    sandbox: Sandbox, mode: str
) -> None:
    await sandbox.add(*(node(f"r{n}", None, 110, **{RACK: "r"}) for n in "12"))
    async with sandbox.scheduled_by(mode):
        assert (await sandbox.settle(pod("cache", labels={"app": "cache"})))["cache"]
        near_cache = of_job("a", near=[term(RACK, {"app": "cache"})])
        await sandbox.api.create(pods_path(near_cache), near_cache)
        await sandbox.pods.until(lambda: bool(refused(sandbox)), SETTLE_S, "the pod to be refused")
        (said,) = refused(sandbox)
        assert "2 node(s) didn't match pod affinity rules" in said
        # One pod that meets both lets it in.
        both = pod("both", labels={"app": "cache", "job": "a"})
        await sandbox.api.create(pods_path(both), both)
        await sandbox.pods.until(lambda: len(sandbox.places()) == 3, SETTLE_S, "3 placed pods")


def refused(sandbox: Sandbox) -> list[str]:
    """Return what is said of the pods that wait."""
    return [said for each in sandbox.pods.objects.values() if (said := refusal(each))]


def jobs_in_racks(sandbox: Sandbox) -> dict[str, set[str]]:
    """Return the racks of each job that has placed pods."""
    found = defaultdict(set)
    for key, name in sandbox.places().items():
        if (there := sandbox.pods.objects.get(key)) is not None:
            found[there["metadata"]["labels"]["job"]].add(name[0])
    return dict(found)
