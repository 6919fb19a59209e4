"""What the manifests allow the extender to do in the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from extender.core.config import Config, Mode
from extender.core.config.conditions import REPLACE
from extender.core.config.features import Feature, Right, enabled, features
from extender.core.resources import RESOURCES, WatchedResource, needed, of_features
from extender.core.wire.decoding import Json, decode

ROLES: Final = frozenset(("ClusterRole", "Role"))
BINDINGS: Final = frozenset(("ClusterRoleBinding", "RoleBinding"))
SUBJECT: Final = "affinity-extender"
"""The service account, or the user, of the extender in the manifests."""
_EVERY: Final = "*"


class PolicyRule(msgspec.Struct, rename="camel"):
    """rbac/v1 PolicyRule."""

    api_groups: list[str] | None = None
    resources: list[str] | None = None
    verbs: list[str] | None = None
    resource_names: list[str] | None = None

    def allows(self, right: Right) -> bool:
        """Return whether it gives a right about all objects of the resource."""
        return not self.resource_names and all(
            _EVERY in (given or ()) or one in (given or ())
            for given, one in (
                (self.api_groups, right.group),
                (self.resources, right.resource),
                (self.verbs, right.verb),
            )
        )

    @property
    def is_wide(self) -> bool:
        """Return whether it gives more than is named."""
        return any(_EVERY in (each or ()) for each in (self.api_groups, self.resources, self.verbs))


class _NamedRole(msgspec.Struct):
    name: str = ""
    kind: str = ""


class _RoleMetadata(msgspec.Struct):
    name: str = ""


class RbacRole(msgspec.Struct):
    """ClusterRole or Role."""

    metadata: _RoleMetadata
    rules: list[PolicyRule] | None = None


class Binding(msgspec.Struct, rename="camel"):
    """ClusterRoleBinding or RoleBinding."""

    metadata: _RoleMetadata
    role_ref: _NamedRole = msgspec.field(default_factory=_NamedRole)
    subjects: list[_NamedRole] | None = None

    @property
    def is_ours(self) -> bool:
        return any(each.name == SUBJECT for each in self.subjects or ())


_ROLE = msgspec.json.Decoder(RbacRole)
_BINDING = msgspec.json.Decoder(Binding)


def read_role(raw: Json) -> RbacRole:
    """Read a role; ObjectError names the field that is broken."""
    return decode(_ROLE, raw)


def read_binding(raw: Json) -> Binding:
    """Read a binding; ObjectError names the field that is broken."""
    return decode(_BINDING, raw)


@dataclass(frozen=True, slots=True)
class Rights:
    """All that the manifests give the extender, and what its configuration needs."""

    granted: tuple[PolicyRule, ...]
    complete: bool
    """Every role that is bound is among the manifests."""
    config: Config

    def missing(self) -> Iterator[Right]:
        if self.complete:
            for right in needed_rights(self.config):
                if not any(rule.allows(right) for rule in self.granted):
                    yield right


@dataclass(frozen=True, slots=True)
class Granted:
    """One role that the extender has."""

    rules: tuple[PolicyRule, ...]
    config: Config

    def idle(self) -> Iterator[tuple[int, Right]]:
        """Yield each right that is of no use, with its rule's index."""
        used = {*needed_rights(self.config)}
        if self.config.mode is Mode.REPLACE:
            # The overlays give these with the mode, whatever is switched off in it.
            used.update(_of(each for each in features() if each.effect is REPLACE))
        read = dict.fromkeys(_to_read((*RESOURCES, *of_features())))
        ours = _of(features())
        idle = [each for each in {**read, **dict.fromkeys(ours)} if each not in used]
        for index, rule in enumerate(self.rules):
            for right in idle:
                # To read what a wildcard stands for is found by itself.
                harmless = right in _WRITES_NOTHING or (rule.is_wide and right in read)
                if rule.allows(right) and not harmless:
                    yield index, right


def _to_read(resources: Iterable[WatchedResource[Any]]) -> Iterator[Right]:
    for each in resources:
        for verb in ("list", "watch"):
            yield Right(each.group, each.name, verb)


_TO_LOOK: Final = tuple(Right("", kind, "get") for kind in ("pods", "nodes", "namespaces"))
"""Right before a pod is ended, as its watch may have been silent."""
_WRITES_NOTHING: Final = (*_TO_LOOK, Right("events.k8s.io", "events", "create"))


def _of(some: Iterable[Feature]) -> Iterator[Right]:
    return (right for each in some for right in each.rights)


def needed_rights(config: Config) -> tuple[Right, ...]:
    """Return what a configuration cannot do without."""
    watched = [*_to_read(needed(config))]
    for each in enabled(config):
        watched += each.rights if each.needed_rights is None else each.needed_rights(config)
    return tuple(dict.fromkeys(watched))
