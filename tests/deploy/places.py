"""Where the files under test are, and how to read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from extender import __version__

ROOT = Path(__file__).parents[2]
OF_WHEELS = __version__.replace("-rc.", "rc")
"""The version as Python writes it."""
PROGRAM_WHEEL = f"affinity_extender-{OF_WHEELS}-py3-none-any.whl"
SCHEDULER_CONFIG = ROOT / "scheduler-config"
MANIFESTS = ROOT / "manifests"
OVERLAYS = MANIFESTS / "overlays"
SIDECAR = OVERLAYS / "sidecar"
SIDECARS = {
    "assist": SIDECAR,
    "replace": OVERLAYS / "sidecar-replace",
    "shadow": OVERLAYS / "sidecar-shadow",
}
"""The second scheduler in each mode."""
SIDECAR_QUOTA = OVERLAYS / "sidecar-quota"
KUBEADM_QUOTA = OVERLAYS / "kubeadm-quota"
SIDECAR_REPLACE_QUOTA = OVERLAYS / "sidecar-replace-quota"
KUBEADM = OVERLAYS / "kubeadm"
KUBEADM_REPLACE = OVERLAYS / "kubeadm-replace"
KUBEADM_REPLACE_QUOTA = OVERLAYS / "kubeadm-replace-quota"
K3S = OVERLAYS / "k3s"
SERVICE = OVERLAYS / "service"
EVERY_OVERLAY = sorted(path.parent for path in OVERLAYS.glob("*/kustomization.yaml"))
MONITORING = MANIFESTS / "components" / "monitoring"
SERVICEMONITOR = MANIFESTS / "components" / "servicemonitor"
EXAMPLES = ROOT / "docs" / "examples"
INTEGRATIONS = ROOT / "integrations"
SAMPLES = ROOT / "extender" / "samples"


def read_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def read_objects(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text()))


def named(objects: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    """Pick the one object of a kind and name."""
    (found,) = (one for one in objects if one["kind"] == kind and one["metadata"]["name"] == name)
    return found
