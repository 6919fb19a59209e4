"""What kube-apiserver's AdmissionConfiguration says of quotas on cross-namespace affinity.

Fields that we do not look at are kube-apiserver's to complain about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from extender.core.errors import ObjectError
from extender.features.quota.quotas import CROSS_NAMESPACE_NAMES, RESOURCE_QUOTA

T = TypeVar("T", bound=msgspec.Struct)


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
    """Return whether a ResourceQuotaConfiguration lets no pod cross namespaces without a quota.

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


def limits(path: Path, read: Callable[[Path], Mapping[str, Any]]) -> bool:
    """Return whether the file limits the scope by default; ObjectError says what is wrong with it.

    `read` gets documents out of files.
    """
    plugin = quota_plugin(read(path))
    if plugin is None:
        return False
    if plugin.path:
        # As in kube-apiserver, relative to the file that names it.
        return limits_crossing(read(path.parent / plugin.path))
    return limits_crossing(plugin.configuration or {})
