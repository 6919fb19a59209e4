"""The affinity rules of public Helm charts, as facts: who asks for what, about which pods.

`charts.yaml` has a record for each chart and set of values: where the chart is, its licence, and
the rules of its workloads in a notation of our own. Each is what `helm template demo CHART -n demo`
made of the chart at that commit; no text of a chart is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.builders import Json, Pod, pod, selector, term, workload

NAMESPACE = "demo"
RECORDS = Path(__file__).with_name("charts.yaml")
_PLACED = {"Deployment", "StatefulSet"}
_RULES = {"podAntiAffinity": "apart", "podAffinity": "together"}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_PART = re.compile(r"([^\s,=()]+)(?:=([^,]*)|\s+(in|notin)\s+\(([^)]*)\))?(?:,|$)")


@dataclass(frozen=True, slots=True)
class Rule:
    """A term of a pod."""

    apart: bool
    """Else together."""
    key: str
    weight: int | None
    """None if it is required."""
    pods: str
    """A label selector, as kubectl spells it."""
    namespaces: tuple[str, ...] = ()

    @property
    def as_term(self) -> Json:
        """Build the term of the API."""
        scope: dict[str, Any] = {"namespaces": list(self.namespaces)} if self.namespaces else {}
        return term(self.key, _selector(self.pods), **scope)


@dataclass(frozen=True, slots=True)
class Workload:
    """A Deployment or StatefulSet whose pods have rules."""

    kind: str
    name: str
    replicas: int
    labels: Mapping[str, str]
    """Those of its pods that a selector in the chart asks about."""
    rules: tuple[Rule, ...]

    @property
    def apart_by(self) -> set[str]:
        """Return the keys over whose domains its own replicas must be apart."""
        rules = [rule for rule in self.rules if rule.apart and rule.weight is None]
        return {rule.key for rule in rules if self.is_about_itself(rule)}

    def is_about_itself(self, rule: Rule) -> bool:
        """Tell whether a rule is about pods like its own."""
        return selects(rule.pods, self.labels)

    def template(self) -> Pod:
        made = pod("of-template", NAMESPACE).labels(self.labels).uid(None)
        for rule in self.rules:
            if rule.weight is None:
                made = (made.anti_affinity if rule.apart else made.affinity)(rule.as_term)
            else:
                made = (made.avoids if rule.apart else made.prefers)(rule.weight, rule.as_term)
        return made

    def replica(self, number: int) -> Pod:
        made = Pod(self.template())
        name = f"{self.name}-{number}"
        made["metadata"] |= {"name": name, "uid": f"uid-{name}"}
        return made.owned_by(f"{self.kind}/{self.name}")

    def manifest(self, replicas: int | None = None) -> dict[str, Any]:
        spec: dict[str, Any] = {"replicas": replicas or self.replicas}
        spec["selector"] = {"matchLabels": dict(self.labels)}
        if self.kind == "StatefulSet":
            spec["podManagementPolicy"] = "Parallel"
        return workload(self.kind, self.name, self.template(), **spec)


@dataclass(frozen=True, slots=True)
class Record:
    """What a chart renders with some values."""

    chart: str
    version: str
    publisher: str
    source: str
    licence: str
    needed: str
    """What had to be set on Helm's command line, and is not about rules."""
    values: str
    """What was set besides; empty, the chart has its own values."""
    workloads: tuple[Workload, ...]

    def __str__(self) -> str:
        return f"{self.publisher}/{self.chart} {self.values}".rstrip()


def records() -> list[Record]:
    return [_record(raw) for raw in yaml.safe_load(RECORDS.read_text())]


def _record(raw: dict[str, Any]) -> Record:
    made = [
        Workload(
            kind=each["kind"],
            name=each["name"],
            replicas=each["replicas"],
            labels=dict(part.split("=", 1) for part in each["labels"].split(",")),
            rules=tuple(
                Rule(
                    apart="apart" in rule,
                    key=rule.get("apart") or rule["together"],
                    weight=rule.get("weight"),
                    pods=rule["pods"],
                    namespaces=tuple(rule.get("namespaces", ())),
                )
                for rule in each["rules"]
            ),
        )
        for each in raw["workloads"]
    ]
    return Record(**{"needed": "", "values": "", **raw, "workloads": tuple(made)})


def recorded(objects: Iterable[Json]) -> list[dict[str, Any]]:
    """Reduce rendered manifests to the workloads of a record."""
    found = [(each, list(_rules(each))) for each in objects if each.get("kind") in _PLACED]
    named = {key for _, rules in found for rule in rules for key in _keys(rule["pods"])}
    return [_recorded(each, rules, named) for each, rules in found if rules]


def _recorded(raw: Json, rules: list[dict[str, Any]], named: set[str]) -> dict[str, Any]:
    labels = raw["spec"]["template"]["metadata"].get("labels", {})
    return {
        "kind": raw["kind"],
        "name": raw["metadata"]["name"],
        "replicas": raw["spec"].get("replicas") or 1,
        "labels": ",".join(f"{key}={labels[key]}" for key in sorted(named & set(labels))),
        "rules": rules,
    }


def _rules(raw: Json) -> Iterator[dict[str, Any]]:
    affinity = raw["spec"]["template"]["spec"].get("affinity") or {}
    for side, verb in _RULES.items():
        terms = affinity.get(side) or {}
        for each in terms.get(_REQUIRED) or ():
            yield _rule(verb, None, each)
        for each in terms.get(_PREFERRED) or ():
            yield _rule(verb, each["weight"], each["podAffinityTerm"])


def _rule(verb: str, weight: int | None, raw: Json) -> dict[str, Any]:
    known = {"labelSelector", "topologyKey", "namespaces"}
    if unknown := set(raw) - known:
        message = f"fields of a term that a record cannot hold: {sorted(unknown)}"
        raise ValueError(message)
    rule: dict[str, Any] = {verb: raw["topologyKey"]}
    if weight is not None:
        rule["weight"] = weight
    rule["pods"] = _spelled(raw["labelSelector"])
    if raw.get("namespaces"):
        rule["namespaces"] = list(raw["namespaces"])
    return rule


def _spelled(raw: Json) -> str:
    parts = [f"{key}={value}" for key, value in (raw.get("matchLabels") or {}).items()]
    for each in raw.get("matchExpressions") or ():
        if each["operator"] not in {"In", "NotIn"}:
            message = f"a record cannot hold the operator {each['operator']}"
            raise ValueError(message)
        parts.append(f"{each['key']} {each['operator'].lower()} ({','.join(each['values'])})")
    return ",".join(parts)


def _keys(spelled: str) -> list[str]:
    return [part.group(1) for part in _parts(spelled)]


def _parts(spelled: str) -> Sequence[re.Match[str]]:
    found = list(_PART.finditer(spelled))
    if "".join(part.group() for part in found) != spelled:
        message = f"not a selector: {spelled}"
        raise ValueError(message)
    return found


def _selector(spelled: str) -> Json:
    labels, requirements = {}, []
    for key, value, operator, values in (part.groups() for part in _parts(spelled)):
        if operator:
            name = "In" if operator == "in" else "NotIn"
            requirements.append({"key": key, "operator": name, "values": values.split(",")})
        else:
            labels[key] = value
    return selector(*requirements, **labels)


def selects(spelled: str, labels: Mapping[str, str]) -> bool:
    """Tell whether labels are those that a selector asks for."""
    for key, value, operator, values in (part.groups() for part in _parts(spelled)):
        among = values.split(",") if operator else [value]
        if (labels.get(key) in among) is (operator == "notin"):
            return False
    return True
