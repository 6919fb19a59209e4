"""Replicas that are to be apart: whether what is written is about them, and whether it is there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.commands.lint.finding import Level, Rule, Spot
from affinityctl.commands.lint.near import hint
from affinityctl.commands.lint.patching import add, spread
from affinityctl.commands.lint.selectors import contradictory
from affinityctl.commands.lint.template import NEW, KnownPods, Template, TermAt
from extender.core.model.labels import HOSTNAME, Operator

_REPLICATED: Final = frozenset(("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"))


def _several(template: Template) -> bool:
    return template.owner.kind in _REPLICATED and (template.owner.rollout.replicas or 0) > 1


def _misses(template: Template) -> Iterator[Spot]:
    if not _several(template):
        return
    whose = f"no pod of this {template.owner.kind}"
    for constraint in template.spread:
        if not constraint.selector.matches(template.labels):
            yield _to_select_own(template, constraint.path, f"counts {whose}: it does nothing")
    against = [at for at in template.terms if at.against and not _says_nothing(at)]
    if not any(template.matches_itself(at.term) for at in against):
        for at in against:
            instead = _its_own(template, at)
            if instead is not None:
                message = f"matches {whose}, nor another{instead}"
                yield _to_select_own(template, at.path, message)


def _to_select_own(template: Template, path: str, message: str) -> Spot:
    field = f"{path}.labelSelector"
    return Spot(field, message, (add(field, template.own_selector),))


def _its_own(template: Template, at: TermAt) -> str | None:
    """Return a hint, perhaps empty, where a term about no pod was meant for the template's own."""
    if at.written.namespaces or at.written.namespaceSelector is not None:
        return None
    around, own = template.around, KnownPods()
    own.add(template.owner.namespace, template.labels)
    term = at.unmerged.term
    instead = around.meant(term, own)
    if around.pods is None:
        return hint(instead) if instead else None
    asked = term.pods.selector.requirements
    of_own = all(each.operator is Operator.IN and each.key in template.labels for each in asked)
    return hint(instead) if of_own and not around.some_pod_meets([term]) else None


def _about_none(template: Template) -> Iterator[Spot]:
    around = template.around
    its_own = {each.path for each in _misses(template)}
    for at in template.terms:
        path = f"{at.path}.labelSelector"
        if around.pods is None or (at.required and not at.against) or path in its_own:
            continue
        term = at.unmerged.term
        if not _says_nothing(at) and not around.some_pod_meets([term]):
            instead = around.meant(term, around.pods)
            if instead is not None:
                yield Spot(path, f"matches no pod{hint(instead)}")


def _says_nothing(at: TermAt) -> bool:
    """Return whether a rule of its own finds that it is about no pod, whichever there are."""
    selector = at.term.pods.selector
    return selector.matches_nothing or contradictory(selector.requirements) is not None


def _annotated(template: Template) -> bool:
    """Return whether rules in annotations keep replicas apart, or mean them to share a node."""
    pods = template.annotation.pods
    if pods is None:
        return False
    rules = pods.rules.plus(pods.during_execution)
    preferred = (term for term, weight in rules.preferred if weight < 0)
    apart = (*rules.required_anti, *preferred, *(term for term, _ in rules.limits))
    return any(each.term.topology_key == HOSTNAME for each in rules.required) or any(
        template.matches_itself(each.merged(template.revision(NEW))) for each in apart
    )


def _not_spread(template: Template) -> Iterator[Spot]:
    written = (
        template.spread or template.ports or template.owner.faulty or template.annotation.fault
    )
    rules = any(at.against or at.term.topology_key == HOSTNAME for at in template.terms)
    rules = rules or _annotated(template)
    one_node = template.around.nodes is not None and not template.eligible_nodes()[1:]
    if _several(template) and not written and not rules and not one_node:
        count = template.owner.rollout.replicas
        patch = spread(template, HOSTNAME, template.own_selector, "ScheduleAnyway")
        yield Spot(template.owner.path, f"{count} replicas, which may all be on one node", patch)


def _against_affinity(template: Template) -> Iterator[Spot]:
    """Yield constraints that want in several domains what affinity keeps in one."""
    known = template.around.nodes is not None
    for constraint in template.spread:
        key, replicas = constraint.topology_key, template.owner.rollout.replicas or 0
        if not constraint.hard or replicas <= constraint.max_skew:
            continue
        if known and (template.eligible_domains(key) or 0) <= 1:
            continue  # no domain counts but the one
        for near in template.of(against=False):
            same = near.term.pods.selector == constraint.selector
            if same and near.term.topology_key == key and template.matches_itself(near.term):
                yield Spot(
                    constraint.path, f"wants in several domains what {near.path} keeps in one"
                )


RULES: Final = (
    Rule(
        "affinity-against-spread",
        Level.ERROR,
        "Required affinity keeps the pods in one domain, and a topology spread constraint wants "
        "them in several.",
        "After maxSkew pods, every further one waits for ever.",
        "Remove one of the two, or use ScheduleAnyway.",
        _against_affinity,
    ),
    Rule(
        "selector-misses-own-pods",
        Level.WARNING,
        "Anti-affinity or a topology spread constraint that was to keep replicas apart is not "
        "about them.",
        "Nothing keeps the replicas apart.",
        "Ask for labels that the template has.",
        _misses,
    ),
    Rule(
        "selector-almost-matches",
        Level.WARNING,
        "Anti-affinity, or preferred affinity, is about no pod, and would be but for a letter.",
        "The term has no effect.",
        "Correct the label.",
        _about_none,
    ),
    Rule(
        "replicas-not-spread",
        Level.NOTE,
        "A workload has several replicas and nothing that spreads them.",
        "One node that fails may take all of them along: the scheduler's defaults are a weak "
        "preference only.",
        "Add a topologySpreadConstraint by kubernetes.io/hostname with ScheduleAnyway, or "
        "preferred anti-affinity.",
        _not_spread,
    ),
)
