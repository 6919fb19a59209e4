"""An explanation in a line: how many nodes, which rule, whose pods, in which domains."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from heapq import nsmallest
from typing import Final, TypeAlias

from extender.model.pod_affinity import PodSelector, Term
from extender.model.verdict import Reason
from extender.model.wording import labels_of
from extender.verbs.explaining.explanation import (
    ChosenNamespaces,
    Explanation,
    NearMiss,
    Refusal,
    RefusalGroup,
)
from extender.verbs.node_room import RoomRule
from extender.verbs.quota import Cause, QuotaRule

MOST_NAMED: Final = 3
"""Pods or domains in a sentence; the number of all stands beside them."""
YOUR_ANNOTATIONS: Final = ("your annotation's", " (by annotation)")
HOSTNAME: Final = "hostname"
"""The last part of the topology key whose domains are nodes."""
MOST_LOOKED_AT: Final = 20
"""Domains whose pods may be named."""


Kind: TypeAlias = tuple[Reason, str | None, bool, bool, str]


def summary(explanation: Explanation) -> str:
    """Sum up in one line what becomes of all nodes, the largest part first."""
    fit = len(explanation.fits)
    parts = [(fit, f"{_number(fit)} fit")] if fit else []
    parts += [(each.nodes, f"{_number(each.nodes)} {cause(each)}") for each in explanation.groups]
    parts.sort(key=lambda each: -each[0])
    said = "; ".join(said for _, said in parts) or "there are none to go to"
    return f"{plural(len(explanation.names), 'node')}: {said}"


def kind_of(refusal: Refusal) -> Kind:
    """Return what refusals have in common that differ only in the domain, or in the very term."""
    which = quota_of(refusal) if isinstance(refusal.rule, QuotaRule) else room_of(refusal)
    return refusal.reason, refusal.key, refusal.nominated, refusal.annotated, which


def cause(group: RefusalGroup) -> str:
    """Say what refuses nodes, by refusals that differ in the domain only; O(domains)."""
    first = group.refusals[0]
    your, theirs = ("your", "") if not first.annotated else YOUR_ANNOTATIONS
    pods, key = _pods(group), short(first.key)
    if first.nominated:
        whose = your if first.reason is Reason.ANTI_AFFINITY else "the others'"
        return f"{whose} anti-affinity: {pods}, nominated there"
    where = _where(group)
    said = {
        Reason.AFFINITY: f"{your} affinity on {key}: {_lacking(group)}",
        Reason.ANTI_AFFINITY: f"{your} anti-affinity on {key}, blocked by {pods}{where}",
        Reason.EXISTING_ANTI_AFFINITY: f"the anti-affinity{theirs} of {pods} on {key}{where}",
        Reason.NODE_AFFINITY: f"{your} node affinity" if theirs else "node affinity",
        Reason.ENFORCED_NODE_AFFINITY: "node affinity that the scheduler adds",
        Reason.QUOTA: quota_of(first),
        Reason.UNKNOWN_NODE: "unknown",
    }
    return said.get(first.reason) or room_of(first)


def room_of(refusal: Refusal) -> str:
    """Say what nodes lack for the pod; "" where it is something else that refuses them."""
    return refusal.rule.what if isinstance(refusal.rule, RoomRule) else ""


def quota_of(refusal: Refusal) -> str:
    """Say which quota does not allow the pod, and why."""
    if not isinstance(refusal.rule, QuotaRule):
        return "quota"
    found = refusal.rule.shortfall
    resources = ", ".join(found.resources)
    match found.cause:
        case Cause.EXCEEDED:
            return f"quota {found.quota} has no room for more {resources}"
        case Cause.UNSET:
            return f"quota {found.quota} needs {resources} set for every container"
        case Cause.UNCOVERED:
            return "no quota allows affinity across namespaces"


def short(key: str | None) -> str:
    """Return a topology key as people say it: zone, hostname."""
    return (key or "").rpartition("/")[2]


def plural(count: int, what: str) -> str:
    """Say how many there are of something."""
    return f"{_number(count)} {what}" + ("" if count == 1 else "s")


def plural_of(what: str, things: Sized) -> str:
    """Return a word for one thing, or for several."""
    return what + "s" * (len(things) > 1)


def place(refusal: Refusal) -> str:
    """Say where a refusal holds: on a node, or in a zone."""
    if refusal.domain is None:
        return ""
    key = short(refusal.key)
    return f" on {refusal.domain}" if key == HOSTNAME else f" in {key} {refusal.domain}"


def some(names: Sequence[str], count: int) -> str:
    """Name the first of so many things."""
    shown = names[:MOST_NAMED]
    more = count - len(shown)
    return ", ".join(shown) + (f" and {_number(more)} more" if more > 0 else "")


def in_the_way(found: Refusal | NearMiss) -> str:
    """Name the first of the pods that are the cause."""
    if found.unnamed and not found.pods:
        return f"{plural(found.count, 'pod')} of other namespaces"
    return some([pod.key for pod in found.pods], found.count)


def namespaces_of(term: Term, owner: str | None, chosen: ChosenNamespaces | None) -> str:
    """Say which namespaces a term is about, how it chose them, and which these are now.

    Without an owner, as of a term that several pods have, it is not known whether they are named.
    """
    said = []
    pods: PodSelector = term.pods
    if pods.namespaces:
        own = pods.namespaces == {owner}
        listed = some(sorted(pods.namespaces), len(pods.namespaces))
        how = ", its own" if own else ", by name"
        said.append(listed if owner is None else listed + how)
    selector = pods.namespace_selector
    if selector is not None and not selector.requirements and not selector.matches_nothing:
        said.append("all namespaces (an empty namespaceSelector)")
    elif selector is not None:
        now = "" if chosen is None else f": {some(chosen.names, chosen.count) or 'none now'}"
        said.append(f"by namespaceSelector {labels_of(selector)}{now}")
    return " and ".join(said) or "none"


def _lacking(group: RefusalGroup) -> str:
    """Say what required affinity lacks: such a pod, or the topology label."""
    if group.nodes == group.without_label:
        return f"no label {group.refusals[0].key}"
    return f"no matching pod{_where(group)}"


def _where(group: RefusalGroup) -> str:
    key = group.refusals[0].key
    domains = [domain for domain in group.pods if domain is not None]
    values = nsmallest(MOST_NAMED, domains)
    parts = []
    if values:
        listed = some(values, len(domains))
        parts.append(
            f"on {listed}"
            if short(key) == HOSTNAME
            else f"in {plural_of(short(key), domains)} {listed}"
        )
    if group.without_label and key is not None:
        parts.append(f"{plural(group.without_label, 'node')} without that label")
    return f" {' and on '.join(parts)}" if parts else ""


def _pods(group: RefusalGroup) -> str:
    """Name pods, each once; where not all of them are known by name, by their number a domain."""
    names = sorted({pod.key for each in group.refusals[:MOST_LOOKED_AT] for pod in each.pods})
    count = len(names)
    if len(group.refusals) > MOST_LOOKED_AT or not group.all_named:
        count = max(count, sum(group.pods.values()))
    if names:
        return some(names, count)
    if any(each.unnamed for each in group.refusals):
        return f"{plural(sum(group.pods.values()), 'pod')} of other namespaces"
    return "pods that have gone meanwhile"


def _number(count: int) -> str:
    return f"{count:,}"
