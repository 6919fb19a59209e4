"""What to do when a machine lacks a tool that a test drives, or what its Python cannot do."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import pytest

needs_depth = pytest.mark.skipif(
    sys.version_info[:2] in {(3, 12), (3, 13)},
    reason="these decode no JSON as deep as the API server stores it; the server refuses to run",
)


def missing(reason: str) -> NoReturn:
    """Skip the test on somebody's machine; fail it where results count (CI=true)."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
