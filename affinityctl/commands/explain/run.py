"""Explains pods: for people, and as JSON or YAML for programs."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, redirect_stderr
from functools import partial
from io import StringIO
from time import time
from typing import Protocol

import msgspec

from affinityctl.commands.explain.making import is_superseded, not_made
from affinityctl.commands.explain.waiting import MOST_KINDS, Waiting, alike
from affinityctl.commands.explain.waiting import write as write_waiting
from affinityctl.commands.explain.watching import Looked, require_one, until_changed, watch
from affinityctl.reading.api_server import namespace_of
from affinityctl.reading.chosen_pods import (
    chosen,
    in_namespace,
    require_namespace,
    similar,
    where,
)
from affinityctl.reading.cluster import cluster_with_nodes
from affinityctl.reading.limit_ranges import limit_ranges
from affinityctl.reading.manifests import Manifests, read_manifests
from affinityctl.reading.priorities import priority_classes
from affinityctl.reading.whole_pods import WholePodReader
from affinityctl.scheduler.judging import EXIT, judging, note_ignored_rules
from affinityctl.scheduler.profiles import preemption
from affinityctl.scheduler.volumes.attaching import not_started
from affinityctl.terminal.printing import (
    INDENT,
    columns,
    named_lines,
    named_pod,
    printed,
    section,
    show,
    wrapped,
)
from affinityctl.terminal.progress import Progress
from extender.core.cluster.state import ClusterState
from extender.core.command_line import DONE, NOT_FINE, UNKNOWN, say
from extender.core.config.features import about_places
from extender.core.errors import ConfigError
from extender.core.model.objects import Pod
from extender.core.model.wording import plural
from extender.core.offline import ClusterFileError
from extender.diagnosis.verbs.explain import explanation_of
from extender.diagnosis.verbs.explanation import Explanation, Question, TermFacts
from extender.diagnosis.verbs.notes import IN_SHORT, Note, notes
from extender.diagnosis.verbs.remedies import what_to_do
from extender.diagnosis.verbs.telling import (
    MOST_BEST,
    MOST_DOMAINS,
    MOST_NEAR,
    NODE_HEAD,
    best_title,
    domain_row,
    headline,
    highest_first,
    is_by,
    is_stated,
    most_nodes_first,
    node_row,
    other_rules,
    score_head,
    scores_of,
    summary,
    term_rows,
    term_title,
)
from extender.diagnosis.verbs.waiting import is_not_made, waits
from extender.diagnosis.wire.explanation import KINDS, read_manifest, write_explanation


class Explained(Protocol):
    def __call__(self, pod: Pod, *, scored: bool) -> Explanation:
        """Explain a pod, and with `scored` say how well nodes suit it."""


def run(flags: argparse.Namespace) -> int:
    named = bool(flags.pods or flags.selector is not None)
    if sum((bool(flags.pods), flags.selector is not None, flags.filename is not None)) > 1:
        raise ConfigError("POD", "name pods, or give a selector with -l or a manifest with -f")
    if flags.all_namespaces and (flags.pods or flags.namespace):
        raise ConfigError("--all-namespaces", "has no use beside a pod's name or -n")
    if flags.watch:
        require_one(flags)
    asked, flags.namespace = flags.namespace, namespace_of(flags)
    if flags.watch:
        return _watch(flags)
    now = time()
    state, given, explained = _read(flags, now)
    if not (given or named):
        if asked:
            require_namespace(state, asked)
        return _survey(state, flags, explained, now)
    found = [explained(each, scored=True) for each in given or chosen(state, flags)]
    show(write(state, found, flags.output), flags.output)
    return _worst(EXIT[each.verdict] for each in found)


def _watch(flags: argparse.Namespace) -> int:
    seen: list[ClusterState] = []

    def look() -> Looked:
        # Ages differ from look to look, and are no news; nor is what rights are lacking.
        with redirect_stderr(StringIO()) if seen else nullcontext():
            state, _, explained = _read(flags, None)
        seen[:] = [state]
        pod, *others = chosen(state, flags)
        if others:
            raise ConfigError("--watch", f"{flags.pods[0]} is several pods; name one of them")
        flags.pods = [pod.key]
        found = explained(pod, scored=True)
        return found, notes(state, found)

    def tell(looked: Looked) -> str:
        return _text([looked], wide=flags.output == "wide")

    return watch(look, tell, partial(until_changed, flags))


def _read(
    flags: argparse.Namespace, now: float | None
) -> tuple[ClusterState, list[Pod], Explained]:
    """Read the cluster and manifests that flags name; return with them what explains their pods."""
    # A manifest that cannot be read is said before a large cluster is.
    by = judging(flags.config, flags.scheduler_config)
    pods = WholePodReader(by.gates)
    manifests = None if flags.filename is None else _manifests(flags, pods)
    adding = (priority_classes(pods.priorities), limit_ranges(pods.limits))
    cluster = cluster_with_nodes(flags, pods, *(adding if manifests else ()), by=by)
    state, given = cluster.state, list[Pod]()
    workloads = cluster.workloads.found if flags.cluster else None
    if manifests is not None:
        manifests.apply(cluster, verbose=flags.verbose)
        # Once more, as what is added to them is known with the cluster.
        given = [read_manifest(*each, pods) for each in manifests.found]
    note_ignored_rules(state)
    names = list(state.nodes) if flags.node is None else [_node(state, flags.node)]

    places = about_places()
    sits = None if places is None else places.sitting

    def explained(pod: Pod, *, scored: bool) -> Explanation:
        profile = by.profile.of(pod)
        scoring = profile.scoring if scored else ()
        question = Question(
            pod,
            names,
            profile.filters,
            scoring,
            by.max_score,
            sits=sits,
            left=by.profile.left,
            known=by.profile.known,
            now=now,
        )
        found = explanation_of(state, question)
        found.unknown = [*found.unknown, *not_started(state, pod, found.fits)]
        found.held = [*found.held, *not_made(state, pod, workloads or {})]
        found.superseded = is_superseded(pod, workloads or {})
        if flags.node is None and not found.fits:
            in_force = state.in_force(found.pod)
            found.preemption = preemption(state, in_force, by.profile, lambda: 0.0)
        return found

    return state, given, explained


def _survey(
    state: ClusterState,
    flags: argparse.Namespace,
    explained: Explained,
    now: float,
) -> int:
    """Explain all pods that wait, one of each kind."""
    waiting = [each for each in in_namespace(state, flags) if waits(state, each)]
    progress = Progress(things="kinds of pods")
    progress.begin()
    found = []
    kinds = alike(waiting)
    for number, each in enumerate(kinds):
        why = explained(each[0], scored=False) if number < MOST_KINDS else None
        remarks = () if why is None else notes(state, why)
        advice = () if why is None else what_to_do(why, remarks)
        short = [note for note in remarks if note.kind in IN_SHORT]
        found.append(Waiting(each, why, short, advice))
        progress.show("pods that wait", number + 1, len(kinds))
    progress.wipe()
    if not found and flags.output in {"text", "wide"}:
        pods = state.pods.values()
        elsewhere = sum(waits(state, each) and not is_not_made(each) for each in pods)
        more = f"; -A has {elsewhere:,} in others" if elsewhere else ""
        say(f"No pod waits {where(flags)}{more}.")
        return DONE
    show(write_waiting(found, now, flags.output), flags.output)
    verdicts = (each.explanation.verdict for each in found if each.explanation is not None)
    return _worst(EXIT[each] for each in verdicts)


def _manifests(flags: argparse.Namespace, pods: WholePodReader) -> Manifests[tuple[str, bytes]]:
    """Return manifests that can be read, with their kinds."""
    path = flags.filename

    def readable(kind: str, raw: bytes) -> tuple[str, bytes]:
        read_manifest(kind, raw, pods)
        return kind, raw

    given = read_manifests(path, KINDS, flags.namespace, readable)
    if not given.found:
        what = given.nothing() or "nothing in it"
        raise ClusterFileError(f"{path}: {what}; expected a Pod, Deployment or the like")
    return given


def _node(state: ClusterState, name: str) -> str:
    if name in state.nodes:
        return name
    raise ConfigError("--node", f"no node {name}{similar(name, state.nodes)}")


def write(state: ClusterState, found: Sequence[Explanation], output: str) -> str:
    """Write explanations in a format."""
    pairs = [(each, notes(state, each)) for each in found]

    def told() -> object:
        first, *more = (msgspec.json.decode(b"".join(write_explanation(*pair))) for pair in pairs)
        return [first, *more] if more else first

    def names() -> str:
        return named_lines(named_pod(each.pod.key) for each in found)

    return printed(output, told, lambda: _text(pairs, wide=output == "wide"), names)


def _text(pairs: Iterable[Looked], *, wide: bool) -> str:
    return "\n\n\n".join("\n\n".join(_parts(*pair, wide=wide)) for pair in pairs)


def _parts(found: Explanation, remarks: Sequence[Note], *, wide: bool) -> Iterator[str]:
    yield section(f"{found.pod.key} {headline(found)}", [wrapped(summary(found))])
    yield from (wrapped(f"Note: {each.text}.", "", 6) for each in remarks)
    if advice := what_to_do(found, remarks):
        yield section("What to do", (wrapped(f"- {each}", INDENT) for each in advice))
    yield from (section(term_title(each), _term(found, each)) for each in found.terms)
    others = sorted(filter(is_stated, found.refusals), key=most_nodes_first)
    yield from map(wrapped, other_rules(others, len(others)))
    if found.near_misses and not found.fits:
        lines = [wrapped(f"- {each}", INDENT) for each in found.near_misses[:MOST_NEAR]]
        if (more := found.near_miss_count - MOST_NEAR) > 0:
            lines.append(f"{INDENT}and {more:,} more")
        yield section("Nearest: it would fit on", lines)
    if wide:
        yield columns(NODE_HEAD, [node_row(found, name) for name in found.names])
    elif found.fits and not found.held:
        ordered = sorted(found.fits, key=highest_first(found))
        rows = [scores_of(found, name) for name in ordered[:MOST_BEST]]
        more = len(ordered) - MOST_BEST
        told = columns((best_title(found).upper(), *score_head(found)), rows)
        yield told + (f"\nand {plural(more, 'more node')}" if more > 0 else "")


def _term(found: Explanation, facts: TermFacts) -> Iterator[str]:
    for name, text in term_rows(found, facts):
        yield wrapped(f"{name:<11} {text}", INDENT, 12)
    by_term = (each for each in found.refusals if is_by(each, facts))
    refusals = sorted(by_term, key=most_nodes_first)
    rows = [domain_row(each) for each in refusals[:MOST_DOMAINS]]
    if rows:
        yield textwrap.indent(columns(rows[0], rows[1:]), INDENT)
    if len(refusals) > len(rows):
        yield f"{INDENT}and {plural(len(refusals) - len(rows), 'more domain')}; -o wide has all"


def _worst(codes: Iterable[int]) -> int:
    """Return the exit code for several answers: what is not fine outweighs what is unknown."""
    found = {*codes}
    return next((code for code in (NOT_FINE, UNKNOWN) if code in found), DONE)
