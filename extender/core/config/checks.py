"""Rules that tie fields together."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterator
from itertools import chain
from typing import TypeAlias

from extender.core.config.connections import Serving
from extender.core.config.effects import deciding, without_effect
from extender.core.config.faults import show
from extender.core.config.features import features
from extender.core.config.schema import SCHEDULER_VERSIONS, Config
from extender.core.errors import ConfigError

MINOR_VERSION = re.compile(r"1\.[0-9]{1,3}", re.ASCII)


def faults(config: Config, broken: Collection[str] = ()) -> Iterator[ConfigError]:
    """Yield all that is wrong with a configuration that fits the schema.

    Of blocks that are `broken`, it has the defaults.
    """
    yield from (
        *_plugins(config),
        *_scheduler_version(config.scheduler_version),
        *chain.from_iterable(each.check(config) for each in features()),
        *check_serving(config.serving),
        *(without_effect(config) if deciding().isdisjoint(broken) else ()),
    )


def _plugins(config: Config) -> Iterator[ConfigError]:
    for index, plugin in enumerate(config.plugins):
        if plugin in config.plugins[:index]:
            yield ConfigError(f"plugins[{index}]", f"{plugin} comes twice")
    if not config.plugins:
        yield ConfigError("plugins", "no plugin is enabled")


def _scheduler_version(version: str) -> Iterator[ConfigError]:
    if not MINOR_VERSION.fullmatch(version):
        yield ConfigError("schedulerVersion", f"{show(version)} is not like '1.37'")
    elif version not in SCHEDULER_VERSIONS:
        known = f"{SCHEDULER_VERSIONS[0]} to {SCHEDULER_VERSIONS[-1]}"
        yield ConfigError("schedulerVersion", f"{show(version)} is none of those known, {known}")


_Address: TypeAlias = "ipaddress.IPv4Address | ipaddress.IPv6Address"


def check_serving(serving: Serving) -> Iterator[ConfigError]:
    yield from _addresses(serving)
    yield from _tls(serving)
    yield from _callers(serving)


def _addresses(serving: Serving) -> Iterator[ConfigError]:
    addresses = []
    for path, text in (
        ("serving.bindAddress", serving.bind_address),
        ("serving.opsBindAddress", serving.ops_bind_address),
    ):
        address = _address(text)
        if address is None:
            yield ConfigError(path, f"{show(text)} is not an IP address, such as 127.0.0.1")
        else:
            addresses.append(address)
    same_place = len(set(addresses)) == 1 or any(one.is_unspecified for one in addresses)
    if serving.port and serving.port == serving.ops_port and same_place:
        yield ConfigError("serving.opsPort", f"{serving.ops_port} is serving.port as well")


def _tls(serving: Serving) -> Iterator[ConfigError]:
    if serving.tls_cert_file and not serving.tls_private_key_file:
        yield ConfigError("serving.tlsPrivateKeyFile", "missing; tlsCertFile needs it")
    if serving.tls_private_key_file and not serving.tls_cert_file:
        yield ConfigError("serving.tlsCertFile", "missing; tlsPrivateKeyFile needs it")
    if serving.client_ca_file and not serving.tls_cert_file:
        yield ConfigError("serving.clientCAFile", "needs tlsCertFile and tlsPrivateKeyFile as well")


def _callers(serving: Serving) -> Iterator[ConfigError]:
    """Refuse callbacks that a network can reach and that authenticate no client."""
    address = serving.bind_address
    if _address(address) is None or is_loopback(address) or serving.insecure_serving:
        return
    missing = [
        name
        for name, file in (
            ("serving.tlsCertFile", serving.tls_cert_file),
            ("serving.tlsPrivateKeyFile", serving.tls_private_key_file),
            ("serving.clientCAFile", serving.client_ca_file),
        )
        if file is None
    ]
    if missing:
        yield ConfigError(
            "serving.bindAddress",
            f"{address} is not loopback, so callers have to show a certificate: set "
            f"{', '.join(missing)}; or let anybody in with --insecure-serving "
            "(serving.insecureServing: true)",
        )


def _address(text: str) -> _Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def is_loopback(text: str) -> bool:
    """Return whether a text is an IP address that only this host can reach."""
    address = _address(text)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address is not None and (mapped or address).is_loopback
