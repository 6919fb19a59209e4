"""The table tests of the scheduler's own affinity plugins, as cases that anybody can be asked.

Their packages are compiled with methods that write down each call, and run. Upstream's tests check
what the plugins answer there, so what is written down is what the tables expect. Whatever a new
release adds to its tables arrives by itself.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.conformance.cases import Case
from tests.conformance.terms import terms_of, with_terms
from tests.upstream.copying import Report, compiled
from tests.upstream.recording import PACKAGES, TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_UNNAMED = "unnamed"
"""In the place of what tables leave out: the API server has nothing without a name."""
_LISTS = {
    "Unschedulable": "FailedNodes",
    "UnschedulableAndUnresolvable": "FailedAndUnresolvableNodes",
}
_FITS = ("Success", "Skip")


def recorded(version: str, folder: Path, report: Report) -> Iterator[dict[str, Any]]:
    """Run the tests of one release in a folder; yield every call that was written down."""
    programs = compiled(TABLES, version, report)
    for package in PACKAGES:
        calls = folder / f"{package}.jsonl"
        subprocess.run(
            [programs[f"{package}.test"]], env=os.environ | {"RECORDED": str(calls)}, check=True
        )
        with calls.open() as lines:
            yield from map(json.loads, lines)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a table expects of a plugin, as a call of an extender."""

    case: Case
    """The cluster, and the plugin's arguments."""
    plugin: str
    verb: str
    body: dict[str, Any]
    answer: Any
    """None: no API server stores this pod; no node may fit, and nobody may be evicted for it."""

    def agrees(self, said: Any) -> bool:
        """Return whether this is the answer that is expected."""
        if self.answer is None:
            return bool(said["Error"]) or not (said["NodeNames"] or said["FailedNodes"])
        return bool(said == self.answer)

    @property
    def needs_rules(self) -> bool:
        """Whether an extender that knows no rules answers otherwise."""
        silent = _filtered(self.body["NodeNames"], {}) if self.verb == "/filter" else []
        return self.answer not in (silent, None)


def asked_by_tables(version: str, folder: Path, report: Report) -> list[Asked]:
    """Return what the tables of one release expect; what they ask twice is there once."""
    cycles: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for call in recorded(version, folder, report):
        cycles[call["plugin"] + call["cycle"]].append(call)
    found = [a for calls in cycles.values() for a in _asked(calls) if a.body["NodeNames"]]
    return list({json.dumps([a.case.cluster, a.body, a.answer]): a for a in found}.values())


def _asked(calls: Sequence[dict[str, Any]]) -> Iterator[Asked]:
    """Yield what one cycle asks of Filter, and what it asks of Score."""
    by_point = {call["point"]: call for call in calls}
    before = by_point.get("PreFilter")
    filtered = {_name(each["asked"][0]): each for each in calls if each["point"] == "Filter"}
    # No scheduler asks Filter without PreFilter: one table shows that this is an error.
    if filtered and all(each["code"] != "Error" for each in filtered.values()):
        yield _call(calls, "/filter", list(filtered), _filtered(list(filtered), filtered))
    elif before and before["code"] != "Success":
        nodes = [_name(node) for node in before["cluster"]["nodes"]]
        skipped = before["code"] == "Skip"
        yield _call(calls, "/filter", nodes, _filtered(nodes, {}) if skipped else None)
    if {"PreScore", "NormalizeScore"} & by_point.keys():
        scores = by_point.get("NormalizeScore", {}).get("scores") or {}
        nodes = [_name(node) for node in by_point.get("PreScore", {}).get("asked") or ()]
        nodes = nodes or list(scores)
        found = [{"Host": node, "Score": scores[node]} for node in nodes if scores.get(node)]
        yield _call(calls, "/prioritize", nodes, found)


def _filtered(names: Sequence[str], said: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the answer of an extender to filter."""
    refused = {name: each for name, each in said.items() if each["code"] not in _FITS}
    lists: dict[str, dict[str, str]] = {name: {} for name in _LISTS.values()}
    for name, each in refused.items():
        lists[_LISTS[each["code"]]][name] = each["reason"]
    fits = [name for name in names if name not in refused]
    return {"Nodes": None, "NodeNames": fits, **lists, "Error": ""}


def _call(calls: Sequence[dict[str, Any]], verb: str, names: list[str], answer: Any) -> Asked:
    """Put together what is asked; objects get the names that they need."""
    first = calls[0]
    seen = first["cluster"]
    # A table of node affinity has no cluster: only the nodes that it asks about.
    nodes = seen["nodes"] or [node for each in calls for node in each["asked"] or ()]
    # What comes out of Go's maps has no order; in one of ours, the same case is the same again.
    pods = sorted(seen["pods"], key=json.dumps)
    cluster = {
        "nodes": [_object("Node", node, name=_name(node)) for node in sorted(nodes, key=_name)],
        "namespaces": [
            _object("Namespace", each, name=_name(each))
            for each in sorted(seen["namespaces"], key=_name)
        ],
        "pods": [_pod(pod, f"pod-{number}") for number, pod in enumerate(pods)],
    }
    incoming = _pod(first["pod"], "incoming")
    incoming["spec"].pop("nodeName", None)
    if any(not term.get("topologyKey") for term in terms_of(incoming)):
        answer = None
    args = {_lower(name): value for name, value in first["args"].items()}
    body = {"Pod": incoming, "Nodes": None, "NodeNames": names}
    return Asked(
        Case(first["test"], args, cluster, ()), _lower(first["plugin"]), verb, body, answer
    )


def _pod(pod: dict[str, Any], name: str) -> dict[str, Any]:
    namespace = pod["metadata"].get("namespace", _UNNAMED)
    changed = _object("Pod", pod, name=name, uid=name, namespace=namespace)

    def name_them(term: dict[str, Any]) -> None:
        if "namespaces" in term:
            term["namespaces"] = [each or _UNNAMED for each in term["namespaces"]]

    return with_terms(changed, name_them)


def _object(kind: str, item: dict[str, Any], **metadata: str) -> dict[str, Any]:
    named = {"metadata": item["metadata"] | metadata}
    return item | {"apiVersion": "v1", "kind": kind} | named


def _name(item: Mapping[str, Any]) -> str:
    name: str = item["metadata"].get("name", _UNNAMED)
    return name


def _lower(name: str) -> str:
    return name[0].lower() + name[1:]
