"""Objects that refer to each other in a circle, which only the garbage collector frees.

`extender.core.collecting` relies on that those which live long leave none behind.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def left_in_circles(*kinds: type) -> Iterator[list[str]]:
    """Find the objects of some kinds that are dropped meanwhile and not freed, as repr."""
    found: list[str] = []
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield found
        gc.collect()
        found += [repr(each) for each in gc.garbage if isinstance(each, kinds)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
