"""The API server takes every object of every overlay, with no field that it does not know."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import pytest

from tests.deploy.kustomize import render
from tests.deploy.places import EVERY_OVERLAY, SERVICE
from tests.e2e.api import Api, ApiError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.objects import JSON
    from tests.e2e.sandbox import Sandbox

_APPLY = "application/apply-patch+yaml"


async def dry_run(api: Api, thing: JSON) -> JSON:
    """Apply an object on the server's side, up to the point where it would be stored."""
    version = thing["apiVersion"]
    group = f"/apis/{version}" if "/" in version else f"/api/{version}"
    listed = await api.get(group)
    (resource,) = (
        one
        for one in listed["resources"]
        if one["kind"] == thing["kind"] and "/" not in one["name"]
    )
    place = f"/namespaces/{thing['metadata']['namespace']}" if resource["namespaced"] else ""
    return await api.request(
        "PATCH",
        f"{group}{place}/{resource['name']}/{thing['metadata']['name']}",
        thing,
        content_type=_APPLY,
        dryRun="All",
        fieldManager="overlays",
        force="true",  # what the sandbox has granted is there already
        fieldValidation="Strict",
    )


@pytest.mark.parametrize("overlay", EVERY_OVERLAY, ids=lambda path: path.name)
async def test_the_api_server_takes_all_of_it(sandbox: Sandbox, overlay: Path) -> None:
    objects = render(overlay)
    assert objects
    for thing in objects:
        answer = await dry_run(sandbox.api, thing)
        assert answer["metadata"]["name"] == thing["metadata"]["name"]


async def test_a_field_that_does_not_exist_is_seen(sandbox: Sandbox) -> None:
    (service,) = (one for one in render(SERVICE) if one["kind"] == "Service")
    wrong = copy.deepcopy(service)
    wrong["spec"]["selektor"] = wrong["spec"].pop("selector")
    with pytest.raises(ApiError, match="selektor"):
        await dry_run(sandbox.api, wrong)
