"""The shipped roles let the extender do what it needs, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.access import is_allowed
from tests.e2e.extending import EXTENDER

if TYPE_CHECKING:
    from tests.e2e.sandbox import Sandbox


@pytest.mark.parametrize(
    ("verb", "resource", "allowed"),
    [
        *(
            pytest.param(verb, resource, True, id=f"may {verb} {resource}")
            for verb in ("list", "watch")
            for resource in ("pods", "nodes", "namespaces", "resourcequotas")
        ),
        pytest.param("create", "pods", False, id="may not create pods"),
        pytest.param("delete", "pods", True, id="may delete pods for more important ones"),
        pytest.param("delete", "nodes", False, id="may not delete nodes"),
        pytest.param("patch", "nodes", False, id="may not change nodes"),
        pytest.param("list", "secrets", False, id="may not read secrets"),
        pytest.param("list", "configmaps", False, id="may not read config maps"),
    ],
)
async def test_the_role_grants(
    sandbox: Sandbox, verb: str, resource: str, *, allowed: bool
) -> None:
    assert await is_allowed(sandbox.api, EXTENDER, verb, resource) is allowed
