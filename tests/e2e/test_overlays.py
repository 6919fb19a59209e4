"""The API server takes every object of every overlay, with no field that it does not know."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import pytest

from tests.deploy.kustomize import render
from tests.deploy.places import EVERY_OVERLAY, SERVICE
from tests.e2e.api import ApiError
from tests.e2e.applying import apply

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.sandbox import Sandbox


@pytest.mark.parametrize("overlay", EVERY_OVERLAY, ids=lambda path: path.name)
async def test_the_api_server_takes_all_of_it(sandbox: Sandbox, overlay: Path) -> None:
    objects = render(overlay)
    assert objects
    for thing in objects:
        answer = await apply(sandbox.api, thing, dryRun="All")
        assert answer["metadata"]["name"] == thing["metadata"]["name"]


async def test_a_field_that_does_not_exist_is_seen(sandbox: Sandbox) -> None:
    (service,) = (one for one in render(SERVICE) if one["kind"] == "Service")
    wrong = copy.deepcopy(service)
    wrong["spec"]["selektor"] = wrong["spec"].pop("selector")
    with pytest.raises(ApiError, match="selektor"):
        await apply(sandbox.api, wrong, dryRun="All")
