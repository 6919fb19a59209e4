"""How late a bind may be carried out that its sender gave up, while etcd stands still."""

from __future__ import annotations

import asyncio
import os
import signal
from time import monotonic
from typing import TYPE_CHECKING

import pytest

from extender.core.cluster.ledgers.reservations import RESERVATION_SECONDS
from extender.core.kube.limits import WITHIN
from extender.features.binding.binds import ANSWER_SECONDS
from tests.e2e.api import Api, ApiError
from tests.e2e.objects import node, pod

if TYPE_CHECKING:
    from tests.e2e.sandbox import Sandbox

STOPPED_S = 37.0
"""Longer than the API server works on a request: requestTimeoutUpperBound is 34 s."""
GIVEN_UP_S = ANSWER_SECONDS - WITHIN.look
RECOVERED_S = 30.0
IMPATIENT = [f"impatient-{number}" for number in range(16)]
"""What etcd has in its hands when it goes on, it carries out or not; each is a throw of a coin."""


async def post(api: Api, name: str) -> None:
    """Bind a pod as the extender does."""
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": "default"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
    }
    await api.create(f"/api/v1/namespaces/default/pods/{name}/binding", binding)


async def give_up(api: Api, name: str) -> None:
    """Bind a pod, and close the connection when the extender would."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(GIVEN_UP_S):
            await post(api, name)


@pytest.mark.long
async def test_a_bind_that_was_given_up_is_carried_out_when_etcd_goes_on(sandbox: Sandbox) -> None:
    await sandbox.add(node("n1"))
    for name in ("patient", *IMPATIENT):
        await sandbox.api.create("/api/v1/namespaces/default/pods", pod(name))
    stopped = monotonic()
    os.kill(sandbox.control_plane.etcd.pid, signal.SIGSTOP)
    try:
        patient = asyncio.create_task(post(sandbox.api, "patient"))
        await asyncio.gather(*(give_up(sandbox.api, name) for name in IMPATIENT))
        # Whoever waits is told after 34 s; the write may be carried out all the same.
        with pytest.raises(ApiError) as refusal:
            await patient
        assert refusal.value.status in {409, 504}
        assert 33.0 < monotonic() - stopped < STOPPED_S
        await asyncio.sleep(stopped + STOPPED_S - monotonic())
    finally:
        os.kill(sandbox.control_plane.etcd.pid, signal.SIGCONT)

    def late() -> list[str]:
        return [
            name
            for name in IMPATIENT
            if sandbox.pods.objects[f"default/{name}"]["spec"].get("nodeName") == "n1"
        ]

    await sandbox.pods.until(lambda: late() != [], RECOVERED_S, "a bind to be carried out late")
    assert monotonic() - stopped - GIVEN_UP_S < RESERVATION_SECONDS
