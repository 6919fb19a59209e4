"""k9s takes the plugins, and what they run is what our own parser understands.

The schema is k9s' own, unchanged: internal/config/json/schemas/plugins.json of derailed/k9s at
24cf4628 (after v0.51.0), Apache License 2.0, Copyright Authors of K9s.
"""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.deploy.places import INTEGRATIONS, read_yaml
from tests.integrations.commands import FLAG, HOSTILE, asked

DOCUMENT = read_yaml(INTEGRATIONS / "k9s" / "plugins.yaml")
PLUGINS: dict[str, dict[str, Any]] = DOCUMENT["plugins"]
SCHEMA = json.loads(Path(__file__).with_name("k9s-plugins.schema.json").read_text())
FIELDS = SCHEMA["properties"]["plugins"]["additionalProperties"]["properties"]
VARIABLE = re.compile(r"\$\{?(!?)([\w\-]+)\}?")
"""As `envRX` of k9s' internal/view/env.go, without columns."""

ASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "affinity-explain": ("explain", {"pods": ["{NAME}"], "namespace": "{NAMESPACE}"}),
    "affinity-explain-workload": (
        "explain",
        {"pods": ["{RESOURCE_NAME}/{NAME}"], "namespace": "{NAMESPACE}"},
    ),
    "affinity-restart": (
        "simulate",
        {"changes": [("--restart", "{RESOURCE_NAME}/{NAME}")], "namespace": "{NAMESPACE}"},
    ),
    "affinity-drain": ("simulate", {"changes": [("--drain", "node/{NAME}")]}),
}
"""What each plugin asks, with the variables of k9s."""
USUAL = {
    "NAME": "web-0",
    "NAMESPACE": "shop",
    "CONTEXT": "kind-test",
    "KUBECONFIG": "/home/me/.kube/config",
    "RESOURCE_NAME": "deployments",
}


def substituted(text: str, variables: dict[str, str]) -> str:
    """Put values in, as k9s does."""
    found = sorted(VARIABLE.finditer(text), key=lambda each: -len(each[0]))
    for each in found:
        if each[2] in variables:
            text = text.replace(each[0], variables[each[2]])
    return text


def filled(value: Any, variables: dict[str, str]) -> Any:
    if isinstance(value, str):
        return value.format(**variables)
    return type(value)(filled(each, variables) for each in value)


def test_k9s_takes_the_file() -> None:
    jsonschema.validate(DOCUMENT, SCHEMA)
    # The schema lets fields pass that k9s does not have.
    assert {field for each in PLUGINS.values() for field in each} <= FIELDS.keys()


def test_the_schema_finds_what_is_missing() -> None:
    with pytest.raises(jsonschema.ValidationError, match="'scopes' is a required property"):
        jsonschema.validate(
            {"plugins": {"a": {"shortCut": "a", "description": "b", "command": "c"}}}, SCHEMA
        )


def test_no_two_plugins_of_one_view_have_the_same_key() -> None:
    for one, other in combinations(PLUGINS.values(), 2):
        if set(one["scopes"]) & set(other["scopes"]):
            assert one["shortCut"] != other["shortCut"]


SORTS = {f"Shift-{each}" for each in "ACDLNPRSTUIMOXZFJV"}
"""Keys of pods, nodes and workloads in k9s before it chose columns by arrows, and their other keys
now. A plugin with one of these is left out: duplicate plugin key found."""


def test_no_plugin_has_a_key_of_k9s_itself() -> None:
    assert SORTS.isdisjoint(each["shortCut"] for each in PLUGINS.values())


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({}, id="usual names"),
        pytest.param({"NAME": FLAG, "NAMESPACE": FLAG, "CONTEXT": FLAG}, id="flags as names"),
        pytest.param(dict.fromkeys(USUAL, HOSTILE), id="names that a shell would run"),
    ],
)
@pytest.mark.parametrize("name", PLUGINS)
def test_it_asks_what_it_says(name: str, changed: dict[str, str], tmp_path: Path) -> None:
    plugin, variables = PLUGINS[name], USUAL | changed
    arguments = [substituted(each, variables) for each in plugin["args"]]
    flags, environ, _ = asked([plugin["command"], *arguments], tmp_path)
    command, expected = ASKS[name]
    assert flags.command == command
    assert flags.context == variables["CONTEXT"]
    assert environ["KUBECONFIG"] == variables["KUBECONFIG"]
    found = vars(flags) | {
        "changes": [(each.kind.value, each.value) for each in getattr(flags, "changes", ())]
    }
    assert {each: found[each] for each in expected} == {
        each: filled(value, variables) for each, value in expected.items()
    }
