"""Explanations for people, and as JSON or YAML for programs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import yaml

from extender.cli.columns import columns
from extender.cluster.state import ClusterState
from extender.model.verdict import Reason
from extender.model.wording import labels_of
from extender.verbs.explaining.explanation import Explanation, Refusal, TermFacts
from extender.verbs.explaining.notes import near_miss, notes
from extender.verbs.explaining.words import (
    HOSTNAME,
    in_the_way,
    namespaces_of,
    plural,
    quota_of,
    short,
    some,
    summary,
)
from extender.verbs.rules import PodRule
from extender.wire.explanation import write_explanation

FAST_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""libyaml's, where it is there: thousands of nodes take a tenth of the time."""

WIDTH = 80
INDENT = "  "
MOST_DOMAINS = 8
"""Domains of a rule that are shown one by one."""
MOST_NEAR = 5
MOST_BEST = 5
"""Nodes that are shown with their scores."""

NODE_RULE = "Your node selector or node affinity"
WHOSE = {
    Reason.AFFINITY: "Your affinity",
    Reason.ANTI_AFFINITY: "Your anti-affinity",
    Reason.EXISTING_ANTI_AFFINITY: "Anti-affinity of placed pods",
}


def write(state: ClusterState, found: Sequence[Explanation], output: str) -> str:
    """Write explanations in a format: text, wide, json or yaml."""
    if output in ("json", "yaml"):
        documents = [
            msgspec.json.decode(b"".join(write_explanation(each, notes(state, each))))
            for each in found
        ]
        told = documents[0] if len(documents) == 1 else documents
        if output == "yaml":
            return str(yaml.dump(told, Dumper=FAST_DUMPER, sort_keys=False)).rstrip("\n")
        return msgspec.json.format(msgspec.json.encode(told)).decode()
    return "\n\n\n".join(_text(state, each, wide=output == "wide") for each in found)


def _text(state: ClusterState, found: Explanation, *, wide: bool) -> str:
    parts = [
        _wrapped(f"{found.pod.key} {_verdict(found)}") + "\n" + _wrapped(summary(found)),
        *(_term(found, each) for each in found.terms),
        *_other_rules(found),
        *_nearest(found),
        *_notes(state, found),
        _all_nodes(found) if wide else _best(found),
    ]
    return "\n\n".join(part for part in parts if part)


def _verdict(found: Explanation) -> str:
    fit, nodes = len(found.fits), len(found.names)
    if nodes == 1:
        return f"{'fits' if fit else 'does not fit'} on {found.names[0]}"
    return f"fits on {fit:,} of {plural(nodes, 'node')}" if fit else "fits on no node"


def _term(found: Explanation, facts: TermFacts) -> str:
    term, key = facts.term, facts.term.topology_key
    effect = f"refuses {plural(facts.refused, 'node')}" if facts.refused else "refuses no node"
    if facts.reason is Reason.AFFINITY and facts.refused:
        effect = f"is not met on {plural(facts.refused, 'node')}"
    owner = found.pod.pod_class.namespace
    merged = f" (with {', '.join(facts.merged)} of this pod)" if facts.merged else ""
    mutual = ", which have the same rule" if facts.mutual else ""
    carried = facts.reason is Reason.EXISTING_ANTI_AFFINITY
    rows = [
        ("about", f"pods with {labels_of(term.pods.selector)}{merged}"),
        ("namespaces", namespaces_of(term, None if carried else owner, facts.namespaces)),
        ("carried by" if carried else "matches", plural(facts.matched, "placed pod") + mutual),
    ]
    mine = [
        each
        for each in found.refusals
        if each.reason is facts.reason
        and isinstance(each.rule, PodRule)
        and term in each.rule.terms
        and each.annotated is facts.annotated
    ]
    source = " (by annotation)" if facts.annotated else ""
    lines = [_wrapped(f"{WHOSE[facts.reason]}{source} over {key} {effect}")]
    lines += [_wrapped(f"{name:<11} {text}", INDENT, 12) for name, text in rows]
    return "\n".join((*lines, *_domains(mine)))


