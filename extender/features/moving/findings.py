"""Pods that break rules, as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from extender.core.cluster.state import ClusterState
from extender.core.wire.affinity import write_term
from extender.features.moving.record import Record
from extender.features.moving.rules.breaches import Breach
from extender.features.moving.rules.evicting import Finding, Outcome
from extender.features.moving.rules.improving import Improvement


def findings(state: ClusterState, records: Iterable[Record]) -> Iterator[Finding]:
    """Yield what is known of pods that break rules, without those that have gone."""
    for each in records:
        pod = state.pod(*each.identity)
        if pod is not None:
            yield Finding(pod, each.breaches, each.outcome, each.cause, each.since_epoch, each.why)


def write_finding(found: Finding) -> dict[str, Any]:
    cause, since = found.cause, found.since
    return {
        "pod": found.pod.key,
        "uid": found.pod.uid,
        "node": found.pod.node,
        "since": None if since is None else time_of(since),
        "outcome": found.outcome.value,
        "why": found.becomes,
        "broken": found.broken,
        "rules": [_breach(each) for each in found.breaches],
        "inTheWay": [] if cause is None else list(cause.others),
        "inTheWayCount": 0 if cause is None else cause.count,
    }


def write_improvement(found: Improvement, outcome: Outcome, why: str) -> dict[str, Any]:
    return {
        "pod": found.pod.key,
        "uid": found.pod.uid,
        "node": found.pod.node,
        "betterNode": found.target,
        "gain": found.own,
        "totalGain": found.total,
        "outcome": outcome.value,
        "why": outcome.because(why),
    }


def time_of(epoch: float) -> str:
    """Write a time as RFC 3339 has it."""
    return f"{datetime.fromtimestamp(epoch, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _breach(breach: Breach) -> dict[str, Any]:
    term = breach.rule.term
    told: dict[str, Any] = {
        "kind": breach.rule.kind.value,
        "source": "spec" if breach.rule.plain else "annotation",
    }
    if term is not None:
        told["term"] = write_term(term)
        told["domain"] = {"key": term.topology_key, "value": breach.domain}
    return told
