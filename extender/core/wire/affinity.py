"""Affinity and selectors out of manifests, into what the rules look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from extender.core.errors import ObjectError
from extender.core.model.labels import NOTHING, Operator, Requirement, Selector
from extender.core.model.pod_affinity import (
    LimitedTerm,
    PodSelector,
    Term,
    WrittenAffinity,
    WrittenTerm,
)
from extender.core.wire import manifests
from extender.core.wire.limits import OF_RULES
from extender.core.wire.manifests import AffinityManifest
from extender.core.wire.validation import values_fault


def read_affinity(manifest: manifests.AffinityManifest, namespace: str) -> WrittenAffinity:
    """Read the terms of a pod in a namespace; ObjectError names the field that is broken.

    Those beyond `OF_RULES` are left out of the manifest as well.
    """
    fault = OF_RULES.fault(*manifest.size)
    if fault is not None:
        fault += f"; the last {manifest.keep(OF_RULES)} count nowhere"
    affinity = manifest.podAffinity or manifests.PodAffinity()
    anti = manifest.podAntiAffinity or manifests.PodAffinity()
    return WrittenAffinity(
        required=tuple(_terms(affinity.required, namespace, "podAffinity")),
        required_anti=tuple(_terms(anti.required, namespace, "podAntiAffinity")),
        preferred=(
            *_weighted(affinity.preferred, namespace, "podAffinity", 1),
            *_weighted(anti.preferred, namespace, "podAntiAffinity", -1),
        ),
        limits=tuple(_limits(anti, namespace)),
        crosses_namespaces=any(map(_crosses, manifest.terms())),
        size=manifest.size,
        fault=None if fault is None else ("spec.affinity", fault),
    )


def read_selector(selector: manifests.LabelSelector | None, path: str) -> Selector:
    """Read a label selector; None is one that matches nothing."""
    if selector is None:
        return NOTHING
    requirements = [
        Requirement(key, Operator.IN, frozenset((value,)))
        for key, value in (selector.matchLabels or {}).items()
    ]
    for index, expression in enumerate(selector.matchExpressions or ()):
        requirements.append(_requirement(expression, f"{path}.matchExpressions[{index}]"))
    return Selector.of(requirements)


def _crosses(term: manifests.PodAffinityTerm) -> bool:
    return bool(term.namespaces) or term.namespaceSelector is not None


def _limits(anti: manifests.PodAffinity, namespace: str) -> Iterator[tuple[WrittenTerm, int]]:
    for term in anti.required or ():
        if term.most is not None:
            yield _term(term, namespace, "podAntiAffinity"), term.most


def _terms(
    terms: Iterable[manifests.PodAffinityTerm] | None, namespace: str, field: str
) -> Iterator[WrittenTerm]:
    path = f"spec.affinity.{field}.requiredDuringSchedulingIgnoredDuringExecution"
    for index, term in enumerate(terms or ()):
        if term.most is None:
            yield _term(term, namespace, f"{path}[{index}]")


def _weighted(
    terms: Iterable[manifests.WeightedPodAffinityTerm] | None,
    namespace: str,
    field: str,
    sign: int,
) -> Iterator[tuple[WrittenTerm, int]]:
    path = f"spec.affinity.{field}.preferredDuringSchedulingIgnoredDuringExecution"
    for index, weighted in enumerate(terms or ()):
        term = weighted.podAffinityTerm
        written = _term(term, namespace, f"{path}[{index}].podAffinityTerm")
        yield written, sign * weighted.weight


def _term(term: manifests.PodAffinityTerm, namespace: str, path: str) -> WrittenTerm:
    if not term.topologyKey:
        raise ObjectError(f"{path}.topologyKey", "a term needs a topology key")
    chosen = term.namespaceSelector
    named: Sequence[str] = term.namespaces or ()
    if not named and chosen is None:
        named = [namespace]
    pods = PodSelector(
        read_selector(term.labelSelector, f"{path}.labelSelector"),
        frozenset(named),
        None if chosen is None else read_selector(chosen, f"{path}.namespaceSelector"),
    )
    return WrittenTerm(
        Term(pods, term.topologyKey),
        tuple(term.matchLabelKeys or ()),
        tuple(term.mismatchLabelKeys or ()),
    )


def _requirement(expression: manifests.LabelSelectorRequirement, path: str) -> Requirement:
    values = frozenset(expression.values or ())
    operator = expression.operator
    fault = values_fault(operator, values)
    if fault is not None:
        raise ObjectError(f"{path}.values", fault)
    return Requirement(expression.key, operator, values)


def write_term(term: Term) -> dict[str, Any]:
    """Write a v1.PodAffinityTerm; namespaces are given even where the manifest gives none."""
    pods = term.pods
    written: dict[str, Any] = {
        "topologyKey": term.topology_key,
        "labelSelector": write_selector(pods.selector),
        "namespaces": sorted(pods.namespaces),
    }
    if pods.namespace_selector is not None:
        written["namespaceSelector"] = write_selector(pods.namespace_selector)
    if isinstance(term, LimitedTerm):
        written["maxMatchingPods"] = term.most
    return written


def write_selector(selector: Selector) -> dict[str, Any] | None:
    """Write a metav1.LabelSelector: None matches nothing, an empty one everything."""
    if selector.matches_nothing:
        return None
    if not selector.requirements:
        return {}
    return {"matchExpressions": [write_requirement(each) for each in selector.requirements]}


def write_requirement(requirement: Requirement) -> dict[str, Any]:
    written: dict[str, Any] = {"key": requirement.key, "operator": requirement.operator.value}
    return written | ({"values": sorted(requirement.values)} if requirement.values else {})


class Gates(msgspec.Struct, frozen=True):
    """Kubernetes' gates for fields of a term; the configuration has them as `featureGates`."""

    match_label_keys: bool = True
    """MatchLabelKeysInPodAffinity; off forgets keys, so that only what is merged already counts."""
    namespace_selector: bool = True
    """PodAffinityNamespaceSelector; off is before 1.21, when there was no namespaceSelector: a term
    that has nothing else speaks of its owner's namespace."""

    def drop_disabled(self, affinity: AffinityManifest) -> None:
        """Drop the fields whose gate is off, as if they had not been written."""
        for term in affinity.terms():
            if not self.match_label_keys:
                term.matchLabelKeys = term.mismatchLabelKeys = None
            if not self.namespace_selector:
                term.namespaceSelector = None


EVERY_GATE_ON = Gates()
