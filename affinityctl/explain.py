"""Explains pods: for people, and as JSON or YAML for programs."""

from __future__ import annotations

import argparse
import difflib
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from affinityctl.api_server import namespace_of
from affinityctl.cluster import cluster_with_nodes
from affinityctl.judging import EXIT, judging, note_ignored_annotations
from affinityctl.manifests import read_manifests
from affinityctl.printing import INDENT, columns, printed, section, wrapped
from extender.cluster.state import ClusterState
from extender.command_line import complain, say, worst
from extender.errors import ConfigError
from extender.model.objects import Pod
from extender.model.stepping import at_once
from extender.model.wording import plural
from extender.offline import ClusterFileError, listed
from extender.verbs.explaining.explanation import Explanation, Question, TermFacts
from extender.verbs.explaining.notes import Note, notes
from extender.verbs.explaining.steps import explaining
from extender.verbs.explaining.telling import (
    MOST_BEST,
    MOST_DOMAINS,
    MOST_NEAR,
    NODE_HEAD,
    best,
    domain_row,
    headline,
    node_row,
    other_rules,
    refusals_by,
    score_head,
    scores_of,
    summary,
    term_rows,
    term_title,
)
from extender.wire.explanation import KINDS, read_manifest, write_explanation
from extender.wire.objects import PodReader

SIMILAR = 3
"""Names that an error proposes."""


def run(flags: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    if (flags.pod is None) is (flags.filename is None):
        raise ConfigError("POD", "name a pod, or give a manifest with -f; one of the two")
    flags.namespace = namespace_of(flags)
    # A manifest that cannot be read is said before a large cluster is.
    by = judging(flags.config)
    pods = PodReader(by.gates, charges=True, node_affinity=True, owners=True, requirements=True)
    given = [] if flags.filename is None else _manifests(flags.filename, flags.namespace, pods)
    state, _ = cluster_with_nodes(flags, pods, by=by)
    note_ignored_annotations(state)
    asked = given or [_pod(state, flags.namespace, flags.pod)]
    names = list(state.nodes) if flags.node is None else [_node(state, flags.node)]
    by_what = by.profile.filters, by.profile.scoring, by.max_score
    questions = (Question(each, names, *by_what) for each in asked)
    found = [at_once(explaining(state, each)) for each in questions]
    say(write(state, found, flags.output))
    return worst(EXIT[each.verdict] for each in found)


def _manifests(path: Path, namespace: str, pods: PodReader) -> list[Pod]:
    found, ignored = read_manifests(
        path, KINDS, namespace, lambda kind, raw: read_manifest(kind, raw, pods)
    )
    if not found:
        what = f"only {listed(ignored)}" if ignored else "nothing"
        raise ClusterFileError(f"{path}: {what} in it; expected a Pod, Deployment or the like")
    if ignored:
        complain(f"note: {path}: {listed(ignored)} cannot be explained")
    return found


def _pod(state: ClusterState, namespace: str, name: str) -> Pod:
    """Find a pod by its name, or by kind and name of the workload that a dump has of it."""
    name = name.removeprefix("pod/").removeprefix("pods/")
    for key in (f"{namespace}/{name}", f"{namespace}/{name}[0]"):
        if key in state.pods:
            return state.pods[key]
    elsewhere = [key for key in state.pods if key.endswith(f"/{name}")]
    if elsewhere:
        spaces = ", ".join(sorted(key.partition("/")[0] for key in elsewhere)[:SIMILAR])
        raise ConfigError("POD", f"no pod {name} in namespace {namespace}, but in {spaces}; use -n")
    mine = [key.partition("/")[2] for key in state.pods if key.startswith(f"{namespace}/")]
    made = [each.removesuffix("[0]") for each in mine if each.endswith(f"/{name}[0]")]
    similar = f"; did you mean {made[0]}?" if made else _similar(name, mine)
    raise ConfigError("POD", f"no pod {name} in namespace {namespace} that has not ended{similar}")


def _node(state: ClusterState, name: str) -> str:
    if name in state.nodes:
        return name
    raise ConfigError("--node", f"no node {name}{_similar(name, state.nodes)}")


def _similar(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(names), n=SIMILAR)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def write(state: ClusterState, found: Sequence[Explanation], output: str) -> str:
    """Write explanations in a format: text, wide, json or yaml."""
    pairs = [(each, notes(state, each)) for each in found]
    wide = output == "wide"

    def told() -> object:
        first, *more = (msgspec.json.decode(b"".join(write_explanation(*pair))) for pair in pairs)
        return [first, *more] if more else first

    def text() -> str:
        return "\n\n\n".join("\n\n".join(_parts(*pair, wide=wide)) for pair in pairs)

    return printed(output, told, text)


def _parts(found: Explanation, remarks: Sequence[Note], *, wide: bool) -> Iterator[str]:
    yield section(f"{found.pod.key} {headline(found)}", [wrapped(summary(found))])
    yield from (section(term_title(each), _term(found, each)) for each in found.terms)
    yield from map(wrapped, other_rules(found))
    if found.near_misses and not found.fits:
        lines = [wrapped(f"- {each}", INDENT) for each in found.near_misses[:MOST_NEAR]]
        if (more := found.near_miss_count - MOST_NEAR) > 0:
            lines.append(f"{INDENT}and {more:,} more")
        yield section("Nearest: it would fit on", lines)
    yield from (wrapped(f"Note: {each.text}.", "", 6) for each in remarks)
    if wide:
        yield columns(NODE_HEAD, [node_row(found, name) for name in found.names])
    elif found.fits:
        ordered = best(found)
        rows = [scores_of(found, name) for name in ordered[:MOST_BEST]]
        more = len(ordered) - MOST_BEST
        told = columns(("BEST NODES", *score_head(found)), rows)
        yield told + (f"\nand {plural(more, 'more node')}" if more > 0 else "")


def _term(found: Explanation, facts: TermFacts) -> Iterator[str]:
    for name, text in term_rows(found, facts):
        yield wrapped(f"{name:<11} {text}", INDENT, 12)
    refusals = refusals_by(found, facts)
    rows = [domain_row(each) for each in refusals[:MOST_DOMAINS]]
    if rows:
        yield textwrap.indent(columns(rows[0], rows[1:]), INDENT)
    if len(refusals) > len(rows):
        yield f"{INDENT}and {plural(len(refusals) - len(rows), 'more domain')}; -o wide has all"
