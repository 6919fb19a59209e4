"""The command explain on a live cluster."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import yaml

from affinityctl import cli
from tests.builders import node, pod
from tests.kube.fake_api import answering, failure
from tests.kube.rig import Rig
from tests.kube.test_quota_command import pointing_to

NOTE = "affinity-extender: note: no right to list resourcequotas, so quotas are not looked at\n"


@pytest.mark.parametrize(
    ("forbidden", "code"),
    [
        pytest.param("resourcequotas", 0, id="quotas are not looked at, and that is said"),
        pytest.param("nodes", 3, id="without nodes there is no answer"),
    ],
)
async def test_a_right_that_is_lacking(
    forbidden: str, code: int, rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("namespaces", "nodes", "pods", "resourcequotas"):
        rig.api.collection(f"/api/v1/{name}")
    rig.api.collection("/api/v1/nodes").put(node("n"))
    rig.api.collection("/api/v1/pods").put(pod("p"))
    rig.api.collection(f"/api/v1/{forbidden}").lists.append(
        answering(lambda: failure(403, "Forbidden", "no"))
    )
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(pointing_to(str(rig.api.url))))
    arguments = ["explain", "p", "--kubeconfig", str(kubeconfig)]
    assert await asyncio.to_thread(cli.main, arguments) == code
    out, err = capsys.readouterr()
    if code == 0:
        assert out.startswith("default/p fits")
        assert err == NOTE
    else:
        assert "403 Forbidden" in err
