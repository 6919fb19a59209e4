"""Says in a wheel where the project is found: HOMEPAGE= of `make wheels`, for no checkout knows."""

from __future__ import annotations

import os
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Homepage(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        """Add `[project.urls]`."""
        homepage = os.environ.get("HOMEPAGE")
        metadata["urls"] = {"Homepage": homepage} if homepage else {}
