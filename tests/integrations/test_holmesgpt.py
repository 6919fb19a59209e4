"""HolmesGPT takes the toolset, and no value that a model makes up becomes a script or a flag.

HolmesGPT publishes no schema. `Toolset` and `Tool` have the fields of its `Toolset` and `YAMLTool`
(holmes/core/tools.py of 0.45.0) that may be in a file.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from jinja2 import Template

from tests.deploy.places import INTEGRATIONS, read_yaml
from tests.integrations.commands import FLAG, HOSTILE, asked


class Parameter(msgspec.Struct, forbid_unknown_fields=True):
    description: str
    type: str = "string"
    required: bool = True
    enum: list[Any] | None = None


class Tool(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    description: str
    command: str
    parameters: dict[str, Parameter] = {}
    user_description: str | None = None


class Prerequisite(msgspec.Struct, forbid_unknown_fields=True):
    command: str
    expected_output: str | None = None


class Toolset(msgspec.Struct, forbid_unknown_fields=True):
    description: str
    tools: list[Tool]
    prerequisites: list[Prerequisite]
    tags: list[Literal["core", "cluster", "cli"]]
    installation_instructions: str
    enabled: bool = True
    docs_url: str | None = None
    approval_required_tools: list[str] = []


DOCUMENT = read_yaml(INTEGRATIONS / "holmesgpt" / "toolset.yaml")
(TOOLSET,) = msgspec.convert(DOCUMENT["toolsets"], dict[str, Toolset]).values()
TOOLS = {each.name: each for each in TOOLSET.tools}

ASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "affinity_waiting_pods": ("explain", {"pods": [], "all_namespaces": True}),
    "affinity_explain_pod": ("explain", {"pods": ["{pod}"], "namespace": "{namespace}"}),
    "affinity_simulate_drain": ("simulate", {"changes": [("--drain", "{nodes}")]}),
    "affinity_simulate_restart": (
        "simulate",
        {"changes": [("--restart", "{workload}")], "namespace": "{namespace}"},
    ),
    "affinity_lint": ("lint", {"files": [], "fix": False}),
}
"""What each tool asks, with the variables of its command."""
USUAL = {"pod": "web-0", "namespace": "shop", "nodes": "n1,n2", "workload": "deployment/web"}
every_tool = pytest.mark.parametrize("name", TOOLS)


def line(tool: Tool, value: str | None) -> list[str]:
    """Return what HolmesGPT runs: it quotes each value, and puts it in."""
    quoted = {each: shlex.quote(value or USUAL[each]) for each in tool.parameters}
    return ["/bin/bash", "-c", Template(os.path.expandvars(tool.command)).render(quoted)]


def filled(given: Any, value: str | None) -> Any:
    if isinstance(given, str):
        return given.format(**dict.fromkeys(USUAL, value) if value else USUAL)
    return given if isinstance(given, bool) else type(given)(filled(e, value) for e in given)


@every_tool
def test_each_variable_is_described(name: str) -> None:
    used = set(re.findall(r"{{ (\w+) }}", TOOLS[name].command))
    assert used == TOOLS[name].parameters.keys()


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="usual names"),
        pytest.param(FLAG, id="a flag as each value"),
        pytest.param(HOSTILE, id="values that a shell would run"),
    ],
)
@every_tool
def test_it_asks_what_it_says(name: str, value: str | None, tmp_path: Path) -> None:
    flags, _, _ = asked(line(TOOLS[name], value), tmp_path)
    command, expected = ASKS[name]
    assert (flags.command, flags.cluster, flags.as_user) == (command, [], None)
    found = vars(flags) | {
        "changes": [(each.kind.value, each.value) for each in getattr(flags, "changes", ())]
    }
    assert {each: found[each] for each in expected} == {
        each: filled(given, value) for each, given in expected.items()
    }


@pytest.mark.parametrize(
    ("code", "failed"),
    [
        pytest.param(0, False, id="fine"),
        pytest.param(1, False, id="what was looked for is not fine"),
        pytest.param(2, True, id="wrong use"),
        pytest.param(3, True, id="the cluster cannot be read"),
        pytest.param(4, False, id="it cannot be known"),
    ],
)
@every_tool
def test_an_answer_is_no_failure(name: str, code: int, failed: bool, tmp_path: Path) -> None:
    _, _, ended = asked(line(TOOLS[name], None), tmp_path, code)
    assert (ended != 0) == failed


def test_the_prerequisite_is_a_command_of_the_plugin(tmp_path: Path) -> None:
    (prerequisite,) = TOOLSET.prerequisites
    flags, _, _ = asked(["/bin/bash", "-c", prerequisite.command], tmp_path)
    assert flags.command == "version"
