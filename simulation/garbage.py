"""How often runs look for garbage: most of what they make goes without that."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

YOUNG_OBJECTS: Final = 20_000
"""Made before garbage is looked for among them; with Python's 700 that takes a fifth of a run."""
MOST_FROZEN: Final = 2_000_000
"""Objects that no collection of garbage looks at any more; many are of runs that are over."""


@contextmanager
def little_collecting() -> Iterator[None]:
    """Look for garbage less often during a run, and then for what is left of earlier ones."""
    usual = gc.get_threshold()
    gc.set_threshold(YOUNG_OBJECTS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
    # Each start of the program freezes what there is, and looks for garbage in all the rest.
    if gc.get_freeze_count() > MOST_FROZEN:
        gc.unfreeze()
        gc.collect()
        gc.freeze()
