"""The way between the scheduler and the extender: address, TLS, certificates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from affinityctl.commands.lint.finding import Level, Rule, Spot
from affinityctl.commands.lint.setup import Setup, calls_this_host, port_of


def _unverified(setup: Setup) -> Iterator[Spot]:
    for index, entry in enumerate(setup.scheduler.extenders or ()):
        tls = entry.tls_config
        encrypted = entry.enable_https or entry.url_prefix.startswith("https:")
        if not encrypted:
            continue
        if tls is not None and tls.insecure:
            yield Spot(f"extenders[{index}].tlsConfig.insecure", "true accepts any certificate")
        elif entry.enable_https and (tls is None or not tls.has_ca):
            yield Spot(f"extenders[{index}].tlsConfig", "enableHTTPS without caFile")


def _plain(setup: Setup) -> Iterator[Spot]:
    for ours in setup.ours():
        url = ours.entry.url_prefix
        if url.startswith("http:") and not calls_this_host(url):
            yield Spot(ours.at("urlPrefix"), f"{url} is plain HTTP across the network")


def _half(setup: Setup) -> Iterator[Spot]:
    for ours in setup.ours():
        scheme = urlsplit(ours.entry.url_prefix).scheme
        encrypted = scheme == "https"
        if ours.entry.enable_https is not encrypted:
            said = str(ours.entry.enable_https).lower()
            yield Spot(ours.at("enableHTTPS"), f"{said}, and urlPrefix begins with {scheme}:")
        elif setup.configured and encrypted is not bool(setup.config.serving.tls_cert_file):
            serves = "plain HTTP" if encrypted else "HTTPS"
            message = f"{ours.entry.url_prefix}, and the extender serves {serves}"
            yield Spot(ours.at("urlPrefix"), message)


def _nameless(setup: Setup) -> Iterator[Spot]:
    if setup.config.serving.client_ca_file is None:
        return
    for ours in setup.ours():
        tls = ours.entry.tls_config
        if tls is None or not tls.has_certificate:
            message = "no certFile and keyFile, and the extender's serving.clientCAFile is set"
            yield Spot(ours.at("tlsConfig"), message)


def _elsewhere(setup: Setup) -> Iterator[Spot]:
    for ours in setup.ours():
        url = urlsplit(ours.entry.url_prefix)
        if url.path.strip("/"):
            yield Spot(ours.at("urlPrefix"), f"the path {url.path} is none that the extender has")
        elif setup.configured and calls_this_host(ours.entry.url_prefix):
            port, listening = port_of(ours.entry.url_prefix), setup.config.serving.port
            if port != listening:
                yield Spot(ours.at("urlPrefix"), f"port {port} instead of {listening}")


RULES: Final = (
    Rule(
        "https-unverified",
        Level.ERROR,
        "The scheduler accepts any certificate from an extender.",
        "Whoever gets between the two can decide where pods go: without a CA, enableHTTPS "
        "verifies nothing.",
        "Set tlsConfig.caFile to the CA of the extender's certificate, and leave "
        "tlsConfig.insecure out.",
        _unverified,
    ),
    Rule(
        "plain-http-off-loopback",
        Level.ERROR,
        "Calls leave the host unencrypted.",
        "Others on the network can read them, and answer in the extender's place.",
        "Use http://127.0.0.1:10280 beside the scheduler, or TLS with client certificates "
        "(docs/install.md, Beyond loopback).",
        _plain,
    ),
    Rule(
        "tls-on-one-side",
        Level.ERROR,
        "One side speaks HTTPS and the other plain HTTP.",
        "Every call fails.",
        "Use an https:// urlPrefix, enableHTTPS: true and serving.tlsCertFile together, or none "
        "of them.",
        _half,
    ),
    Rule(
        "client-certificate-missing",
        Level.ERROR,
        "The extender asks for a client certificate, and the scheduler has none.",
        "Every call fails in the TLS handshake.",
        "Set tlsConfig.certFile and tlsConfig.keyFile in the scheduler's file.",
        _nameless,
    ),
    Rule(
        "address-mismatch",
        Level.ERROR,
        "The scheduler calls another address than the extender listens on.",
        "Every call fails: soft rules do not count, and in mode replace pods wait.",
        "Set urlPrefix to the extender's address and port, without a path: http://127.0.0.1:10280.",
        _elsewhere,
    ),
)
