"""An explanation in sentences and tables, the same on a terminal and in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from extender.core.model.objects import NOT_CREATED, Said
from extender.core.model.pod_affinity import LimitedTerm
from extender.core.model.verdict import Reason, Verdict
from extender.core.model.wording import age_of, labels_of, plural, short, some
from extender.core.verbs.rules import HOSTNAME, Refusal
from extender.diagnosis.verbs.explanation import (
    SUBJECTS,
    Explanation,
    Leaving,
    TermFacts,
    event_of,
    is_not_asked_for,
)
from extender.diagnosis.verbs.filters import DELETED, GATES, NO_NODE, ORDER, OTHER_SCHEDULER, PAUSED

MOST_DOMAINS: Final = 8
MOST_NEAR: Final = 5
MOST_STATED: Final = 20
"""Causes that are not told term by term, such as taints."""
MOST_BEST: Final = 5

NODE_HEAD: Final = ("NODE", "FITS", "SCORE", "RULES", "DOMAIN", "REASON", "BLOCKED BY")

_LEADS: Final = {
    GATES: "waits for its {}: no scheduler looks at it",
    OTHER_SCHEDULER: "{}, which is not known here: no other scheduler looks at it",
    NO_NODE: "{}: no scheduler looks at it",
    DELETED: "{}: no scheduler looks at it",
    ORDER: "is not made yet, and {}",
    PAUSED: "is not made, as {}",
}
"""What leads the headline of a pod that is held, before where it would fit."""
_REFUSED: Final = {"Unschedulable": "refused it", NOT_CREATED: "could not make it"}

Row: TypeAlias = Sequence[str]


def headline(found: Explanation) -> str:
    if found.indeterminate is not None:
        return "gets an error from filter instead of a verdict"
    if found.held:
        leads = (_LEADS[each.field].format(each.text) for each in found.held)
        return f"{'; '.join(leads)}; by its rules it would fit on {_places(found)}"
    if found.said is not None and found.fits:
        what = _REFUSED.get(found.said.reason, "failed on it")
        since = age_ago(found, found.said)
        return f"fits by what is looked at, on {_places(found)}; {found.said.who} {what}{since}"
    if found.awaited is not None:
        return waits_for(found.awaited)
    fits = "may fit" if found.verdict is Verdict.UNKNOWN else "fits"
    if len(found.names) == 1:
        return f"{fits if found.fits else 'does not fit'} on {found.names[0]}"
    return f"{fits} on {_places(found)}"


def waits_for(victims: Leaving) -> str:
    """Say for whom a pod waits that others were evicted for."""
    be = "are" if victims.count > 1 else "is"
    return f"{victims.awaited}: {victims.who} {be} being deleted"


def age_ago(found: Explanation, said: Said) -> str:
    if found.now is None or said.since is None:
        return ""
    return f" {age_of(found.now - said.since)} ago"


def quoted(found: Explanation) -> str | None:
    """Quote what a scheduler or controller has said of a pod; None where it has said nothing."""
    said = found.said
    if said is None:
        return None
    return f"{said.who} said{age_ago(found, said)}: {said.message or said.reason}"


def _places(found: Explanation) -> str:
    fit, nodes = len(found.fits), len(found.names)
    if not fit:
        return "no node"
    return found.names[0] if nodes == 1 else f"{fit:,} of {plural(nodes, 'node')}"


def summary(explanation: Explanation) -> str:
    """Sum up in one line what becomes of all nodes, the largest part first, and what is unknown.

    Nodes that the pod does not ask for come last: it waits for one of the others. Where not all of
    it is up to affinity, it says what affinity leaves.
    """
    fit, nodes = len(explanation.fits), len(explanation.names)
    may = "may fit" if explanation.verdict is Verdict.UNKNOWN else "fit"
    if explanation.held:
        may = "would fit by its rules"
    parts = [(False, -fit, f" {may}")] if fit else []
    parts += [
        (is_not_asked_for(each.refusals), -each.nodes, f": {each.cause}")
        for each in explanation.groups
    ]
    parts.sort(key=lambda each: each[:2])
    said = [f"{-number:,}{what}" for _, number, what in parts]
    if parts:
        _, number, what = parts[0]
        said[0] = f"{-number:,} of {plural(nodes, 'node')}{what}"
    else:
        said = ["there is no node to go to"]
    if any(group.refusals[0].rule.of_node for group in explanation.groups):
        said.append(f"affinity leaves {explanation.left_by_affinity:,} of {nodes:,}")
    said += [each.text for each in explanation.unknown if fit]
    if fit and (quote := quoted(explanation)):
        said.append(quote)
    return "; ".join(said)


def term_title(facts: TermFacts) -> str:
    effect = f"refuses {plural(facts.refused, 'node')}" if facts.refused else "refuses no node"
    if facts.reason is Reason.AFFINITY and facts.refused:
        effect = f"is not met on {plural(facts.refused, 'node')}"
    source = " (by annotation)" if facts.annotated else ""
    whose = SUBJECTS[facts.reason].removeprefix("the ").capitalize()
    return f"{whose}{source} over {facts.term.topology_key} {effect}"


def term_rows(found: Explanation, facts: TermFacts) -> Sequence[Row]:
    term = facts.term
    owner = found.pod.pod_class.namespace
    merged = f" (with {', '.join(facts.merged)} of this pod)" if facts.merged else ""
    about = f"pods with {labels_of(term.pods.selector)}{merged}"
    if isinstance(term, LimitedTerm):
        about = f"at most {plural(term.most, 'pod')}{about.removeprefix('pods')}"
    if term.pods.selector.matches_nothing:
        about = "no pods: it has no labelSelector"
    carried = facts.reason is Reason.EXISTING_ANTI_AFFINITY
    return (
        ("about", about),
        ("namespaces", namespaces_of(facts, None if carried else owner)),
        (
            "carried by" if carried else "matches",
            plural(facts.matched, "placed pod") + _same_rule(facts),
        ),
    )


def _same_rule(facts: TermFacts) -> str:
    if not facts.sharing:
        return ""
    has = "has" if facts.sharing == 1 else "have"
    if facts.sharing < facts.matched:
        return f"; {facts.sharing:,} of them {has} the same rule"
    return f", which {has} the same rule"


def namespaces_of(facts: TermFacts, owner: str | None) -> str:
    """Say which namespaces a term is about, how it chose them, and which these are now.

    Without an owner, as of a term that several pods have, it is not known whether they are named.
    """
    said = []
    pods = facts.term.pods
    if pods.namespaces:
        own = {*pods.namespaces} == {owner}
        listed = some(sorted(pods.namespaces), len(pods.namespaces))
        how = ", its own" if own else ", by name"
        said.append(listed if owner is None else listed + how)
    selector = pods.namespace_selector
    if selector is not None and not selector.requirements and not selector.matches_nothing:
        said.append("all namespaces (an empty namespaceSelector)")
    elif selector is not None:
        now = some(facts.namespaces, facts.namespace_count) or "none now"
        said.append(f"by namespaceSelector {labels_of(selector)}: {now}")
    return " and ".join(said) or "none"


def is_by(each: Refusal, facts: TermFacts) -> bool:
    rule = each.rule
    same = each.reason is facts.reason and rule.annotated is facts.annotated
    return same and facts.term in rule.terms


def most_nodes_first(each: Refusal) -> tuple[int, str]:
    return -each.hits, each.domain or ""


def domain_row(each: Refusal) -> Row:
    return domain_of(each), plural(each.hits, "node"), each.rule.behind(each)


def domain_of(refusal: Refusal) -> str:
    if refusal.domain is None:
        return "no such label"
    key = short(refusal.rule.key)
    return refusal.domain if key == HOSTNAME else f"{key} {refusal.domain}"


def is_stated(each: Refusal) -> bool:
    """Return whether there is to say of a refusal what neither the summary nor a term says."""
    return each.rule.statement(each) is not None


def other_rules(refusals: Sequence[Refusal], count: int) -> Iterator[str]:
    """Yield the statements about the first `count` of the refusals that have one."""
    yield from (str(each.rule.statement(each)) for each in refusals[:MOST_STATED])
    if count > MOST_STATED:
        yield f"And {plural(count - MOST_STATED, 'more cause')}"


def nearest(found: Explanation) -> Sequence[str]:
    if found.fits:
        return ()
    said = [str(each) for each in found.near_misses[:MOST_NEAR]]
    more = found.near_miss_count - MOST_NEAR
    return (*said, f"and {more:,} more") if more > 0 else said


def best_title(found: Explanation) -> str:
    among = " of those that may fit" if found.of_fitting is Verdict.UNKNOWN else ""
    return f"Best nodes{among}"


def highest_first(found: Explanation) -> Callable[[str], tuple[int, str]]:
    return lambda name: (-found.final.get(name, 0), name)


def score_head(found: Explanation) -> Row:
    """Return the headings of `scores_of`, after that of the node."""
    plugins = [part for each in found.scores for part in (each.plugin, "RAW")]
    return ("SCORE", *plugins)


def scores_of(found: Explanation, name: str) -> Row:
    parts: list[str] = [name, str(found.final.get(name, 0))]
    for each in found.scores:
        raw = each.raw.get(name)
        parts += ("", "") if raw is None else (str(each.normalised[raw]), str(raw))
    return parts


def node_row(found: Explanation, name: str) -> Row:
    refused = found.refused.get(name)
    if refused is None:
        fits = "maybe" if found.of_fitting is Verdict.UNKNOWN else "yes"
        return name, fits, str(found.final.get(name, 0)), "0", "", "", ""
    each, rules = refused[0], len(refused)
    domain = "" if each.rule.key is None else domain_of(each)
    return name, "no", "", str(rules), domain, event_of(refused), each.in_the_way
