"""The command explain, run on the small cluster and what a test adds to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from affinityctl import cli
from tests.commands.explain.cluster import NODES, Explain

WITH_ANNOTATIONS = {
    "apiVersion": "affinity-extender.io/v1",
    "kind": "AffinityExtenderConfiguration",
    "annotations": {"namespaceSelector": {}},
    "prioritize": {"maxScore": 100},
}
"""As without a configuration, but that rules in annotations count."""


@pytest.fixture
def explain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Explain:
    """Run the command on a cluster of three nodes; return its exit code and what it said."""

    def run(line: str, *objects: Any, manifest: Any = None) -> tuple[int, str]:
        dump = tmp_path / "dump.json"
        dump.write_text(json.dumps({"kind": "List", "items": [*NODES, *objects]}))
        arguments = ["explain", *line.split(), "--cluster", str(dump)]
        if "annotations" in json.dumps(objects) and "--config" not in line:
            config = tmp_path / "annotations.yaml"
            config.write_text(json.dumps(WITH_ANNOTATIONS))
            arguments += ["--config", str(config)]
        if manifest is not None:
            path = tmp_path / "manifest.yaml"
            path.write_text(manifest if isinstance(manifest, str) else yaml.safe_dump(manifest))
            arguments += ["-f", str(path)]
        code = cli.main(arguments)
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run
