"""How the feature is switched on, and what else tests of all features need of it."""

from __future__ import annotations

from typing import Any

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
ADDED = "nodeAffinity.addedAffinity"
GPU = {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}
ON_GPUS = {REQUIRED: {"nodeSelectorTerms": [GPU]}}
ON: dict[str, Any] = {"plugins": ["InterPodAffinity", "NodeAffinity"]}
VALUES = {ADDED: ON_GPUS, f"{ADDED}.{PREFERRED}": [{"weight": 1, "preference": GPU}]}
PARSERS = "tests.features.node_affinity.parsing"
