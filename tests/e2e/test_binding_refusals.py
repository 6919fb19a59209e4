"""What the API server refuses a Binding for: the extender knows at once that it binds nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from extender.core.kube.client import ApiClient
from extender.core.kube.credentials import load_credentials
from extender.core.kube.reader import ObjectReader
from extender.core.model.keys import Key
from extender.core.wire.objects import PodReader
from extender.features.binding.binder import Binder
from extender.features.binding.outcome import BindOutcome
from tests.e2e.extending import EXTENDER
from tests.e2e.objects import JSON, node, pod
from tests.e2e.sandbox import pod_path

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.sandbox import Sandbox

FINALIZER = "example.com/held"
POD = pod("web")
HELD = POD | {"metadata": {**POD["metadata"], "finalizers": [FINALIZER]}}
GATED = POD | {"spec": {**POD["spec"], "schedulingGates": [{"name": "example.com/quota"}]}}
WITHIN_S = 10.0


@pytest.fixture
async def binder(sandbox: Sandbox) -> AsyncIterator[Binder]:
    credentials = await load_credentials(str(sandbox.control_plane.kubeconfig(EXTENDER)))
    async with ApiClient(credentials) as client:
        yield Binder(client, ObjectReader(client, PodReader()))


@pytest.mark.parametrize(
    ("raw", "change", "outcome", "says"),
    [
        pytest.param(HELD, "delete", BindOutcome.GONE, "is being deleted", id="deletionTimestamp"),
        pytest.param(POD, "bind", BindOutcome.ELSEWHERE, "bound to b already", id="nodeName"),
        pytest.param(GATED, "", BindOutcome.REFUSED, "schedulingGates", id="schedulingGates"),
        pytest.param(POD, "replace", BindOutcome.GONE, "the pod is gone", id="uid"),
    ],
)
async def test_a_refusal_is_clear(  # noqa: PLR0917 - a table's columns
    sandbox: Sandbox, binder: Binder, raw: JSON, change: str, outcome: BindOutcome, says: str
) -> None:
    await sandbox.add(node("a"), node("b"), raw)
    seen = await binder.read(Key("default/web"))
    assert seen is not None
    if change == "bind":
        assert (await binder.bind(seen.pod, "b", WITHIN_S)).outcome is BindOutcome.BOUND
    elif change:
        await sandbox.api.delete(pod_path(raw))
    if change == "replace":
        await sandbox.add(raw)
    try:
        bound = await binder.bind(seen.pod, "a", WITHIN_S)
        assert bound.outcome is outcome
        assert says in bound.why
    finally:
        await sandbox.api.patch(pod_path(raw), {"metadata": {"finalizers": None}})
