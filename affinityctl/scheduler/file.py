"""A KubeSchedulerConfiguration, as far as it is about extenders and inter-pod affinity."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from extender.core.errors import ObjectError
from extender.core.wire.decoding import Json, decode

KIND: Final = "KubeSchedulerConfiguration"

_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PIECE: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_PIECES: Final = re.compile(rf"(?:{_PIECE.pattern})+")
_FIELDS: Final = {
    "preFilter": "pre_filter",
    "filter": "filter",
    "preScore": "pre_score",
    "score": "score",
}
API_VERSION: Final = "kubescheduler.config.k8s.io/v1"


class _Lenient(msgspec.Struct, rename="camel"):
    """A part of the file; what is not named here is the scheduler's own business."""


class Named(_Lenient):
    name: str = ""


class PluginSet(_Lenient):
    """Plugins of one extension point, beside the default ones."""

    enabled: list[Named] | None = None
    disabled: list[Named] | None = None

    def switches_on(self, plugin: str) -> bool:
        return any(each.name == plugin for each in self.enabled or ())

    def switches_off(self, plugin: str) -> bool:
        """Return whether the plugin, or every default one, is named as disabled."""
        return any(each.name in {plugin, "*"} for each in self.disabled or ())


class Plugins(_Lenient):
    multi_point: PluginSet | None = None
    pre_filter: PluginSet | None = None
    filter: PluginSet | None = None
    pre_score: PluginSet | None = None
    score: PluginSet | None = None


class PluginConfig(_Lenient):
    name: str = ""
    args: dict[str, object] | None = None


class SchedulerProfile(_Lenient):
    """One profile; extenders serve all of them."""

    scheduler_name: str | None = None
    percentage_of_nodes_to_score: int | None = None
    plugins: Plugins | None = None
    plugin_config: list[PluginConfig] | None = None

    def runs(self, plugin: str, point: str) -> bool:
        """Return whether a plugin of the default configuration runs at an extension point.

        As the scheduler expands multiPoint: what a point itself enables runs; what it disables does
        not; the rest is up to multiPoint.
        """
        plugins = self.plugins or Plugins()
        own: PluginSet = getattr(plugins, _FIELDS[point]) or PluginSet()
        every = plugins.multi_point or PluginSet()
        if own.switches_on(plugin):
            return True
        if own.switches_off(plugin):
            return False
        return every.switches_on(plugin) or not every.switches_off(plugin)

    def arguments(self, plugin: str) -> tuple[int, dict[str, object]]:
        """Return the arguments of a plugin, and where in pluginConfig they are."""
        for index, each in enumerate(self.plugin_config or ()):
            if each.name == plugin:
                return index, each.args or {}
        return 0, {}


class TLS(_Lenient):
    """tlsConfig of an extender."""

    insecure: bool = False
    ca_file: str = ""
    ca_data: str = ""
    cert_file: str = ""
    cert_data: str = ""

    @property
    def has_ca(self) -> bool:
        return bool(self.ca_file or self.ca_data)

    @property
    def has_certificate(self) -> bool:
        return bool(self.cert_file or self.cert_data)


class Extender(_Lenient):
    url_prefix: str = ""
    filter_verb: str = ""
    prioritize_verb: str = ""
    preempt_verb: str = ""
    bind_verb: str = ""
    weight: int = 0
    enable_https: bool = msgspec.field(default=False, name="enableHTTPS")
    tls_config: TLS | None = None
    http_timeout: str | None = None
    node_cache_capable: bool = False
    managed_resources: list[Named] | None = None
    ignorable: bool = False

    def verbs(self) -> Iterator[tuple[str, str]]:
        """Yield the verbs that are called, by field."""
        for name in ("filter", "prioritize", "preempt", "bind"):
            if verb := getattr(self, f"{name}_verb"):
                yield f"{name}Verb", verb


class LeaderElection(_Lenient):
    """Whether replicas take turns."""

    leader_elect: bool = True


class SchedulerClient(_Lenient):
    """How much the scheduler asks of the API server."""

    qps: float | None = None


class SchedulerFile(_Lenient):
    api_version: str = ""
    percentage_of_nodes_to_score: int | None = None
    leader_election: LeaderElection | None = None
    client_connection: SchedulerClient | None = None
    profiles: list[SchedulerProfile] | None = None
    extenders: list[Extender] | None = None

    def every_profile(self) -> Iterator[tuple[str, SchedulerProfile]]:
        """Yield each profile with its path; one with all defaults where the file has none."""
        for index, profile in enumerate(self.profiles or [SchedulerProfile()]):
            yield f"profiles[{index}]", profile


_DECODER = msgspec.json.Decoder(SchedulerFile)
_WRITTEN = msgspec.json.Decoder(dict[str, object])


def read_scheduler_file(raw: Json) -> SchedulerFile:
    """Read a file; ObjectError names the field that the scheduler could not read either."""
    file = decode(_DECODER, raw)
    if file.api_version != API_VERSION:
        raise ObjectError(
            "apiVersion",
            f"{file.api_version!r} is not {API_VERSION}, the only one that kube-scheduler reads",
        )
    written = decode(_WRITTEN, raw)
    _look_for_slips(written, SchedulerFile, "")
    entries: Any = written.get("extenders") or ()
    for index, entry in enumerate(file.extenders or ()):
        here = Ours(index, entry)
        _look_for_slips(entries[index], Extender, here.at(""))
        if (timeout := entry.http_timeout) is not None and seconds(timeout.lstrip("+-")) is None:
            raise ObjectError(here.at("httpTimeout"), f"{timeout!r} is no duration such as 5s")
        try:
            urlsplit(entry.url_prefix)
        except ValueError as error:
            raise ObjectError(here.at("urlPrefix"), str(error)) from error
    return file


def _look_for_slips(written: Mapping[str, object], known: type[_Lenient], path: str) -> None:
    """ObjectError for a field that is one of those here but for its spelling.

    The scheduler reads its file strictly. Of all its fields these are few, so that others are not
    known means nothing.
    """
    names = known.__struct_encode_fields__
    for name in sorted(written.keys() - names):
        meant = [each for each in names if each.lower() == name.lower()]
        meant += get_close_matches(name, names, n=1, cutoff=0.85)
        if meant:
            raise ObjectError(
                f"{path}{name}", f"kube-scheduler knows no such field, only {meant[0]}"
            )


@dataclass(frozen=True, slots=True)
class Ours:
    """The entry of extenders that calls us, and where it is."""

    index: int
    entry: Extender

    def at(self, field: str) -> str:
        return f"extenders[{self.index}].{field}"


def seconds(text: str) -> float | None:
    """Return a duration in seconds, None for what is no duration."""
    if text == "0":
        return 0.0
    if _PIECES.fullmatch(text) is None:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PIECE.findall(text))
