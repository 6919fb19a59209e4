"""Explanations for people, and as JSON or YAML for programs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import msgspec
import yaml

from extender.cli.columns import columns
from extender.cluster.state import ClusterState
from extender.model.stepping import at_once
from extender.model.wording import plural
from extender.verbs.explaining.beyond import looking_beyond
from extender.verbs.explaining.explanation import Explanation, TermFacts
from extender.verbs.explaining.notes import Note, notes
from extender.verbs.explaining.telling import (
    MOST_BEST,
    MOST_DOMAINS,
    MOST_NEAR,
    NODE_HEAD,
    best,
    domain_row,
    node_row,
    other_rules,
    refusals_by,
    score_head,
    scores_of,
    summary,
    term_rows,
    term_title,
    verdict,
)
from extender.wire.explanation import write_explanation

FAST_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""libyaml's, where it is there: thousands of nodes take a tenth of the time."""

WIDTH = 80
INDENT = "  "


def write(state: ClusterState, found: Sequence[Explanation], output: str) -> str:
    """Write explanations in a format: text, wide, json or yaml."""
    remarks = [[*notes(state, each), *at_once(looking_beyond(state, each))] for each in found]
    if output in ("json", "yaml"):
        documents = [
            msgspec.json.decode(b"".join(write_explanation(each, its)))
            for each, its in zip(found, remarks, strict=True)
        ]
        told = documents[0] if len(documents) == 1 else documents
        if output == "yaml":
            return str(yaml.dump(told, Dumper=FAST_DUMPER, sort_keys=False)).rstrip("\n")
        return msgspec.json.format(msgspec.json.encode(told)).decode()
    wide = output == "wide"
    texts = (_text(each, its, wide=wide) for each, its in zip(found, remarks, strict=True))
    return "\n\n\n".join(texts)


def _text(found: Explanation, remarks: Sequence[Note], *, wide: bool) -> str:
    parts = [
        wrapped(f"{found.pod.key} {verdict(found)}") + "\n" + wrapped(summary(found)),
        *(_term(found, each) for each in found.terms),
        *map(wrapped, other_rules(found)),
        *_nearest(found),
        *(wrapped(f"Note: {each.text}.", "", 6) for each in remarks),
        _all_nodes(found) if wide else _best(found),
    ]
    return "\n\n".join(part for part in parts if part)


def _term(found: Explanation, facts: TermFacts) -> str:
    lines = [wrapped(term_title(facts))]
    lines += [wrapped(f"{name:<11} {text}", INDENT, 12) for name, text in term_rows(found, facts)]
    return "\n".join((*lines, *_domains(found, facts)))


def _domains(found: Explanation, facts: TermFacts) -> Iterator[str]:
    """Yield a line for each of the domains with most nodes."""
    refusals = refusals_by(found, facts)
    rows = [domain_row(each) for each in refusals[:MOST_DOMAINS]]
    if rows:
        yield textwrap.indent(columns(rows[0], rows[1:]), INDENT)
    if len(refusals) > len(rows):
        yield f"{INDENT}and {plural(len(refusals) - len(rows), 'more domain')}; -o wide has all"


def _nearest(found: Explanation) -> Iterator[str]:
    misses = found.near_misses
    if misses and not found.fits:
        lines = [wrapped(f"- {each}", INDENT, 2) for each in misses[:MOST_NEAR]]
        more = found.near_miss_count - MOST_NEAR
        if more > 0:
            lines.append(f"{INDENT}and {more:,} more")
        yield "\n".join(("Nearest: it would fit on", *lines))


def _best(found: Explanation) -> str:
    if not found.fits:
        return ""
    ordered = best(found)
    rows = [scores_of(found, name) for name in ordered[:MOST_BEST]]
    more = len(ordered) - MOST_BEST
    told = columns(("BEST NODES", *score_head(found)), rows)
    return told + (f"\nand {plural(more, 'more node')}" if more > 0 else "")


def _all_nodes(found: Explanation) -> str:
    return columns(NODE_HEAD, [node_row(found, name) for name in found.names])


def wrapped(text: str, indent: str = "", hanging: int = 2) -> str:
    """Wrap a line at the width of a terminal; what comes after the first line hangs."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + " " * hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
