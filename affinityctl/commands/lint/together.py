"""What the fields of an object have to be together, as the API server's validation has it.

k8s.io/kubernetes/pkg/apis/{core,apps,batch,policy}/validation, for the fields that lint speaks of;
tests/e2e/test_manifest_differential.py compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from affinityctl.commands.lint.scalars import INT32, amount
from extender.core.model.labels import Operator
from extender.core.wire.decoding import whole_number
from extender.core.wire.node_terms import COMPARING, METADATA_NAME
from extender.core.wire.pod_resources import HUGE_PAGES
from extender.core.wire.validation import is_dns_subdomain, is_label_key, is_label_value

Manifest: TypeAlias = Mapping[str, Any]
Found: TypeAlias = Iterator[tuple[str, str]]
"""The path of a field, below the object, and what is wrong with it."""

_IN, _NOT_IN, _EXISTS, _DOES_NOT_EXIST = (each.value for each in Operator)
_RESOURCES: Final = frozenset(("cpu", "memory", "ephemeral-storage"))
"""Of a container; others have a slash in their names."""
_GIVEN: Final = "Kubernetes gives Jobs theirs: leave it out"
_ALL: Final = 100
"""Percent."""


def _requirement(each: Manifest) -> Found:
    operator, values = each.get("operator") or "", each.get("values") or ()
    if operator in {_IN, _NOT_IN}:
        if not values:
            yield "values", f"operator {operator} takes at least one value"
    elif operator in {_EXISTS, _DOES_NOT_EXIST} and values:
        yield "values", f"operator {operator} takes no values"


def _node_requirement(each: Manifest) -> Found:
    operator, values = each.get("operator") or "", each.get("values") or ()
    if operator in COMPARING:
        if len(values) != 1:
            yield "values", f"operator {operator} takes one value"
    elif operator not in {each.value for each in Operator}:
        yield "operator", f"{operator!r} is not an operator"
    yield from _requirement(each)


def _field_requirement(each: Manifest) -> Found:
    operator, values = each.get("operator") or "", each.get("values") or ()
    if operator not in {_IN, _NOT_IN}:
        yield "operator", f"{operator!r} is not an operator for fields"
    elif len(values) != 1:
        yield "values", f"operator {operator} takes one value"
    if each.get("key") != METADATA_NAME:
        yield "key", f"{each.get('key')!r} is not {METADATA_NAME}"
    else:
        for index, value in enumerate(values):
            if not is_dns_subdomain(value):
                yield f"values[{index}]", f"{value!r} is not the name of a node"


def _node_selector(each: Manifest) -> Found:
    if not each.get("nodeSelectorTerms"):
        yield "nodeSelectorTerms", "at least one term is required"


def label_key_faults(each: Manifest) -> Iterator[tuple[str, str, str]]:
    """Yield what is wrong with the label keys of a term or constraint, with the rule's id."""
    selector = each.get("labelSelector")
    matched, mismatched = (each.get(name) or () for name in ("matchLabelKeys", "mismatchLabelKeys"))
    for name, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        if keys and selector is None:
            yield name, "given without a labelSelector", "label-keys-without-selector"
    for index, key in enumerate(matched):
        if key in mismatched:
            both = f"{key} is in mismatchLabelKeys as well"
            yield f"matchLabelKeys[{index}]", both, "label-key-in-both"
    if selector is not None:
        used = {*(selector.get("matchLabels") or ())}
        used |= {each.get("key") for each in selector.get("matchExpressions") or ()}
        for index, key in enumerate(matched):
            if key in used:
                selected = f"{key} is in the labelSelector as well"
                yield f"matchLabelKeys[{index}]", selected, "label-key-already-selected"


def _spread(each: Manifest) -> Found:
    if each.get("minDomains") is not None and each.get("whenUnsatisfiable") != "DoNotSchedule":
        yield "minDomains", "only DoNotSchedule can have it"


