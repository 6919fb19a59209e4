"""Topology domains for one value of a label: the annotation about them, and their affinity term."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.commands.lint.finding import Level, Rule, Spot
from affinityctl.commands.lint.template import NEW, REQUIRED, Template
from extender.core.model.exclusive import own_group, unwritten
from extender.core.model.labels import Labels, Operator
from extender.core.model.pod_affinity import Term
from extender.core.wire.manifests import EXCLUSIVE_ANNOTATION


def _labels(template: Template) -> Labels:
    """Return the labels of its pods; those that a controller gives have values yet unknown."""
    given = {key: f"<the pod's {key}>" for key in template.owner.given_labels}
    return {**given, **template.labels}


def _required(template: Template, *, against: bool) -> list[Term]:
    return [at.term for at in template.of(against=against)]


def _unwritten(template: Template) -> Iterator[Spot]:
    text, labels, owner = template.exclusive, _labels(template), template.owner
    if text is None:
        return
    by_policy = template.around.writes_exclusive and not owner.stored and owner.kind != "DaemonSet"
    if by_policy and own_group(text, labels) is not None:
        return
    near, away = (_required(template, against=against) for against in (False, True))
    if what := unwritten(text, labels, near, away):
        path = f"{owner.path.removesuffix('spec')}metadata.annotations[{EXCLUSIVE_ANNOTATION}]"
        yield Spot(path, what)


def _never_first(template: Template) -> Iterator[Spot]:
    """Find a group's own affinity beside one that none of the group meets."""
    written = _required(template, against=False)
    text, pods = template.exclusive, template.annotation.pods
    own = None if text is None else own_group(text, _labels(template))
    if own is None:
        away = _required(template, against=True)
        own = next((term for term in written if _is_of_group(term, away)), None)
    if own is None:
        return
    asked = {*written}
    for each in () if pods is None else pods.rules.plus(pods.during_execution).required:
        asked.add(each.merged(template.revision(NEW)))
    others = [term for term in asked if term != own and not template.matches_itself(term)]
    if not others:
        return
    if template.around.pods is not None:
        in_spec = asked | {own} == {*written}  # pods_meant says what is wrong with these
        if in_spec or template.around.some_pod_meets([own, *others]):
            return
    yield Spot(
        template.owner.list_of("podAffinity", REQUIRED),
        "all required affinity terms have to be met by one pod, the first one included: beside the "
        f"term over {own.topology_key} that keeps the group together, another asks for pods that "
        "are not of the group",
    )


def _is_of_group(near: Term, away: list[Term]) -> bool:
    """Return whether pods with other values of a label that a term asks for are kept away."""
    return any(
        each.operator is Operator.IN
        and len(each.values) == 1
        and any(
            other.topology_key == near.topology_key
            and any(
                apart.operator is Operator.NOT_IN
                and (apart.key, apart.values) == (each.key, each.values)
                for apart in other.pods.selector.requirements
            )
            for other in away
        )
        for each in near.pods.selector.requirements
    )


RULES: Final = (
    Rule(
        "exclusive-not-written",
        Level.WARNING,
        "The annotation affinity-extender.io/exclusive is there, and its terms are not.",
        "The annotation does nothing by itself: pods share domains.",
        "Install the policy of manifests/components/exclusive (docs/annotations.md), which writes "
        "the two terms into new pods, or write them into the template.",
        _unwritten,
    ),
    Rule(
        "exclusive-beside-affinity",
        Level.WARNING,
        "Pods that are to have a domain of their own require other pods there as well.",
        "All required affinity terms have to be met by one pod, and the first pod of a group has "
        "to meet them itself: no pod is ever placed.",
        "Make the other term a preferred one, or give the pods that it asks for the group's label.",
        _never_first,
    ),
)
