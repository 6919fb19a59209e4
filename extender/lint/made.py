"""Which objects were made by others that are looked at themselves."""

from __future__ import annotations

from collections.abc import Iterable

from extender.lint.objects import Workload
from extender.lint.reading import Manifest
from extender.model.labels import TEMPLATE_HASH
from extender.model.workload import Identity, controller_by_name


class Made:
    """Tells the objects that are worth a look from those that repeat a template."""

    def __init__(self, workloads: Iterable[Workload]) -> None:
        self._workloads = {
            Identity(each.owner.namespace, each.owner.kind, each.manifest.metadata.name)
            for each in workloads
            if each.owner.kind != "Pod"
        }
        self._seen: set[tuple[Identity, bytes]] = set()

    def repeats(self, kind: str, manifest: Manifest) -> bool:
        """Return whether a controller's template says the same, or another pod of its did."""
        controller = manifest.controller
        if controller is None:
            return False
        template_hash = (manifest.metadata.labels or {}).get(TEMPLATE_HASH, "")
        above = controller_by_name(controller, template_hash)
        if controller in self._workloads or above in self._workloads:
            return True
        if kind != "Pod":
            return False
        key = (controller, bytes(manifest.spec.affinity))
        if key in self._seen:
            return True
        self._seen.add(key)
        return False