def _toleration(each: Manifest) -> Found:
    key, value = each.get("key"), each.get("value") or ""
    operator, effect = each.get("operator"), each.get("effect")
    if not key and operator != "Exists":
        yield "operator", "without a key, the operator has to be Exists"
    if each.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield "effect", "with tolerationSeconds, the effect has to be NoExecute"
    if operator == "Exists" and value:
        yield "value", "operator Exists takes no value"
    elif operator in {None, "", "Equal"} and not is_label_value(value):
        yield "value", f"{value!r} is not a label value"


def _resources(each: Manifest) -> Found:
    requests, limits = each.get("requests") or {}, each.get("limits") or {}
    for field, amounts in (("requests", requests), ("limits", limits)):
        for name in amounts:
            if not _is_resource(name):
                yield f"{field}.{name}", f"{name} is no resource"
    for name in requests.keys() & limits.keys():
        if (amount(requests[name]) or 0) > (amount(limits[name]) or 0):
            yield f"requests.{name}", f"{requests[name]} is more than the limit, {limits[name]}"


def _is_resource(name: str) -> bool:
    known = name in _RESOURCES or name.startswith(HUGE_PAGES) or "/" in name
    return known and is_label_key(name)


def _pod(spec: Manifest) -> Found:
    seen = set()
    for index, each in enumerate(spec.get("topologySpreadConstraints") or ()):
        what = each.get("topologyKey"), each.get("whenUnsatisfiable")
        if what in seen:
            yield f"topologySpreadConstraints[{index}]", "there is one of this key and kind already"
        seen.add(what)
    gates: set[object] = set()
    for index, each in enumerate(spec.get("schedulingGates") or ()):
        if each.get("name") in gates:
            yield f"schedulingGates[{index}]", "there is one of this name already"
        gates.add(each.get("name"))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline < INT32:
        yield "activeDeadlineSeconds", f"{deadline} is not in the range 1-{INT32 - 1}"


def _update(each: Manifest) -> Found:
    if not _rolls(each) and each.get("rollingUpdate") is not None:
        yield "rollingUpdate", f"of no use with type {each['type']}"


def _rolls(update: Manifest) -> bool:
    return (update.get("type") or "RollingUpdate") == "RollingUpdate"


def _update_of_daemons(each: Manifest) -> Found:
    """Yield faults of a rolling update alone: with OnDelete, the API server looks at none."""
    if _rolls(each):
        for path, what in _rolling_daemons(each.get("rollingUpdate") or {}):
            yield f"rollingUpdate.{path}", what


def _parts(each: Manifest, unavailable: int, surge: int) -> tuple[int, int]:
    """Return maxUnavailable and maxSurge; only whether they are 0 matters."""
    return _part(each.get("maxUnavailable"), unavailable), _part(each.get("maxSurge"), surge)


def _part(written: int | str | None, default: int) -> int:
    number = default if written is None else whole_number(str(written).removesuffix("%"))
    return 1 if number is None else number


def _no_more_than_all(each: Manifest, *names: str) -> Found:
    for name in names:
        written = each.get(name)
        if isinstance(written, str) and (whole_number(written.removesuffix("%")) or 0) > _ALL:
            yield name, f"{written} is more than 100%"


def _rolling_deployment(each: Manifest) -> Found:
    if _parts(each, 25, 25) == (0, 0):
        yield "maxUnavailable", "0, and maxSurge is 0 as well"
    yield from _no_more_than_all(each, "maxUnavailable")


def _rolling_set(each: Manifest) -> Found:
    if not _parts(each, 1, 0)[0]:
        yield "maxUnavailable", "must not be 0"
    yield from _no_more_than_all(each, "maxUnavailable")


def _rolling_daemons(each: Manifest) -> Found:
    unavailable, surge = _parts(each, 1, 0)
    if unavailable and surge:
        yield "maxSurge", "given beside a maxUnavailable above 0, which is 1 where it is left out"
    elif not unavailable and not surge:
        yield "maxUnavailable", "0, and maxSurge is 0 as well"
    yield from _no_more_than_all(each, "maxUnavailable", "maxSurge")