def _domains(refusals: Sequence[Refusal]) -> Iterator[str]:
    """Yield a line for each of the domains with most nodes."""
    shown = sorted(refusals, key=lambda each: (-each.hits, each.domain or ""))[:MOST_DOMAINS]
    rows = [(_place(each), plural(each.hits, "node"), _behind(each)) for each in shown]
    if rows:
        yield textwrap.indent(columns(rows[0], rows[1:]), INDENT)
    if len(refusals) > len(shown):
        yield f"{INDENT}and {plural(len(refusals) - len(shown), 'more domain')}; -o wide has all"


def _place(refusal: Refusal) -> str:
    if refusal.domain is None:
        return "no such label"
    key = short(refusal.key)
    return refusal.domain if key == HOSTNAME else f"{key} {refusal.domain}"


def _behind(refusal: Refusal) -> str:
    if refusal.reason is Reason.AFFINITY:
        several = isinstance(refusal.rule, PodRule) and refusal.rule.of_several
        return "no pod that matches all required terms" if several else "no such pod"
    return f"blocked by {in_the_way(refusal)}" if refusal.pods else "gone meanwhile"


def _other_rules(found: Explanation) -> Iterator[str]:
    """Yield what is to say of rules that are not about placed pods."""
    for each in found.refusals:
        nodes = plural(each.hits, "node")
        match each.reason:
            case Reason.NODE_AFFINITY:
                rule = "Node affinity in your annotation" if each.annotated else NODE_RULE
                yield f"{rule} does not match {nodes}"
            case Reason.ENFORCED_NODE_AFFINITY:
                yield f"Node affinity that the scheduler adds does not match {nodes}"
            case Reason.QUOTA:
                yield _wrapped(f"Refused on {nodes}: {quota_of(each)}")
            case Reason.UNKNOWN_NODE:
                yield _wrapped(f"Unknown: {some(each.nodes, len(each.nodes))}")
            case _ if each.nominated:
                yield _wrapped(f"{each.nodes[0]} is held for {in_the_way(each)}")


def _nearest(found: Explanation) -> Iterator[str]:
    misses = found.near_misses
    if misses and not found.fits:
        lines = [_wrapped(f"- {near_miss(each)}", INDENT, 2) for each in misses[:MOST_NEAR]]
        more = found.near_miss_count - MOST_NEAR
        if more > 0:
            lines.append(f"{INDENT}and {more:,} more")
        yield "\n".join(("Nearest: it would fit on", *lines))


def _notes(state: ClusterState, found: Explanation) -> Iterator[str]:
    for each in notes(state, found):
        yield _wrapped(f"Note: {each.text}.", "", 6)


def _best(found: Explanation) -> str:
    if not found.fits:
        return ""
    ordered = sorted(found.fits, key=lambda name: (-found.final.get(name, 0), name))
    head, rows = (
        ("BEST NODES", *_score_head(found)),
        [_scores(found, n) for n in ordered[:MOST_BEST]],
    )
    more = len(ordered) - MOST_BEST
    return columns(head, rows) + (f"\nand {plural(more, 'more node')}" if more > 0 else "")


def _score_head(found: Explanation) -> Sequence[str]:
    plugins = [part for each in found.scores for part in (each.plugin, "RAW")]
    return ("SCORE", *plugins)


def _scores(found: Explanation, name: str) -> Sequence[str]:
    parts: list[str] = [name, str(found.final.get(name, 0))]
    for each in found.scores:
        raw = each.raw.get(name)
        parts += ("", "") if raw is None else (str(each.normalised[raw]), str(raw))
    return parts


def _all_nodes(found: Explanation) -> str:
    head = ("NODE", "FITS", "SCORE", "RULES", "DOMAIN", "REASON", "BLOCKED BY")
    return columns(head, _rows(found))


def _rows(found: Explanation) -> Iterable[Sequence[str]]:
    for name in found.names:
        refused = found.refused.get(name)
        if refused is None:
            yield name, "yes", str(found.final.get(name, 0)), "0", "", "", ""
            continue
        each, rules = refused[0], len(refused)
        domain = "" if each.key is None else _place(each)
        yield name, "no", "", str(rules), domain, each.reason.value, in_the_way(each)


def _wrapped(text: str, indent: str = "", hanging: int = 2) -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + " " * hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
