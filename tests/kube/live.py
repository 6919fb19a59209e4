"""A cluster whose API server answers commands: the fake one, with the objects of a dump."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from affinityctl.scheduler.volumes.resources import VOLUME_RESOURCES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pytest

    from tests.kube.rig import Rig

PATHS = {
    **{
        kind: f"/api/v1/{kind.lower()}s"
        for kind in ("Node", "Namespace", "Pod", "ResourceQuota", "LimitRange")
    },
    "PodDisruptionBudget": "/apis/policy/v1/poddisruptionbudgets",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    **{
        kind: f"/apis/apps/v1/{kind.lower()}s"
        for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")
    },
    **{kind: f"/apis/batch/v1/{kind.lower()}s" for kind in ("Job", "CronJob")},
}


def made_current(
    rig: Rig, objects: Iterable[Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Put the objects into the API server of a rig, and make it the current context's."""
    for path in (*PATHS.values(), *(each.path for each in VOLUME_RESOURCES)):
        rig.api.collection(path)
    for each in objects:
        metadata = each["metadata"]
        stored = each | {"metadata": {"uid": f"{each['kind']}-{metadata['name']}"} | metadata}
        rig.api.collection(PATHS[each["kind"]]).put(stored)
    config = folder / "config"
    config.write_text(yaml.safe_dump(pointing_to(str(rig.api.url))))
    monkeypatch.setenv("KUBECONFIG", str(config))


def pointing_to(server: str) -> dict[str, Any]:
    """Build the content of a kubeconfig for a server that asks for no credentials."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u"}}],
    }