def _budget(spec: Manifest) -> Found:
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        yield "maxUnavailable", "given beside minAvailable"
    yield from _no_more_than_all(spec, "minAvailable", "maxUnavailable")


def _selecting(spec: Manifest) -> Found:
    """Yield what is wrong with a selector by which a workload knows its pods."""
    selector, template = spec.get("selector") or {}, spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield "selector", "empty"
    elif spec.get("template") is not None and not _selects(selector, labels):
        yield "template.metadata.labels", "the selector does not match them"
    yield from _for_ever(template)


def _controller(spec: Manifest) -> Found:
    """Yield the same of a ReplicationController, whose selector is made of labels."""
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    selector = spec.get("selector") or labels
    if not selector:
        yield "selector", "empty"
    elif not labels.items() >= selector.items():
        yield "template.metadata.labels", "the selector does not match them"
    yield from _for_ever(template)


def _selects(selector: Manifest, labels: Mapping[str, str]) -> bool:
    named = (selector.get("matchLabels") or {}).items()
    expressions: Iterable[Manifest] = selector.get("matchExpressions") or ()
    return all(labels.get(key) == value for key, value in named) and all(
        _met(each, labels.get(each.get("key") or "")) for each in expressions
    )


def _met(each: Manifest, value: str | None) -> bool:
    match each.get("operator"):
        case "In":
            return value in (each.get("values") or ())
        case "NotIn":
            return value not in (each.get("values") or ())
        case "Exists":
            return value is not None
        case _:
            return value is None


def _for_ever(template: Manifest) -> Found:
    spec = template.get("spec") or {}
    if (spec.get("restartPolicy") or "Always") != "Always":
        yield "template.spec.restartPolicy", "these pods always restart: only Always will do"
    if spec.get("activeDeadlineSeconds") is not None:
        yield "template.spec.activeDeadlineSeconds", "only pods and Jobs can have it"


def _job_template(each: Manifest) -> Found:
    spec = each.get("spec") or {}
    selector, manual = spec.get("selector"), spec.get("manualSelector")
    if manual:
        yield "spec.manualSelector", "no Job of a CronJob can have it"
    if selector is not None and (manual or not any(selector.values())):
        yield "spec.selector", _GIVEN


def _job(spec: Manifest) -> Found:
    if any((spec.get("selector") or {}).values()) and not spec.get("manualSelector"):
        yield "selector", _GIVEN
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy")
    if policy not in {"OnFailure", "Never"}:
        yield "template.spec.restartPolicy", "has to be OnFailure or Never"
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is None:
        yield "completions", "missing: completionMode Indexed needs it"


CHECKS: Final[Mapping[str, Callable[[Manifest], Found]]] = {
    "LabelSelectorRequirement": _requirement,
    "NodeSelectorRequirement": _node_requirement,
    "PreferredNodeSelectorRequirement": _node_requirement,
    "FieldSelectorRequirement": _field_requirement,
    "NodeSelector": _node_selector,
    "TopologySpreadConstraint": _spread,
    "Toleration": _toleration,
    "ResourceRequirements": _resources,
    "PodSpec": _pod,
    "DeploymentStrategy": _update,
    "StatefulSetUpdateStrategy": _update,
    "RollingUpdateDeployment": _rolling_deployment,
    "RollingUpdateStatefulSetStrategy": _rolling_set,
    "DaemonSetUpdateStrategy": _update_of_daemons,
    "PodDisruptionBudgetSpec": _budget,
    "DeploymentSpec": _selecting,
    "ReplicaSetSpec": _selecting,
    "StatefulSetSpec": _selecting,
    "DaemonSetSpec": _selecting,
    "ReplicationControllerSpec": _controller,
    "JobSpec": _job,
    "JobTemplateSpec": _job_template,
}
"""What the fields of an object have to be together; asked where each is of the right type."""
