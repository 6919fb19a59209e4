"""Runs a plugin for credentials, as client-go does, and leaves nothing of it running."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kubernetes_asyncio.config import ConfigException

from extender.core.errors import one_line
from extender.core.kube.clientcmd import Chosen
from extender.core.kube.kubeconfig_file import Cluster, Exec
from extender.core.kube.limits import MOST

_EXTENSION = "client.authentication.k8s.io/exec"


async def run_plugin(plugin: Exec, chosen: Chosen) -> Mapping[str, Any]:
    """Return the status that a plugin prints; ConfigException for another answer than that.

    It ends with the call, and so does what it has started, whatever the call ends by.
    """
    interactive = _interactive(plugin)
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.provide_cluster_info:
        spec["cluster"] = cluster_info(chosen)
    asked = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    environ = os.environ | {each.name: each.value or "" for each in plugin.env or ()}
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command or "",
            *(plugin.args or ()),
            env=environ | {"KUBERNETES_EXEC_INFO": json.dumps(asked)},
            stdin=None if interactive else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # One that asks on the terminal has to stay in its session.
            start_new_session=not interactive,
        )
    except FileNotFoundError as error:
        hint = one_line(plugin.install_hint or "is it installed?", MOST.detail)
        raise ConfigException(f"exec: there is no {plugin.command}; {hint}") from error
    try:
        said, complaint = await process.communicate()
    except BaseException:
        await _end(process, with_all=not interactive)
        raise
    if process.returncode:
        reason = one_line(complaint.decode(errors="replace"), MOST.detail)
        told = f": {reason}" if reason else ""
        raise ConfigException(f"exec: {plugin.command} returned {process.returncode}{told}")
    return _status(said, plugin)


def cluster_info(chosen: Chosen) -> dict[str, Any]:
    """Return what a plugin is told of its cluster when it asks for that."""
    cluster = chosen.cluster
    extensions = cluster.extensions or ()
    found = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": _authority(cluster),
        "proxy-url": cluster.proxy_url,
        "disable-compression": cluster.disable_compression,
        "config": next(
            (each.get("extension") for each in extensions if each.get("name") == _EXTENSION), None
        ),
    }
    return {name: value for name, value in found.items() if value}


def _authority(cluster: Cluster) -> str | None:
    if cluster.certificate_authority_data or not cluster.certificate_authority:
        return cluster.certificate_authority_data
    return base64.b64encode(Path(cluster.certificate_authority).read_bytes()).decode()


def _interactive(plugin: Exec) -> bool:
    terminal = sys.stdin is not None and sys.stdin.isatty()
    if plugin.interactive_mode == "Always" and not terminal:
        raise ConfigException("exec: interactiveMode is Always, and there is no terminal to ask on")
    return terminal and plugin.interactive_mode != "Never"


def _status(said: bytes, plugin: Exec) -> Mapping[str, Any]:
    try:
        found = json.loads(said)
    except (ValueError, RecursionError) as error:
        raise ConfigException(f"exec: {plugin.command} printed no JSON: {error}") from error
    answer = found if isinstance(found, dict) else {}
    if answer.get("kind") != "ExecCredential" or answer.get("apiVersion") != plugin.api_version:
        kind = f"{answer.get('apiVersion')} {answer.get('kind')}"
        expected = f"{plugin.api_version} ExecCredential"
        raise ConfigException(f"exec: {plugin.command} printed {kind}, expected {expected}")
    status = answer.get("status")
    if not isinstance(status, dict):
        raise ConfigException(f"exec: {plugin.command} printed no status")
    return status


async def _end(process: asyncio.subprocess.Process, *, with_all: bool) -> None:
    with contextlib.suppress(ProcessLookupError):
        if with_all:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    # What holds its output open, and is not ours to end, is not waited for.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(1.0):
            await process.communicate()
