"""Mutated cluster files: a clear error, or a good reading, and soon."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest
import yaml

import extender
from affinityctl.reading.workloads import WorkloadFiles
from extender.core.cluster.state import ClusterState
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
