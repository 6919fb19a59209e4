"""The documented kubeadm install starts: its user, a read-only root, embedded certificates."""

from __future__ import annotations

import base64
import re
import ssl
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from tests.builders import node, pod
from tests.deploy.places import MANIFESTS
from tests.deploy.pods import extender, static_pod
from tests.deploy.sandbox import confined
from tests.deploy.starting import started, until_ready
from tests.kube.fake_api import FakeApi
from tests.kube.pulse import Pulse
from tests.missing import needs_depth

IMAGE = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1", "PATH": "/usr/bin:/bin"}
"""The environment of the image: neither HOME nor TMPDIR."""


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """Issuer of all certificates, as a cluster's own."""
    return trustme.CA()


@pytest.fixture
async def api(authority: trustme.CA) -> AsyncIterator[FakeApi]:
    """Serve a small cluster to whoever shows a certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    async with FakeApi(Pulse(), tls=context) as served:
        served.collection("/api/v1/namespaces").put({"metadata": {"name": "default"}})
        served.collection("/api/v1/nodes").put(node("n", {"zone": "a"}))
        served.collection("/api/v1/pods").put(pod("p").on("n"))
        yield served


def embedded(pem: bytes) -> str:
    return base64.b64encode(pem).decode()


def write_settings(folder: Path, server: str, authority: trustme.CA) -> dict[str, Path]:
    """Write what the install puts on the host, as `kubeadm kubeconfig user` would."""
    issued = authority.issue_cert("affinity-extender@test", common_name="affinity-extender")
    user = {
        "client-certificate-data": embedded(issued.cert_chain_pems[0].bytes()),
        "client-key-data": embedded(issued.private_key_pem.bytes()),
    }
    cluster = {
        "server": server,
        "certificate-authority-data": embedded(authority.cert_pem.bytes()),
    }
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "it",
        "clusters": [{"name": "kubernetes", "cluster": cluster}],
        "users": [{"name": "affinity-extender", "user": user}],
        "contexts": [
            {"name": "it", "context": {"cluster": "kubernetes", "user": "affinity-extender"}}
        ],
    }
    folder.chmod(0o755)
    files = {"config": folder / "config.yaml", "kubeconfig": folder / "kubeconfig"}
    files["config"].write_bytes((MANIFESTS / "base" / "config.yaml").read_bytes())
    files["kubeconfig"].write_text(yaml.safe_dump(document))
    for file in files.values():
        file.chmod(0o444)
    return files


def shipped_arguments(files: dict[str, Path]) -> list[str]:
    """Return the static pod's arguments, with its files where they are in this test."""
    (command, *flags) = extender(static_pod())["args"]
    named = [re.sub(r"^--(\w+)=.*", lambda flag: f"--{flag[1]}={files[flag[1]]}", f) for f in flags]
    return [command, *named, "--port=0", "--ops-port=0"]


def serve(arguments: list[str]) -> list[str]:
    return [sys.executable, "-m", "extender", *arguments]


def environment() -> dict[str, str]:
    return {**IMAGE, "PYTHONPATH": ":".join(filter(None, sys.path))}


async def test_it_gets_ready_as_the_images_user_where_nothing_can_be_written(
    tmp_path: Path, api: FakeApi, authority: trustme.CA
) -> None:
    arguments = shipped_arguments(write_settings(tmp_path, api.url, authority))
    async with started(confined(serve(arguments)), environment()) as program:
        report = await until_ready(program.operations)
    assert "informer-sync/pods ok" in report


@needs_depth
async def test_killed_it_leaves_nothing_behind(
    tmp_path: Path, api: FakeApi, authority: trustme.CA
) -> None:
    arguments = shipped_arguments(write_settings(tmp_path, api.url, authority))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environ: dict[str, Any] = {**environment(), "TMPDIR": str(temporary)}
    async with started(serve(arguments), environ) as program:
        await until_ready(program.operations)
        program.process.kill()
        await program.process.wait()
    assert list(temporary.iterdir()) == []
