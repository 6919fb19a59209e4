"""Runs the containers of a pod as a kubelet does, but as processes of this machine.

Each sees the volumes of its pod where they are mounted, in a mount namespace of its own.
"""

from __future__ import annotations

import asyncio
import base64
import shutil
import subprocess
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.deploy.pods import containers
from tests.deploy.sandbox import require_namespaces
from tests.e2e.access import token_of
from tests.e2e.controlplane.process import Probe, Process

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from tests.e2e.api import Api
    from tests.e2e.controlplane.cluster import ControlPlane
    from tests.e2e.objects import JSON

_START_S = 60.0
_MOUNTED = """
set -eu
mount --make-rprivate /
mount --bind "$1" /etc
mount -t tmpfs none /run
shift
while [ "$1" != -- ]; do
  mkdir -p "$2"
  mount --bind "$1" "$2"
  shift 2
done
shift
exec "$@"
"""


@dataclass(frozen=True, slots=True)
class Program:
    """What stands in for an image."""

    entrypoint: str
    port: int
    """Where it is called."""
    ready: str
    """The URL that tells, where no command does."""
    flags: Sequence[str]
    """Those that keep it out of the way of others on this machine."""


@dataclass(frozen=True, slots=True)
class Kubelet:
    """Runs pods, with its files in a folder."""

    cluster: ControlPlane
    api: Api
    programs: Mapping[str, Program]
    """By the name of the image."""
    folder: Path
    hosts: Sequence[str] = ()
    """Names that lead to this machine, as those of Services do."""

    @asynccontextmanager
    async def running(self, pod: JSON) -> AsyncIterator[None]:
        """Run a pod; each container starts when the one before has answered."""
        require_namespaces()
        folder = self.folder / pod["metadata"]["name"]
        await asyncio.to_thread(shutil.copytree, "/etc", folder / "etc", symlinks=True)
        (folder / "etc" / "hosts").write_text(f"127.0.0.1 localhost {' '.join(self.hosts)}\n")
        volumes = {each["name"]: folder / each["name"] for each in pod["spec"]["volumes"]}
        for each in pod["spec"]["volumes"]:
            await self._fill(pod, each, volumes[each["name"]])
        async with AsyncExitStack() as stack:
            for each in containers(pod):
                within = self._within(folder / "etc", each, volumes)
                program = self.programs[each["image"].rpartition(":")[0]]
                arguments = [*each.get("command", ())[1:], *each.get("args", ())]
                test = each.get("startupProbe", {}).get("exec", {}).get("command")
                process = Process(
                    each["name"],
                    [*within, program.entrypoint, *arguments, *(() if test else program.flags)],
                    folder / f"{each['name']}.log",
                    Probe(program.ready),
                )
                process.grace = pod["spec"]["terminationGracePeriodSeconds"]
                stack.enter_context(process)
                if test:
                    await _passes([*within, *test], process)
                else:
                    await asyncio.to_thread(process.wait_ready, _START_S)
            yield

    def _within(self, etc: Path, container: JSON, volumes: Mapping[str, Path]) -> list[str]:
        """Return what runs a command with the volumes and the environment of a container."""
        mounts = [
            text
            for each in container["volumeMounts"]
            for text in (str(volumes[each["name"]]), each["mountPath"])
        ]
        server = urlsplit(self.cluster.server)
        return [
            *("unshare", "--mount", "sh", "-c", _MOUNTED, "sh", str(etc), *mounts, "--", "env"),
            f"KUBERNETES_SERVICE_HOST={server.hostname}",
            f"KUBERNETES_SERVICE_PORT={server.port}",
        ]

    async def _fill(self, pod: JSON, volume: JSON, folder: Path) -> None:
        folder.mkdir()  # noqa: ASYNC240 (a moment)
        for source in volume.get("projected", {}).get("sources", [volume]):
            for name, content in (await self._files(pod, source)).items():
                (folder / name).write_bytes(content)

    async def _files(self, pod: JSON, source: JSON) -> dict[str, bytes]:
        namespace = pod["metadata"]["namespace"]
        space = f"/api/v1/namespaces/{namespace}"
        match source:
            case {"configMap": {"name": name}}:
                found = await self.api.get(f"{space}/configmaps/{name}")
                return {key: text.encode() for key, text in found["data"].items()}
            case {"secret": {"secretName": name}}:
                found = await self.api.get(f"{space}/secrets/{name}")
                return {key: base64.b64decode(text) for key, text in found["data"].items()}
            case {"serviceAccountToken": {"path": path, "expirationSeconds": seconds}}:
                account = f"{space}/serviceaccounts/{pod['spec']['serviceAccountName']}"
                given = await token_of(self.api, account, pod["metadata"]["name"], seconds)
                return {path: given.encode()}
            case {"downwardAPI": {"items": [{"path": "namespace"}]}}:
                return {"namespace": namespace.encode()}
            case {"emptyDir": _}:
                return {}
        raise AssertionError(f"this kubelet does not know {source}")


async def _passes(test: list[str], process: Process) -> None:
    """Return once a command succeeds, as a probe asks it."""
    async with asyncio.timeout(_START_S):
        while (await asyncio.to_thread(subprocess.run, test, check=False)).returncode:
            process.check_alive()
            await asyncio.sleep(0.1)
