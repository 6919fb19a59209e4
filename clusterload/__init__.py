"""`clusterload`: clusterloader2's tests of scheduling, run from Python.

A program of its own beside the extender, which knows nothing of it. cli reads the command line,
compiling a test; running goes through its steps, and measurements are what they call.
"""

from __future__ import annotations

from typing import Final

PROGRAM: Final = "clusterload"

SUPPOSED_NODES: Final = 100
"""Nodes that a check supposes where there is no cluster to ask."""
