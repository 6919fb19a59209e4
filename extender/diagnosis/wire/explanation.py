"""Explanations on the wire: which pod or workload is asked about, and the answer as JSON.

The answer has one object for each node, with the rule that refuses it, and one for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import orjson

from extender.core.model.labels import Selector
from extender.core.model.node_selection import Comparison, Condition, NodeTerm
from extender.core.model.objects import Pod
from extender.core.model.pod_affinity import Term
from extender.core.model.verdict import Verdict
from extender.core.model.workload import revision_labels
from extender.core.verbs.plugins import MAX_NODE_SCORE
from extender.core.verbs.rules import Refusal, Rule
from extender.core.wire.affinity import write_requirement, write_term
from extender.core.wire.decoding import Json
from extender.core.wire.node_terms import METADATA_NAME
from extender.core.wire.objects import PodReader
from extender.diagnosis.verbs.explanation import (
    MOST_BLOCKERS,
    Explanation,
    NearMiss,
    TermFacts,
    event_of,
)
from extender.diagnosis.verbs.notes import Note
from extender.diagnosis.verbs.remedies import what_to_do
from extender.diagnosis.verbs.telling import namespaces_of, summary
from extender.diagnosis.wire.workloads import NEW_REVISION, WORKLOADS, read_workload

KINDS: Final = frozenset(("Pod", *WORKLOADS))

NODES: Final = 40
"""Written in one step."""
MOST_NEAR_MISSES: Final = 10
MOST_ENTRIES: Final = 500
"""Conditions, values and namespaces of a term that is written, some 10 KB. A pod may have 1.5 MiB
of them, and be refused by 5,000 nodes."""
MOST_BYTES: Final = 64 << 10
"""In memory, of node affinity that is written."""


def read_manifest(kind: str, raw: Json, pods: PodReader) -> Pod:
    """Read a pod, or a workload's template; ObjectError names the field that is broken.

    Its pods would be a new revision, in the labels that controllers have for that: matchLabelKeys
    may go by these.
    """
    if kind == "Pod":
        # A pod in a manifest may leave its name to the API server.
        return pods.read(raw, lambda _, prefix: f"{prefix}00000")
    return read_workload(kind, raw).make_pod(pods, revision_labels(kind, NEW_REVISION))


def write_explanation(explanation: Explanation, notes: Sequence[Note]) -> Iterator[bytes]:
    """Yield the JSON document in parts, each in well under a millisecond."""
    said = explanation.said
    head = {
        "pod": explanation.pod.key,
        "verdict": explanation.verdict,
        "summary": summary(explanation),
        "unknown": explanation.unknown,
        "held": explanation.held,
        "schedulerSaid": said and said._asdict(),
    }
    yield orjson.dumps(head)[:-1] + b',"nodes":['
    told: dict[int, bytes] = {}
    of_rules: dict[Rule, bytes] = {}
    names = iter(explanation.names)
    comma = b""
    while some := list(islice(names, NODES)):
        parts = []
        for name in some:
            refused = explanation.refused.get(name)
            if refused is None:
                parts.append(orjson.dumps(_fitting(explanation, name)))
                continue
            refusal, rules = refused[0], len(refused)
            # Nodes of one domain have all of it in common.
            tail = told.get(id(refusal))
            if tail is None:
                rule = refusal.rule
                if rule not in of_rules:
                    of_rules[rule] = orjson.dumps(_by_rule(rule))[1:-1]
                here = orjson.dumps(_in_domain(refusal))[1:]
                tail = told[id(refusal)] = of_rules[rule] + b"," + here
            start = {"node": name, "fits": False, "verdict": Verdict.REFUSED}
            start |= {"rulesAgainst": rules, "reason": event_of(refused)}
            parts.append(orjson.dumps(start)[:-1] + b"," + tail)
        yield comma + b",".join(parts)
        comma = b","
    yield b"]," + orjson.dumps(_common(explanation, notes))[1:] + b"\n"


def _fitting(explanation: Explanation, name: str) -> Mapping[str, Any]:
    told: dict[str, Any] = {"node": name, "fits": True, "verdict": explanation.of_fitting}
    told |= {"rulesAgainst": 0}
    told |= {"plugin": None, "reason": None, "term": None, "domain": None}
    told |= {"blockers": [], "blockerCount": 0, "score": explanation.final.get(name, 0)}
    scores = {
        each.plugin: {"raw": each.raw[name], "normalised": each.normalised[each.raw[name]]}
        for each in explanation.scores
        if name in each.raw
    }
    return told | ({"scores": scores} if scores else {})


def _by_rule(rule: Rule) -> Mapping[str, Any]:
    return {"plugin": rule.reason.plugin, "term": _write_rule(rule)}


def _in_domain(refusal: Refusal) -> Mapping[str, Any]:
    rule, key = refusal.rule, refusal.rule.key
    told: dict[str, Any] = {
        "domain": None if key is None else {"key": key, "value": refusal.domain},
        "blockers": [pod.key for pod in refusal.pods],
        "blockerCount": refusal.count,
        "score": None,
    }
    if rule.annotated:
        told["byAnnotation"] = True
    return told | ({"nominated": True} if rule.nominated else {})


def _common(explanation: Explanation, notes: Sequence[Note]) -> Mapping[str, Any]:
    misses = explanation.near_misses
    return {
        "nodeCount": len(explanation.names),
        "fitting": len(explanation.fits),
        "maxNodeScore": MAX_NODE_SCORE,
        "terms": [_facts(each, explanation.pod.pod_class.namespace) for each in explanation.terms],
        "nearMissCount": explanation.near_miss_count,
        "nearMisses": [_near(each) for each in misses[:MOST_NEAR_MISSES]],
        "notes": notes,
        "whatToDo": what_to_do(explanation, notes),
        **_awaited(explanation),
        **_preemption(explanation),
        **_improvement(explanation),
    }


def _awaited(explanation: Explanation) -> Mapping[str, Any]:
    found = explanation.awaited
    if found is None:
        return {}
    return {"waitsFor": {"node": found.node, "victims": [pod.key for pod in found.pods]}}


def _preemption(explanation: Explanation) -> Mapping[str, Any]:
    found = explanation.preemption
    if found is None:
        return {}
    victims = [pod.key for pod in found.victims]
    return {"preemption": {"node": found.node, "victims": victims, "violations": found.violations}}


def _improvement(explanation: Explanation) -> Mapping[str, Any]:
    """Write which node suits a placed pod better, null if none does; nothing of others."""
    sits = explanation.sitting
    if sits is None:
        return {}
    better = sits.better
    if better is None:
        return {"improvement": None}
    told = {"node": better.target, "gain": better.own, "totalGain": better.total}
    return {"improvement": told | {"stays": sits.stays}}


def _facts(facts: TermFacts, namespace: str) -> Mapping[str, Any]:
    return {
        "reason": facts.reason.value,
        "term": write_term(facts.term),
        "byAnnotation": facts.annotated,
        "mergedLabelKeys": facts.merged,
        "namespaces": {
            "how": namespaces_of(facts, namespace),
            "count": facts.namespace_count,
            "names": facts.namespaces,
        },
        "pods": facts.matched,
        "matchesThisPod": facts.matches_pod,
        "placedPodsHaveIt": facts.sharing > 0,
        "placedPodsThatHaveIt": facts.sharing,
        "nodesRefused": facts.refused,
    }


def _near(miss: NearMiss) -> Mapping[str, Any]:
    told = {
        "text": str(miss),
        "nodeCount": len(miss.nodes),
        "nodes": miss.nodes[:MOST_BLOCKERS],
        "wouldBePreemptedOn": miss.preempted_on,
    }
    pods = {"blockers": [pod.key for pod in miss.pods], "blockerCount": miss.count}
    first = miss.refusals[0]
    told["reason"] = first.rule.event
    return {**told, **_by_rule(first.rule), **_in_domain(first), **pods}


def _write_rule(rule: Rule) -> Mapping[str, Any] | None:
    """Write a v1.PodAffinityTerm, or a v1.NodeSelector with the pod's node selector in each term.

    Of a long one only `omitted`, which is true, and the topology key. None where there is no rule.
    """
    asked = rule.asks_for
    if asked is not None:
        if asked.size > MOST_BYTES:
            return {"omitted": True}
        # Without terms, no node meets it.
        return {"nodeSelectorTerms": [_term(term, asked.common) for term, _ in asked.terms]}
    if not rule.terms:
        return None
    term = rule.terms[0]
    if _entries(term) > MOST_ENTRIES:
        return {"topologyKey": term.topology_key, "omitted": True}
    return write_term(term)


def _entries(term: Term) -> int:
    pods = term.pods
    selectors = (pods.selector, pods.namespace_selector or Selector())
    values = (1 + len(each.values) for selector in selectors for each in selector.requirements)
    return len(pods.namespaces) + sum(values)


def _term(term: NodeTerm, common: Sequence[Condition]) -> dict[str, Any]:
    conditions = [_condition(each) for each in (*common, *term.conditions)]
    names = list(_names(term))
    written = {"matchExpressions": conditions} if conditions else {}
    return written | ({"matchFields": names} if names else {})


def _condition(condition: Condition) -> dict[str, Any]:
    if isinstance(condition, Comparison):
        operator = "Gt" if condition.above else "Lt"
        return {"key": condition.key, "operator": operator, "values": [str(condition.bound)]}
    return write_requirement(condition)


def _names(term: NodeTerm) -> Iterator[dict[str, Any]]:
    if term.names is not None:
        yield {"key": METADATA_NAME, "operator": "In", "values": sorted(term.names)}
    for name in sorted(term.other_than):
        yield {"key": METADATA_NAME, "operator": "NotIn", "values": [name]}
