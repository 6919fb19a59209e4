"""The second scheduler with quotas on cross-namespace affinity."""

from __future__ import annotations

from typing import Any

from extender.core.config.checks import faults
from extender.core.config.document import decode, parse
from extender.core.model.verdict import INTER_POD_AFFINITY
from tests.deploy.kustomize import render
from tests.deploy.places import SIDECAR, SIDECAR_QUOTA, read_yaml
from tests.deploy.pods import shipped_config


def generated(prefix: str) -> str:
    """Return the file in a generated ConfigMap."""
    (found,) = (
        one["data"]["config.yaml"]
        for one in render(SIDECAR_QUOTA)
        if one["kind"] == "ConfigMap" and one["metadata"]["name"].startswith(prefix)
    )
    return str(found)


def test_the_scheduler_is_the_one_of_assist_that_also_asks_whom_to_refuse() -> None:
    expected = read_yaml(SIDECAR / "scheduler-config.yaml")
    expected["extenders"][0] |= {"filterVerb": "filter", "preemptVerb": "preempt"}
    assert read_yaml(SIDECAR_QUOTA / "scheduler-config.yaml") == expected
    text = (SIDECAR_QUOTA / "scheduler-config.yaml").read_text()
    assert generated("affinity-scheduler-config") == text


def test_the_extender_is_the_one_of_assist_with_the_plugin() -> None:
    config = decode(parse(generated("affinity-extender-config"), "config.yaml"))
    assert list(faults(config)) == []
    assert config.plugins == (
        INTER_POD_AFFINITY,
        "CrossNamespacePodAffinity",
    )
    base = shipped_config()
    same = ("mode", "inter_pod_affinity", "logging", "cross_namespace_pod_affinity")
    assert [getattr(config, name) for name in same] == [getattr(base, name) for name in same]


def test_nothing_else_differs_from_the_second_scheduler() -> None:
    def others(objects: list[dict[str, Any]]) -> list[tuple[str, str]]:
        return [
            (one["kind"], one["metadata"]["name"]) for one in objects if one["kind"] != "ConfigMap"
        ]

    more = {("ClusterRole", "affinity-extender-quota")}
    more |= {("ClusterRoleBinding", "affinity-extender-quota")}
    assert set(others(render(SIDECAR_QUOTA))) - set(others(render(SIDECAR))) == more
