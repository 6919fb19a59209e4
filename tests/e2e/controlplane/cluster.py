"""A control plane without kubelets: etcd, kube-apiserver and mostly kube-controller-manager."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.e2e.controlplane.credentials import ADMIN, CONTROLLER_MANAGER, Credentials, User
from tests.e2e.controlplane.process import Probe, Process, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.e2e.controlplane.binaries import Binaries

_ADMISSION_OFF = (
    "ServiceAccount",  # no pod here mounts a token
    "StorageObjectInUseProtection",  # no controller would take its finalizers away again
    "TaintNodesByCondition",  # no kubelet and no node lifecycle would take the taint away again
)

CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "job-controller",
    "statefulset-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "resourcequota-controller",
    "serviceaccount-token-controller",
)
"""The default set minus what fights fake nodes (node lifecycle misses their heartbeats)."""


@dataclass(frozen=True, slots=True)
class Features:
    """What a control plane has switched on beyond the defaults of its version."""

    gates: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    """Group versions that are not served by default."""
    options: tuple[str, ...] = ()
    """More of the API server's."""

    def of_scheduler(self) -> list[str]:
        on = ",".join(gate if "=" in gate else f"{gate}=true" for gate in self.gates)
        return [f"--feature-gates={on}"] if on else []

    def of_apiserver(self) -> list[str]:
        on = ",".join(f"{api}=true" for api in self.apis)
        apis = [f"--runtime-config={on}"] if on else []
        return [*self.of_scheduler(), *apis, *self.options]


DEFAULT_FEATURES = Features()


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """Where the API server is, who may talk to it, and which processes make it up."""

    server: str
    binaries: Binaries
    credentials: Credentials
    folder: Path
    etcd: Process
    apiserver: Process
    controller_manager: Process | None = None
    features: Features = DEFAULT_FEATURES
    storage: str = ""
    """Where etcd is."""

    def kubeconfig(self, user: User) -> Path:
        """Write the file with which this user reaches the API server."""
        return self.credentials.kubeconfig(user, self.server)

    def check_alive(self) -> None:
        """Raise when one of the processes has ended by itself."""
        for process in (self.etcd, self.apiserver, self.controller_manager):
            if process is not None:
                process.check_alive()

    async def restart_apiserver(self, *options: str) -> None:
        """Start the API server anew over the same data, with these options beside the usual.

        The controllers start anew as well: else they would try again after ever longer waits.
        """
        controllers = self.controller_manager
        if controllers is not None:
            await asyncio.to_thread(controllers.stop)
        await asyncio.to_thread(self.apiserver.stop)
        self.apiserver.options = options
        self.apiserver.start()
        await asyncio.to_thread(self.apiserver.wait_ready)
        if controllers is not None:
            controllers.start()
            await asyncio.to_thread(controllers.wait_ready)

    async def back_up(self) -> Path:
        """Stop everything for a moment, and return a copy of what etcd has."""
        backup = self.folder / "etcd-backup"
        await asyncio.to_thread(self._stop_storage)
        shutil.copytree(self.folder / "etcd", backup)
        await asyncio.to_thread(self._start_storage)
        return backup

    async def restore(self, backup: Path) -> None:
        """Start etcd anew with what a copy has, and an API server over it, as the docs say."""
        await asyncio.to_thread(self._stop_storage)
        shutil.rmtree(self.folder / "etcd")
        shutil.copytree(backup, self.folder / "etcd")
        await asyncio.to_thread(self._start_storage)

    def _stop_storage(self) -> None:
        self.apiserver.stop()
        self.etcd.stop()

    def _start_storage(self) -> None:
        for process in (self.etcd, self.apiserver):
            process.start()
            process.wait_ready()


@contextmanager
def control_plane(
    binaries: Binaries,
    folder: Path,
    users: list[User],
    features: Features = DEFAULT_FEATURES,
    admission_off: Sequence[str] = _ADMISSION_OFF,
    *,
    controllers: Sequence[str] = CONTROLLERS,
) -> Iterator[ControlPlane]:
    """Run a control plane whose data, certificates and logs are in this folder."""
    options = features.of_apiserver()
    with (
        storage_and_apiserver(
            binaries, binaries, folder, users, *options, admission_off=admission_off
        ) as bare,
        _controller_manager(binaries, bare.credentials, bare.server, controllers) as manager,
    ):
        manager.wait_ready()
        yield replace(bare, controller_manager=manager, features=features)


@contextmanager
def storage_and_apiserver(
    binaries: Binaries,
    release: Binaries,
    folder: Path,
    users: list[User],
    *options: str,
    admission_off: Sequence[str] = _ADMISSION_OFF,
) -> Iterator[ControlPlane]:
    """Run etcd and the API server of a release, with these options, and no controllers."""
    credentials = Credentials(folder, [ADMIN, CONTROLLER_MANAGER, *users])
    storage, server = f"http://127.0.0.1:{free_port()}", f"https://127.0.0.1:{free_port()}"
    with ExitStack() as running:
        etcd = running.enter_context(_etcd(binaries, folder, storage))
        etcd.wait_ready()
        apiserver = _apiserver(release, credentials, server, storage, admission_off)
        apiserver.options = options
        running.enter_context(apiserver)
        apiserver.wait_ready()
        yield ControlPlane(server, binaries, credentials, folder, etcd, apiserver, storage=storage)


def _etcd(binaries: Binaries, folder: Path, client: str) -> Process:
    peer = f"http://127.0.0.1:{free_port()}"
    command = [
        binaries["etcd"],
        f"--data-dir={folder / 'etcd'}",
        "--unsafe-no-fsync",  # the data is thrown away, durability would only cost time
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--log-level=warn",
    ]
    return Process("etcd", command, folder / "etcd.log", Probe(f"{client}/health"))


def _apiserver(
    binaries: Binaries,
    credentials: Credentials,
    server: str,
    storage: str,
    admission_off: Sequence[str],
) -> Process:
    command = [
        binaries["kube-apiserver"],
        f"--etcd-servers={storage}",
        "--bind-address=127.0.0.1",
        f"--secure-port={urlsplit(server).port}",
        f"--tls-cert-file={credentials.server_certificate}",
        f"--tls-private-key-file={credentials.server_key}",
        f"--token-auth-file={credentials.tokens}",
        "--authorization-mode=RBAC",
        f"--disable-admission-plugins={','.join(admission_off)}",
        "--endpoint-reconciler-type=none",  # a loopback address is no valid endpoint
        "--service-cluster-ip-range=10.0.0.0/24",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={credentials.server_key}",
        f"--service-account-signing-key-file={credentials.server_key}",
    ]
    # All of readyz, so that the RBAC bootstrap roles are there as well.
    probe = Probe(f"{server}/readyz", ca=credentials.ca, token=ADMIN.token)
    return Process("kube-apiserver", command, credentials.folder / "kube-apiserver.log", probe)


def _controller_manager(
    binaries: Binaries, credentials: Credentials, server: str, controllers: Sequence[str]
) -> Process:
    port = free_port()
    command = [
        binaries["kube-controller-manager"],
        f"--kubeconfig={credentials.kubeconfig(CONTROLLER_MANAGER, server)}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--controllers={','.join(controllers)}",
        f"--service-account-private-key-file={credentials.server_key}",
        f"--root-ca-file={credentials.ca}",
    ]
    log = credentials.folder / "kube-controller-manager.log"
    return Process(
        "kube-controller-manager", command, log, Probe(f"https://127.0.0.1:{port}/healthz")
    )
