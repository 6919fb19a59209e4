"""The command explain on a live cluster."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import yaml

from affinityctl import cli
from affinityctl.volumes.resources import VOLUME_RESOURCES
from tests.builders import node, pod
from tests.kube.fake_api import answering, failure
from tests.kube.rig import Rig
from tests.kube.test_quota_command import pointing_to
from tests.volumes import bound, using

SO = {
    "resourcequotas": "quotas are not looked at",
    "persistentvolumes": "less is known of pods with volumes",
}
NOTE = "affinity-extender: note: no right to list {}, so {}\n"


@pytest.mark.parametrize(
    ("forbidden", "code"),
    [
        pytest.param("resourcequotas", 0, id="quotas are not looked at, and that is said"),
        pytest.param("persistentvolumes", 4, id="a pod with volumes may fit, and that is said"),
        pytest.param("nodes", 3, id="without nodes there is no answer"),
    ],
)
async def test_a_right_that_is_lacking(
    forbidden: str, code: int, rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("namespaces", "nodes", "pods", "resourcequotas"):
        rig.api.collection(f"/api/v1/{name}")
    rig.api.collection("/api/v1/nodes").put(node("n"))
    for each in VOLUME_RESOURCES:
        rig.api.collection(each.path)
    raw = pod("p") if code == 0 else using("data", name="p")
    rig.api.collection("/api/v1/pods").put(raw)
    rig.api.collection("/api/v1/persistentvolumeclaims").put({**bound("data", "v")})
    rig.api.collection(f"/api/v1/{forbidden}").lists.append(
        answering(lambda: failure(403, "Forbidden", "no"))
    )
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(pointing_to(str(rig.api.url))))
    arguments = ["explain", "p", "--kubeconfig", str(kubeconfig)]
    assert await asyncio.to_thread(cli.main, arguments) == code
    out, err = capsys.readouterr()
    if so := SO.get(forbidden):
        assert out.startswith("default/p fits" if code == 0 else "default/p may fit")
        assert err == NOTE.format(forbidden, so)
    else:
        assert "403 Forbidden" in err
