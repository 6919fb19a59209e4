"""The whole program over the fake API server."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import yaml

from extender.core import config
from extender.core.config import Config, layers
from tests.kube.live import pointing_to
from tests.kube.rig import Rig

PATHS = (
    *(f"/api/v1/{name}" for name in ("namespaces", "nodes", "pods", "resourcequotas")),
    "/apis/policy/v1/poddisruptionbudgets",
)


def live(rig: Rig, folder: Path, **fields: Any) -> Config:
    """Configure a program that watches the rig's server, on free ports."""
    for path in PATHS:
        rig.api.collection(path)
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(pointing_to(str(rig.api.url))))
    document = {
        "apiVersion": config.API_VERSION,
        "kind": config.KIND,
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "serving": {"port": 0, "opsPort": 0},
        **fields,
    }
    return layers.load(Namespace(config="config.yaml"), lambda _: json.dumps(document))
