"""Fixes as JSON patches (RFC 6902), and the kubectl commands that apply them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

import msgspec

from affinityctl.commands.lint.finding import Finding, Report
from affinityctl.commands.lint.template import Template
from affinityctl.terminal.printing import wrapped
from extender.core.errors import printable
from extender.core.model.labels import TEMPLATE_HASH

Operation: TypeAlias = dict[str, Any]

REPLACE_FIRST: Final = {
    "type": "RollingUpdate",
    "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1},
}
"""The strategy that takes an old pod away before it makes a new one."""

STEP: Final = re.compile(r"[^.\[\]]+|\[\d+\]")
"""Of a path such as spec.affinity.podAffinity[0]."""

_FIXED: Final = frozenset(("Pod", "Job"))
"""Kinds of which the API server takes no other spec."""


def add(path: str, value: object) -> Operation:
    """Return what sets a field, whether it is there or not."""
    return {"op": "add", "path": _pointer(path), "value": value}


def remove(path: str) -> Operation:
    return {"op": "remove", "path": _pointer(path)}


def spread(template: Template, key: str, selector: object, when: str) -> tuple[Operation, ...]:
    """Return what adds a topology spread constraint to those that there are."""
    path = f"{template.owner.path}.topologySpreadConstraints"
    constraint: dict[str, object] = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": when,
        "labelSelector": selector,
    }
    if template.owner.kind == "Deployment":
        constraint["matchLabelKeys"] = [TEMPLATE_HASH]
    first = () if template.spread else (add(path, []),)
    return (*first, add(f"{path}.-", constraint))


def _pointer(path: str) -> str:
    return "".join(f"/{each.strip('[]')}" for each in STEP.findall(path))


def merged(found: Iterable[Finding]) -> list[Operation]:
    """Return the patch for all that was found in one object.

    Items of lists go last, the later ones first: no index that comes after is another's then.
    """
    every = [each for finding in found for each in finding.patch]
    unique = [each for index, each in enumerate(every) if each not in every[:index]]
    removed = sorted((each for each in unique if each["op"] == "remove"), key=_index, reverse=True)
    return [*(each for each in unique if each["op"] != "remove"), *removed]


def _index(operation: Operation) -> tuple[str, int]:
    before, _, index = operation["path"].rpartition("/")
    return before, int(index) if index.isdecimal() else 0


def script(report: Report) -> str:
    """Write a kubectl command for each object that can be patched, and what none is for.

    The fix of a rule stands above the first command that is for it.
    """
    by_object: dict[str, list[Finding]] = {}
    for each in report.findings:
        by_object.setdefault(each.place.object, []).append(each)
    told: set[str] = set()
    lines = [line for name, found in by_object.items() for line in _command(name, found, told)]
    return "\n".join(lines or ["# nothing found"])


def _command(name: str, found: list[Finding], told: set[str]) -> Iterator[str]:
    kind, _, key = name.partition(" ")
    namespace, _, name_alone = key.rpartition("/")
    fixed = {each.rule.id: each.rule.fix for each in found if each.patch and kind not in _FIXED}
    left = {each.rule.id: None for each in found if each.rule.id not in fixed}
    if left:
        yield _comment(f"{name}: no patch for {', '.join(left)}")
    if fixed:
        patch = msgspec.json.encode(merged(found)).decode()
        yield f"# {printable(name)}: {', '.join(fixed)}"
        yield from (_comment(f"{rule}: {fix}") for rule, fix in fixed.items() if rule not in told)
        told.update(fixed)
        yield (
            f"kubectl patch {kind.lower()} {shlex.quote(name_alone)} --namespace "
            f"{shlex.quote(namespace)} --type json --patch {shlex.quote(patch)}"
        )


def _comment(text: str) -> str:
    return wrapped(f"# {text}", hanging=0).replace("\n", "\n# ")
