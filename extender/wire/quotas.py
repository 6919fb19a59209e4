"""ResourceQuotas on the wire, and the parts of kube-apiserver's AdmissionConfiguration about them.

Fields that we do not look at are kube-apiserver's to complain about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from extender.cluster.ledgers.quotas import QuotaInUse
from extender.errors import ObjectError
from extender.model import quota as model
from extender.model.keys import key_of
from extender.model.labels import Operator, Requirement, Selector
from extender.model.quota import ResourceQuota
from extender.wire import manifests
from extender.wire.decoding import Json, decode
from extender.wire.pod_resources import HUGE_PAGES
from extender.wire.quantities import read_exact_amounts, write_quantity
from extender.wire.validation import values_fault

CROSS_NAMESPACE_NAMES = frozenset((model.CROSS_NAMESPACE, "CrossNamespaceAffinity"))
"""What the API server calls the scope, and what the enhancement proposal did."""

SCOPES = frozenset(
    (
        model.TERMINATING,
        model.NOT_TERMINATING,
        model.BEST_EFFORT,
        model.NOT_BEST_EFFORT,
        model.PRIORITY_CLASS,
        # Of volume claims: no pod is in it, so a quota that has it is about none.
        "VolumeAttributesClass",
        *CROSS_NAMESPACE_NAMES,
    )
)
_QUOTA = msgspec.json.Decoder(manifests.QuotaManifest)

T = TypeVar("T", bound=msgspec.Struct)
RESOURCE_QUOTA = "ResourceQuota"


def read_quota(raw: Json) -> ResourceQuota:
    """Read a v1.ResourceQuota; ObjectError names the field that is broken."""
    quota = decode(_QUOTA, raw)
    metadata, spec = quota.metadata, quota.spec or manifests.QuotaSpec()
    key = key_of(metadata.namespace or "default", metadata.name)
    return ResourceQuota(
        key=key,
        uid=metadata.uid or key,
        scopes=Selector.of(_requirements(spec)),
        hard=read_exact_amounts(spec.hard, "spec.hard"),
    )


def _requirements(spec: manifests.QuotaSpec) -> Iterator[Requirement]:
    for index, scope in enumerate(spec.scopes or ()):
        yield Requirement(_scope(scope, f"spec.scopes[{index}]"), Operator.EXISTS)
    expressions = spec.scopeSelector and spec.scopeSelector.matchExpressions
    for index, expression in enumerate(expressions or ()):
        yield _requirement(expression, f"spec.scopeSelector.matchExpressions[{index}]")


def _requirement(expression: manifests.ScopeRequirement, path: str) -> Requirement:
    scope, operator = _scope(expression.scopeName, f"{path}.scopeName"), expression.operator
    values = frozenset(expression.values or ())
    if operator is not Operator.EXISTS and scope != model.PRIORITY_CLASS:
        raise ObjectError(f"{path}.operator", f"scope {scope} takes Exists and no other")
    fault = values_fault(operator, values)
    if fault is not None:
        raise ObjectError(f"{path}.values", fault)
    return Requirement(scope, operator, values)


def _scope(name: str, path: str) -> str:
    if name not in SCOPES:
        raise ObjectError(path, f"{name!r} is not a scope; known are {', '.join(sorted(SCOPES))}")
    return model.CROSS_NAMESPACE if name in CROSS_NAMESPACE_NAMES else name


def write_use(each: QuotaInUse) -> Iterator[tuple[str, str, str]]:
    """Yield each limited resource with what is used of it, and its limit."""
    for resource, hard in sorted(each.quota.hard.items()):
        binary = resource.endswith(("memory", "storage")) or HUGE_PAGES in resource
        used = each.used.get(resource, 0)
        yield resource, write_quantity(used, binary=binary), write_quantity(hard, binary=binary)


class _AdmissionPlugin(msgspec.Struct):
    """The configuration of one admission plugin, here or in a file of its own."""

    name: str
    path: str | None = None
    configuration: dict[str, Any] | None = None


class _AdmissionConfiguration(msgspec.Struct):
    kind: str
    plugins: list[_AdmissionPlugin] | None = None


class _Scope(msgspec.Struct, rename="camel"):
    scope_name: str


class _LimitedResource(msgspec.Struct, rename="camel"):
    match_scopes: list[_Scope] | None = None


class _QuotaConfiguration(msgspec.Struct, rename="camel"):
    kind: str
    limited_resources: list[_LimitedResource] | None = None


def quota_plugin(document: Mapping[str, Any]) -> _AdmissionPlugin | None:
    """Return what an AdmissionConfiguration has for ResourceQuota, None when it has nothing."""
    found = _read(document, _AdmissionConfiguration)
    if found.kind != "AdmissionConfiguration":
        raise ObjectError("kind", f"{found.kind!r} is not AdmissionConfiguration")
    return next((each for each in found.plugins or () if each.name == RESOURCE_QUOTA), None)


def limits_crossing(document: Mapping[str, Any]) -> bool:
    """Return whether a ResourceQuotaConfiguration lets nobody cross namespaces without a quota.

    Whatever resource the entry is for, and whatever its operator: kube-apiserver does not look at
    either for this scope.
    """
    found = _read(document, _QuotaConfiguration)
    if found.kind not in {"ResourceQuotaConfiguration", "Configuration"}:
        raise ObjectError("kind", f"{found.kind!r} is not ResourceQuotaConfiguration")
    return any(
        scope.scope_name in CROSS_NAMESPACE_NAMES
        for limited in found.limited_resources or ()
        for scope in limited.match_scopes or ()
    )


def _read(document: Mapping[str, Any], kind: type[T]) -> T:
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at `$.")
        raise ObjectError(where.rstrip("`"), message) from error
