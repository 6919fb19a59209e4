"""What keeps pods from coming back once they are gone, in runs in which pods are moved."""

from __future__ import annotations

from typing import Final

SETBACKS: Final = {
    "webhook is down": 3,
    "quota is used up": 3,
    "zone is lame": 3,
    "pods start slowly": 4,
    "webhook pins pods": 2,
}
"""By weight."""

BESIDE: Final = {"image is broken": 2, "controllers restart": 3, "consolidate": 3}
BESIDE_SHARE: Final = 0.3
"""What else happens in some of these runs, drawn apart, and in how many."""

SETBACKS_LAST: Final = {
    "image is broken": (100.0, 200.0, 260.0),
    "controllers restart": (1.0, 20.0, 60.0),
    "webhook is down": (20.0, 100.0, 200.0),
    "quota is used up": (20.0, 100.0, 200.0),
    "zone is lame": (20.0, 100.0, 200.0),
    "pods start slowly": (30.0, 100.0, 200.0),
    "webhook pins pods": (20.0, 100.0, 200.0),
}
"""Seconds at most: less and more than the minute that a replacement may take."""
