"""What the program asks of the API server in simulated clusters, beside its rights and its traces.

Too many rights are as wrong as missing ones: what is given and never used is named here with a
reason. A trace that a feature does not name would stay behind when the program is removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from affinityctl.commands.lint.rights import needed_rights
from extender.core.config.features import Right, Trace, Want, features, wants
from extender.core.resources import RESOURCES, of_features
from simulation.configuration import configured
from simulation.plan import make_plan
from simulation.transport import Session
from simulation.world import run
from tests.deploy.places import MANIFESTS, read_objects

SEEDS: Final = (474, 203, 53, 251, 342, 20, 392, 397)
"""Short ones that do together all that has a right: preemptions, contention, costs in both modes,
gangs, moves, evictions and rules in annotations."""
OF_LEASE: Final = {Right("coordination.k8s.io", "leases", v) for v in ("create", "get", "update")}
NOT_EXERCISED: Final[dict[Right, str]] = {}
"""Each right that no run uses, with why it is given all the same."""

Call = tuple[str, str, dict[str, str], Any]
"""Method, path, query and body of a request."""


def calls(seed: int) -> tuple[Call, ...]:
    """Return what the extenders of a run ask of the API server."""
    found: list[Call] = []
    request = Session.request

    async def recorded(self: Session, method: str, url: Any, **more: Any) -> Any:
        body = json.loads(more["data"]) if more["data"] else None
        found.append((method, url.path, dict(url.query), body))
        return await request(self, method, url, **more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Session, "request", recorded)
        outcome = run(make_plan(seed))
    assert outcome.broken is None
    return tuple(found)


def right(call: Call) -> Right:
    """Return the right that a request needs, as the API server's RequestInfo has it."""
    method, path, query, _ = call
    _, root, *parts = path.split("/")
    group = "" if root == "api" else parts.pop(0)
    _version, *parts = parts
    if parts[0] == "namespaces" and len(parts) > 2:
        parts = parts[2:]
    resource, name, *sub = [*parts, ""][: max(2, len(parts))]
    verb = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}.get(method)
    if verb is None:
        verb = "watch" if query.get("watch") == "true" else "get" if name else "list"
    return Right(group, "/".join((resource, *sub)), verb)


def written(call: Call) -> Iterator[Trace]:
    """Yield what a request writes on a pod."""
    method, path, _, body = call
    is_bind = path.endswith("/binding")
    if "/pods/" not in path or not (method == "PATCH" or is_bind):
        return
    if isinstance(body, list):
        for step in body:
            _, part, name = step["path"].split("/")
            if step["op"] != "test":
                assert part == "status"
                yield Trace("field", name)
        return
    for name in body.get("metadata", {}).get("annotations", ()):
        yield Trace("annotation", name)
    for each in body.get("status", {}).get("conditions", ()):
        yield Trace("condition", each["type"])
    others = {"metadata", "status", *(("apiVersion", "kind", "target") if is_bind else ())}
    assert body.keys() <= others
    assert body.get("status", {}).keys() <= {"conditions"}
    assert body["metadata"].keys() <= {"annotations", "uid", "resourceVersion", "namespace", "name"}


@pytest.mark.thorough
def test_calls_are_what_rights_and_traces_say_and_nothing_is_said_in_excess() -> None:
    used: set[Right] = set()
    left: set[tuple[str, str]] = set()
    for seed in SEEDS:
        config = configured(make_plan(seed).setup)
        given = {*needed_rights(config), *(OF_LEASE if wants(config, Want.LEASE) else ())}
        made = calls(seed)
        asked = {right(each) for each in made}
        assert asked <= given, f"seed {seed}"
        used |= asked
        left |= {(each.place, each.name) for one in made for each in written(one)}
    resources = (*RESOURCES, *of_features())
    read = {Right(of.group, of.name, verb) for of in resources for verb in ("list", "watch")}
    declared = {one for each in features() for one in each.rights} | read | OF_LEASE
    assert declared - used == NOT_EXERCISED.keys()
    assert left == {(each.place, each.name) for of in features() for each in of.traces}


def test_the_rights_about_the_lease_are_those_of_the_features_that_share_it() -> None:
    for feature in features():
        file = MANIFESTS / "components" / feature.component / "rbac.yaml"
        rules = [
            rule
            for one in (read_objects(file) if file.exists() else ())
            if one["kind"] == "Role"
            for rule in one["rules"]
        ]
        given = {
            Right(g, r, v)
            for of in rules
            for g in of["apiGroups"]
            for r in of["resources"]
            for v in of["verbs"]
        }
        assert given == (OF_LEASE if Want.LEASE in feature.wants else set()), feature.name
        for rule in rules:
            named = rule.get("resourceNames")
            assert named == (None if rule["verbs"] == ["create"] else ["affinity-extender"])
