"""Quotas for tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from extender.features.quota.objects import read_quota

if TYPE_CHECKING:
    from extender.features.quota.quotas import ResourceQuota
    from tests.builders import Json


def model_quota(raw: Json) -> ResourceQuota:
    return read_quota(json.dumps(raw).encode())
