"""Surveys quotas: as a table for people, and as JSON for programs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial

from affinityctl.commands.quota import answer
from affinityctl.commands.quota.survey import NamespaceSurvey, survey
from affinityctl.reading.chosen_pods import note_empty_namespaces
from affinityctl.reading.cluster import fill
from affinityctl.reading.workloads import WorkloadFiles
from affinityctl.scheduler.judging import Judging, judging, note_ignored_rules
from affinityctl.terminal.printing import columns, more, named_lines, named_pod, printed, show
from extender.core.cluster.state import ClusterState
from extender.core.command_line import DONE, NOT_FINE
from extender.core.config.features import features, more_rules, reads_rules
from extender.core.errors import ConfigError, ObjectError
from extender.core.model.keys import name_of
from extender.core.model.labels import Requirement
from extender.core.model.wording import some
from extender.core.resources import NAMESPACES, PODS
from extender.core.wire.objects import PodReader
from extender.core.wire.quantities import read_exact_amounts
from extender.features.quota.charges import COMPUTE, OF_THE_POD, is_counted
from extender.features.quota.ledger import QuotaInUse, book
from extender.features.quota.mirror import FACETS
from extender.features.quota.objects import QUOTAS, write_use
from extender.features.quota.quotas import CHARGE, Amounts
from extender.features.quota.rules import Cause
from extender.features.quota.survey import Refusal, in_words

MOST_LINES = 20
"""Refused pods that the table shows one by one."""
NONE = "<none>"


def run(flags: argparse.Namespace) -> int:
    supposed = _limits(flags.what_if)
    by = judging(flags.config)
    state = _cluster(flags, by)
    note_ignored_rules(state)
    note_empty_namespaces(state, flags.namespace)
    found = survey(state, flags.namespace, supposed, limited=flags.limited_by_default)
    what_if: list[str] = flags.what_if

    def names() -> str:
        pods = (pod for each in found for pod in (*each.placed, *each.waiting))
        return named_lines(named_pod(each.key) for each in pods)

    told, text = partial(_told, found, what_if), partial(_text, found, what_if)
    show(printed(flags.output, told, text, names), flags.output)
    return NOT_FINE if any(map(_would_refuse, found)) else DONE


def _would_refuse(found: NamespaceSurvey) -> bool:
    """Return whether what was supposed would keep a pod away; what is refused today is as it is."""
    uncovered = (each.shortfall.cause is Cause.UNCOVERED for each in found.refused_now)
    return bool(found.refused_if) or any(uncovered)


def _limits(texts: list[str]) -> Amounts | None:
    """Read RESOURCE=LIMIT; None when nothing is supposed."""
    limits = {}
    for text in texts:
        resource, _, limit = text.partition("=")
        if not is_counted(resource):
            known = ", ".join((*OF_THE_POD, *COMPUTE))
            raise ConfigError(
                "--what-if",
                f"{resource!r} is not one of {known}, nor one with requests. or limits. before it; "
                "extended resources take requests. (requests.nvidia.com/gpu), huge pages may",
            )
        if resource in limits:
            raise ConfigError("--what-if", f"{resource} comes twice")
        limits[resource] = limit
    try:
        return read_exact_amounts(limits, "--what-if") if limits else None
    except ObjectError as error:
        raise ConfigError(error.path, error.message) from error


def _cluster(flags: argparse.Namespace, by: Judging) -> ClusterState:
    state = by.empty_state()
    # Their labels matter to rules beside specs alone.
    namespaces = (NAMESPACES,) if more_rules(by.config) else ()
    resources = (*namespaces, QUOTAS, PODS)
    book(state, limited=False)
    reader = PodReader(facets=FACETS, rules=reads_rules(features()))
    files = WorkloadFiles(state, reader, further=(QUOTAS,))
    fill(flags, files, resources)
    return state


# For programs


def _told(found: Sequence[NamespaceSurvey], what_if: Sequence[str]) -> answer.Surveyed:
    return {"whatIf": what_if, "namespaces": [_namespace(each, bool(what_if)) for each in found]}


def _namespace(found: NamespaceSurvey, supposed: bool) -> answer.ToldNamespace:  # noqa: FBT001
    told: answer.ToldNamespace = {
        "namespace": found.name,
        "placed": [pod.key for pod in found.placed],
        "waiting": [pod.key for pod in found.waiting],
        "quotas": [_quota(found, each) for each in found.quotas],
        "refusedNow": [_refusal(each) for each in found.refused_now],
    }
    if supposed:
        told["refusedIf"] = [_refusal(each) for each in found.refused_if]
    return told


def _quota(found: NamespaceSurvey, each: QuotaInUse) -> answer.Quota:
    charges = [of for pod in found.placed if (of := pod.facet(CHARGE)) is not None]
    return {
        "name": name_of(each.quota.key),
        "scopes": [_scope(scope) for scope in each.quota.scopes.requirements],
        "pods": sum(map(each.quota.applies_to, charges)),
        "resources": {
            resource: {"used": used, "hard": hard} for resource, used, hard in write_use(each)
        },
    }


def _refusal(refusal: Refusal) -> answer.Refused:
    why = refusal.shortfall
    return {
        "pod": refusal.pod.key,
        "cause": why.cause,
        "quota": name_of(why.quota) if why.quota else None,
        "resources": why.resources,
    }


def _scope(requirement: Requirement) -> str:
    values = f" ({', '.join(sorted(requirement.values))})" if requirement.values else ""
    return f"{requirement.key} {requirement.operator.value}{values}"


# For people


def _text(found: Sequence[NamespaceSurvey], what_if: Sequence[str]) -> str:
    if not found:
        return "no pod uses affinity across namespaces, and no quota is about that"
    header = ("NAMESPACE", "IN SCOPE", "WAITING", "REFUSED", "QUOTA", "RESOURCE", "USED", "HARD")
    parts = [columns(header, [row for each in found for row in _rows(each)])]
    refused = [refusal for each in found for refusal in each.refused_now]
    if refused:
        lines = [
            (each.pod.key, name_of(why.quota) if why.quota else NONE, in_words(why))
            for each in refused[:MOST_LINES]
            for why in (each.shortfall,)
        ]
        parts.append(columns(("WAITING POD", "QUOTA", "NOT PLACED BECAUSE"), lines))
        parts += more(refused, MOST_LINES)
    if what_if:
        rows = [
            (each.name, f"{len(each.refused_if)} of {each.in_scope}", _named(each.refused_if))
            for each in found
        ]
        supposed = columns(("NAMESPACE", "REFUSED", "PODS"), rows)
        parts.append(f"with {', '.join(what_if)}:\n{supposed}")
    return "\n\n".join(parts)


def _rows(found: NamespaceSurvey) -> Iterator[Sequence[str]]:
    """Yield a line for each limit; what is about the namespace stands in the first."""
    about = (found.name, str(found.in_scope), str(len(found.waiting)), str(len(found.refused_now)))
    limits: list[tuple[str, str, str, str]] = []
    for each in found.quotas:
        name = name_of(each.quota.key)
        limits += [(name, *use) for use in write_use(each)] or [(name, NONE, "", "")]
    for limit in limits or [(NONE, "", "", "")]:
        yield (*about, *limit)
        about = ("", "", "", "")


def _named(refused: Sequence[Refusal]) -> str:
    names = [name_of(each.pod.key) for each in refused]
    return some(names, len(names))
