"""Mutated configuration and cluster files: a clear error, or a good reading, and soon."""

from __future__ import annotations

import gzip
import json
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import yaml

import extender
from affinityctl.reading.workloads import WorkloadFiles
from extender.core import config, files
from extender.core.cluster.state import ClusterState
from extender.core.config import layers
from extender.core.errors import MESSAGE_BYTES, ConfigFaultsError, ExtenderError
from extender.core.wire.objects import PodReader
from tests.beside import RULES
from tests.builders import every_facet
from tests.fuzz.campaign import Campaign
from tests.fuzz.mutating import broken, mutated

pytestmark = pytest.mark.thorough

SAMPLE = Path(extender.__file__).with_name("samples") / "cluster.yaml"
READ_SECONDS = 10.0
"""Far more than any of these small files takes; a bomb takes for ever."""
ADMISSION = {
    "apiVersion": "apiserver.config.k8s.io/v1",
    "kind": "AdmissionConfiguration",
    "plugins": [
        {
            "name": "ResourceQuota",
            "configuration": {
                "apiVersion": "apiserver.config.k8s.io/v1",
                "kind": "ResourceQuotaConfiguration",
                "limitedResources": [
                    {
                        "resource": "pods",
                        "matchScopes": [
                            {"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"}
                        ],
                    }
                ],
            },
        }
    ],
}


def check(error: ExtenderError, path: Path) -> None:
    """Each fault is a line that names the file."""
    for fault in error.faults if isinstance(error, ConfigFaultsError) else (error,):
        assert str(fault).isprintable()
        assert len(str(fault).encode()) <= MESSAGE_BYTES
        assert str(path) in str(fault)


def test_a_cluster_file_is_read_or_refused(tmp_path: Path) -> None:
    written = SAMPLE.read_bytes()
    items = list(yaml.safe_load_all(written))
    campaign = Campaign("cluster files")
    path = tmp_path / "cluster"
    for dice in campaign:
        match dice.randrange(4):
            case 0:
                content = broken(dice, written)
            case 1:
                content = mutated(dice, {"kind": "List", "items": items})
            case 2:
                content = gzip.compress(mutated(dice, {"kind": "List", "items": items}))
            case _:
                content = broken(dice, gzip.compress(written))
        path.write_bytes(content)
        start = time.monotonic()
        with campaign.telling(content):
            loading = WorkloadFiles(ClusterState(), PodReader(facets=every_facet(), rules=RULES))
            try:
                loading.load(path)
            except ExtenderError as error:
                check(error, path)
            assert time.monotonic() - start < READ_SECONDS


@pytest.mark.parametrize("kind", ["configuration", "admission"])
def test_a_configuration_is_read_or_refused(tmp_path: Path, kind: str) -> None:
    document = config.effective(layers.load(Namespace(), Path.read_text))
    document["plugins"] = ["InterPodAffinity", "CrossNamespacePodAffinity"]
    given, admission = tmp_path / "given.yaml", tmp_path / "admission.yaml"
    campaign = Campaign(f"{kind} files")
    for dice in campaign:
        content, flags = (
            _written(dice.choice((0, 1, 2)), document if kind[0] == "c" else ADMISSION),
            {},
        )
        content = mutated(dice, content) if isinstance(content, dict) else broken(dice, content)
        if kind == "configuration":
            given.write_bytes(content)
        else:
            given.write_text(json.dumps(document))
            admission.write_bytes(content)
            flags = {"admission_control_config_file": str(admission)}
        start = time.monotonic()
        with campaign.telling(content):
            try:
                layers.load(Namespace(config=str(given), **flags), files.read_text)
            except ExtenderError as error:
                check(error, given if kind == "configuration" else admission)
            assert time.monotonic() - start < READ_SECONDS


def _written(way: int, document: dict[str, Any]) -> dict[str, Any] | bytes:
    return yaml.safe_dump(document).encode() if way == 0 else document
