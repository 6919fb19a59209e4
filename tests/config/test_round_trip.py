"""A written configuration loads into an equal one."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from extender.core import config
from extender.core.config import layers, schema
from extender.core.config.connections import ClientConnection
from extender.core.config.document import effective, to_yaml
from extender.core.config.features import whole

_files = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=9).map(
    Path
)


@st.composite
def configurations(draw: st.DrawFn) -> config.Config:
    """Draw any configuration that this version accepts."""
    port = draw(st.integers(0, 65534))
    tls: dict[str, Any] = {}
    if draw(st.booleans()):
        tls = {
            "tls_cert_file": draw(_files),
            "tls_private_key_file": draw(_files),
            "client_ca_file": draw(st.none() | _files),
        }
    if tls.get("client_ca_file"):
        tls["allowed_client_names"] = tuple(draw(st.lists(st.text(min_size=1), max_size=2)))
    mode = draw(st.sampled_from([config.Mode.ASSIST, config.Mode.REPLACE]))
    replacing: dict[str, Any] = {}
    if mode is config.Mode.REPLACE:
        replacing = {
            "filter": schema.Filter(resolvable=draw(st.none() | st.booleans())),
        }
    return whole()(
        api_version="affinity-extender.io/v1",
        kind="AffinityExtenderConfiguration",
        mode=mode,
        **replacing,
        inter_pod_affinity=schema.InterPodAffinityArgs(
            hard_pod_affinity_weight=draw(st.integers(0, 100)),
            ignore_preferred_terms_of_existing_pods=draw(st.booleans()),
            weight=draw(st.integers(1, 100)),
        ),
        prioritize=schema.Prioritize(max_score=draw(st.integers(1, 100))),
        serving=config.Serving(
            bind_address=draw(st.ip_addresses().map(str)),
            port=port,
            insecure_serving=True,
            ops_bind_address=draw(st.ip_addresses().map(str)),
            handshake_timeout_seconds=draw(st.floats(0, 300, exclude_min=True)),
            max_connections=draw(st.none() | st.integers(1, 100_000)),
            ops_port=port + 1,
            max_body_bytes=draw(st.integers(1 << 20, 1 << 30)),
            shutdown_delay_seconds=draw(st.floats(0, 300)),
            **tls,
        ),
        client_connection=ClientConnection(
            kubeconfig=draw(st.none() | _files),
            context=draw(st.none() | st.text(st.characters(codec="utf-8"))),
            qps=draw(st.floats(0, 10_000, exclude_min=True)),
            burst=draw(st.integers(1, 10_000)),
        ),
        logging=schema.Logging(
            format=draw(st.sampled_from(config.LogFormat)), verbosity=draw(st.integers(0, 10))
        ),
        cluster_files=tuple(draw(st.lists(_files, max_size=3))),
    )


@given(configurations())
def test_what_is_written_loads_as_it_was(original: config.Config) -> None:
    text = to_yaml(original)
    flags = argparse.Namespace(config=os.devnull)
    assert layers.load(flags, lambda _: text) == original


def test_unset_names_are_left_out() -> None:
    assert (
        "tlsCertFile" not in effective(layers.load(argparse.Namespace(), Path.read_text))["serving"]
    )
