"""`affinity-extender load`: clusterloader2's tests of scheduling, run from here.

compiling reads a test, running goes through its steps, measurements are what they call.
"""

from __future__ import annotations
