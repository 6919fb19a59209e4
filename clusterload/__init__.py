"""`affinity-extender load`: clusterloader2's tests of scheduling, run from here.

compiling reads a test, running goes through its steps, measurements are what they call.
"""

from __future__ import annotations

from typing import Final

DRY_RUN_NODES: Final = 100
"""Nodes that a dry run supposes where there is no cluster to ask."""
