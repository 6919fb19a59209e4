"""What kube-scheduler's configuration adds to the node affinity of every pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from extender.core.config.rules import V1Object
from extender.core.errors import ObjectError
from extender.core.model.verdict import NODE_AFFINITY
from extender.core.wire.node_selection import read_node_selection

T = TypeVar("T", bound=V1Object)

KIND = "KubeSchedulerConfiguration"


class _PluginConfig(msgspec.Struct):
    """Arguments of a plugin; they are read if the plugin is NodeAffinity."""

    name: str = ""
    args: Any = None


class _Profile(msgspec.Struct, rename="camel"):
    plugin_config: list[_PluginConfig] | None = None


class _File(msgspec.Struct):
    kind: str = ""
    profiles: list[_Profile] | None = None


def added_affinity(document: Mapping[str, Any], terms: type[T]) -> T:
    """Return addedAffinity of all profiles; ObjectError if they differ, or it is broken."""
    args = msgspec.defstruct("_Args", [("added_affinity", terms | None, None)], rename="camel")
    file = _convert(document, _File, "")
    if file.kind != KIND:
        raise ObjectError("kind", f"{file.kind!r} is not {KIND}")
    profiles = enumerate(file.profiles or ())
    found = [_of_profile(*each, args) or terms() for each in profiles]
    for number, each in enumerate(found):
        if each != found[0]:
            why = "addedAffinity is not that of profiles[0]: an extender knows one for all pods"
            raise ObjectError(f"profiles[{number}]", why)
    return found[0] if found else terms()


def _of_profile(number: int, profile: _Profile, args: type[msgspec.Struct]) -> Any:
    for index, each in enumerate(profile.plugin_config or ()):
        if each.name == NODE_AFFINITY:
            where = f"profiles[{number}].pluginConfig[{index}].args"
            added = _convert(each.args or {}, args, f"{where}.").added_affinity
            _, faults = read_node_selection(b"{}" if added is None else added.as_json())
            for field, why in faults:
                raise ObjectError(f"{where}.addedAffinity.{field}", why)
            return added
    return None


def _convert(document: Any, kind: Any, where: str) -> Any:
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        message, _, at = str(error).partition(" - at `$.")
        raise ObjectError(f"{where}{at.rstrip('`')}", message) from error
