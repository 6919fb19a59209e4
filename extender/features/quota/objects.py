"""ResourceQuotas on the wire, and how they get into the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from extender.core.errors import ObjectError
from extender.core.model.keys import key_of
from extender.core.model.labels import Operator, Requirement, Selector
from extender.core.resources import WatchedResource
from extender.core.wire.decoding import Json, decode
from extender.core.wire.manifests import NamespacedMetadata
from extender.core.wire.pod_resources import HUGE_PAGES
from extender.core.wire.quantities import read_exact_amounts, write_quantity
from extender.core.wire.validation import values_fault
from extender.features.quota import quotas as model
from extender.features.quota.ledger import QuotaInUse, quotas_of
from extender.features.quota.quotas import CROSS_NAMESPACE_NAMES, RESOURCE_QUOTA, ResourceQuota

OF_CLAIMS: Final = "VolumeAttributesClass"
"""A scope of volume claims: no pod is in it, so a quota that has it is about none, whatever the
operator (podMatchesScopeFunc in pkg/quota/v1/evaluator/core/pods.go)."""
SCOPES = frozenset(
    (
        model.TERMINATING,
        model.NOT_TERMINATING,
        model.BEST_EFFORT,
        model.NOT_BEST_EFFORT,
        model.PRIORITY_CLASS,
        OF_CLAIMS,
        *CROSS_NAMESPACE_NAMES,
    )
)


class ScopeRequirement(msgspec.Struct, rename="camel"):
    """v1.ScopedResourceSelectorRequirement."""

    scope_name: str
    operator: Operator = Operator.EXISTS
    values: list[str] | None = None


class ScopeSelector(msgspec.Struct, rename="camel"):
    match_expressions: list[ScopeRequirement] | None = None


class QuotaSpec(msgspec.Struct, rename="camel"):
    hard: dict[str, str | int | float] | None = None
    scopes: list[str] | None = None
    scope_selector: ScopeSelector | None = None


class QuotaManifest(msgspec.Struct):
    """v1.ResourceQuota."""

    metadata: NamespacedMetadata
    spec: QuotaSpec | None = None


_QUOTA = msgspec.json.Decoder(QuotaManifest)


def read_quota(raw: Json) -> ResourceQuota:
    """Read a v1.ResourceQuota; ObjectError names the field that is broken."""
    quota = decode(_QUOTA, raw)
    metadata, spec = quota.metadata, quota.spec or QuotaSpec()
    key = key_of(metadata.namespace or "default", metadata.name)
    return ResourceQuota(
        key=key,
        uid=metadata.uid or key,
        scopes=Selector.of(_requirements(spec)),
        hard=read_exact_amounts(spec.hard, "spec.hard"),
    )


def _requirements(spec: QuotaSpec) -> Iterator[Requirement]:
    for index, scope in enumerate(spec.scopes or ()):
        yield Requirement(_scope(scope, f"spec.scopes[{index}]"), Operator.EXISTS)
    expressions = spec.scope_selector and spec.scope_selector.match_expressions
    for index, expression in enumerate(expressions or ()):
        yield _requirement(expression, f"spec.scopeSelector.matchExpressions[{index}]")


def _requirement(expression: ScopeRequirement, path: str) -> Requirement:
    scope, operator = _scope(expression.scope_name, f"{path}.scopeName"), expression.operator
    values = frozenset(expression.values or ())
    if operator is not Operator.EXISTS and scope not in {model.PRIORITY_CLASS, OF_CLAIMS}:
        raise ObjectError(f"{path}.operator", f"scope {scope} takes Exists and no other")
    fault = values_fault(operator, values)
    if fault is not None:
        raise ObjectError(f"{path}.values", fault)
    if scope == OF_CLAIMS:
        return Requirement(scope, Operator.EXISTS)
    return Requirement(scope, operator, values)


def _scope(name: str, path: str) -> str:
    if name not in SCOPES:
        raise ObjectError(path, f"{name!r} is not a scope; known are {', '.join(sorted(SCOPES))}")
    return model.CROSS_NAMESPACE if name in CROSS_NAMESPACE_NAMES else name


def write_use(each: QuotaInUse) -> Iterator[tuple[str, str, str]]:
    for resource, hard in sorted(each.quota.hard.items()):
        binary = resource.endswith(("memory", "storage")) or HUGE_PAGES in resource
        used = each.used.get(resource, 0)
        yield resource, write_quantity(used, binary=binary), write_quantity(hard, binary=binary)


QUOTAS: Final[WatchedResource[ResourceQuota]] = WatchedResource(
    "resourcequotas",
    RESOURCE_QUOTA,
    reader=lambda _: read_quota,
    keys=lambda state: quotas_of(state).keys(),
    upsert=lambda state, quota: quotas_of(state).upsert(quota),
    remove=lambda state, key, uid: quotas_of(state).remove(key, uid),
    find=lambda state, key: quotas_of(state).get(key),
    manifest=QuotaManifest,
    without="quotas are not looked at",
)
