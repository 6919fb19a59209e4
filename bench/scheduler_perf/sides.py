"""The schedulers that are compared: in-tree, with the extender, and with an echo in its place."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.conformance.programs import FAST_PATH
from tests.e2e.controlplane.process import free_port

_ROOT = Path(__file__).parents[2]
_OURS = """\
apiVersion: affinity-extender.io/v1
kind: AffinityExtenderConfiguration
# The benchmark's scheduler has these too.
clientConnection: {qps: 5000, burst: 5000}
"""
_BEYOND_AN_ECHO = ("bindVerb", "preemptVerb")

IN_TREE, FAST, ASSIST, REPLACE, ECHO = "in-tree", "in-tree, fast path", "assist", "replace", "echo"
SIDES = (IN_TREE, FAST, ASSIST, REPLACE, ECHO)


@dataclass(frozen=True, slots=True)
class Side:
    gates: dict[str, bool]
    scheduler_config: Path | None
    environment: dict[str, str]


def side(name: str, folder: Path) -> Side:
    """Prepare one of the schedulers; its files go into a folder."""
    if name in (IN_TREE, FAST):
        return Side({FAST_PATH: True} if name == FAST else {}, None, {})
    port, ops_port = free_port(), free_port()
    config = folder / "scheduler.yaml"
    shipped = ASSIST if name == ASSIST else REPLACE
    config.write_text(yaml.safe_dump(_configured(shipped, port, echo=name == ECHO)))
    if name == ECHO:
        command, ready = ["-m", "bench.echo", str(port)], port
    else:
        ours = folder / "extender.yaml"
        ours.write_text(_OURS)
        command = ["-m", "extender", "serve", "--mode", name, "--config", str(ours)]
        command += [
            "--kubeconfig",
            "{kubeconfig}",
            "--port",
            str(port),
            "--ops-port",
            str(ops_port),
        ]
        ready = ops_port
    return Side(
        {},
        config,
        {
            "EXTENDER_COMMAND": " ".join([sys.executable, *command]),
            "EXTENDER_READY": f"http://127.0.0.1:{ready}/readyz",
            "EXTENDER_LOG": str(folder / "extender.log"),
            "PYTHONPATH": str(_ROOT),
        },
    )


def _configured(shipped: str, port: int, *, echo: bool) -> dict[str, Any]:
    """Return one of the files that are shipped, for a port of our own.

    The echo refuses no node, scores none and leaves the bind to the scheduler: nothing that is
    asked over HTTP costs a scheduler less.
    """
    text = (_ROOT / "scheduler-config" / f"{shipped}.yaml").read_text()
    config: dict[str, Any] = yaml.safe_load(text)
    (extender,) = config["extenders"]
    extender["urlPrefix"] = f"http://127.0.0.1:{port}"
    if echo:
        extender["prioritizeVerb"] += "?hosts=0"
        for verb in _BEYOND_AN_ECHO:
            extender.pop(verb)
    return config
