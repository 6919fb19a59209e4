"""Inter-pod affinity for kube-scheduler, outside its process."""

from __future__ import annotations

__version__ = "1.0.0-rc.1"
