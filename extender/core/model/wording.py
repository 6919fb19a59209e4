"""Numbers, names, selectors and node affinity in words, for logs and explanations."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Sized
from heapq import nsmallest
from typing import Final

from extender.core.model.labels import Operator, Requirement, Selector
from extender.core.model.node_selection import Comparison, Condition, NodeRule, NodeTerm
from extender.core.model.pod_affinity import PodSelector

MOST_SAID: Final = 10
"""Conditions, terms or values of what a pod asks of nodes: it may name thousands of nodes."""
MOST_NAMED: Final = 3
"""Pods or domains in a sentence; the number of all stands beside them."""
_SPANS: Final = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def pods_of(pods: PodSelector) -> str:
    if pods.selector.matches_nothing:
        return "no pods, without a labelSelector"
    spaces = []
    if pods.namespaces:
        several = "s" * (len(pods.namespaces) > 1)
        spaces.append(f"namespace{several} {', '.join(sorted(pods.namespaces))}")
    if pods.namespace_selector is not None:
        spaces.append(f"namespaces with {labels_of(pods.namespace_selector)}")
    return f"pods with {labels_of(pods.selector)} in {' and '.join(spaces) or 'no namespace'}"


def labels_of(selector: Selector) -> str:
    if selector.matches_nothing:
        return "nothing"
    return ",".join(map(_requirement, selector.requirements)) or "any labels"


def _requirement(requirement: Requirement) -> str:
    key, values = requirement.key, ",".join(sorted(requirement.values))
    match requirement.operator:
        case Operator.IN:
            return f"{key} in ({values})"
        case Operator.NOT_IN:
            return f"{key} notin ({values})"
        case Operator.EXISTS:
            return key
        case Operator.DOES_NOT_EXIST:
            return f"!{key}"


def nodes_of(rule: NodeRule) -> str:
    """Say what a required rule asks of a node; O(MOST_SAID) words."""
    if not rule.terms:
        return "what no node has: none of its terms can be met"
    common = _all_of(rule.common)
    if any(term == NodeTerm() for term, _ in rule.terms):
        return common or "nothing"
    terms = [_node_term(term) for term, _ in rule.terms[:MOST_SAID]]
    one_of = " or ".join((*terms, *_more(rule.terms, "other term")))
    return f"{common}, and {one_of}" if common else one_of


def _node_term(term: NodeTerm) -> str:
    said = [_all_of(term.conditions)] if term.conditions else []
    if term.names is not None:
        said.append(f"metadata.name in ({_values(term.names)})")
    if term.other_than:
        said.append(f"metadata.name notin ({_values(term.other_than)})")
    return ",".join(said)


def _all_of(conditions: Sequence[Condition]) -> str:
    said = map(_condition, conditions[:MOST_SAID])
    return ",".join((*said, *_more(conditions, "more")))


def _condition(condition: Condition) -> str:
    if isinstance(condition, Comparison):
        return f"{condition.key} {'>' if condition.above else '<'} {condition.bound}"
    if len(condition.values) > MOST_SAID:
        operator = condition.operator.value.lower()
        return f"{condition.key} {operator} ({_values(condition.values)})"
    return _requirement(condition)


def _values(values: Collection[str]) -> str:
    return ",".join((*nsmallest(MOST_SAID, values), *_more(values, "more")))


def _more(things: Collection[object], what: str) -> Sequence[str]:
    left = len(things) - MOST_SAID
    return [f"{left:,} {what}{'s' * (left > 1 and what != 'more')}"] if left > 0 else []


def amount_of(resource: str, amount: int) -> str:
    if resource == "cpu":
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    for unit, suffix in ((1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")):
        if amount and amount % unit == 0:
            return f"{amount // unit}{suffix}"
    return str(amount)


def age_of(seconds: float) -> str:
    """Say how long it is, as kubectl does, in the two largest units."""
    left = max(0, int(seconds))
    for number, (unit, size) in enumerate(_SPANS):
        if left >= size:
            said = f"{left // size}{unit}"
            following = _SPANS[number + 1 : number + 2]
            rest = [f"{left % size // each}{name}" for name, each in following]
            return said + "".join(each for each in rest if not each.startswith("0"))
    return "0s"


def short(key: str | None) -> str:
    """Return a topology key as people say it: zone, hostname."""
    return (key or "").rpartition("/")[2]


def plural(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def plural_of(what: str, things: Sized) -> str:
    return what + "s" * (len(things) > 1)


def some(names: Sequence[str], count: int, most: int = MOST_NAMED) -> str:
    """Name the first `most` of `count` things."""
    shown = names[:most]
    more = count - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")
