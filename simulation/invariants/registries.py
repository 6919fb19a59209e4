"""Everything that a process of the program can reach: what it keeps, and how much that is."""

from __future__ import annotations

import gc
import sys
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Iterable, Iterator
from logging import Logger
from types import FunctionType, ModuleType
from typing import Final

import msgspec

from extender.core.cluster.counts.node_rules import FIRST_CAPACITY, NodeColumn
from extender.core.controllers import history
from extender.core.controllers.history import History
from extender.core.model.lru_cache import CountedCache, LruCache
from simulation.invariants.broken import BrokenError

_CONTAINERS: Final = (dict, list, set, frozenset, deque)
_FOREIGN: Final = (type, ModuleType, Logger, AbstractEventLoop)
ENTRIES_ANYWAY: Final = 300
"""Entries that any container may have however small the cluster is."""
ENTRIES_PER_OBJECT: Final = 20
"""And for each object of the cluster: pods have several terms, hostile ones 44."""
BYTES_ANYWAY: Final = 2 << 20
"""What the program takes for itself."""
BYTES_PER_OBJECT: Final = 16 << 10
BYTES_PER_COUNTED: Final = 512
"""The most that most entries of a cache take that is bounded by number."""


def reachable(roots: Iterable[object]) -> Iterator[object]:
    """Yield everything that can be reached from some objects, code and the simulation left out."""
    seen = {id(vars(module)) for module in [*sys.modules.values()]}
    found = [*roots]
    while found:
        one = found.pop()
        if id(one) in seen or isinstance(one, _FOREIGN):
            continue
        seen.add(id(one))
        if type(one).__module__.startswith("simulation."):
            continue
        yield one
        if isinstance(one, FunctionType):
            found.extend(one.__closure__ or ())
            found.append(one.__defaults__)
        else:
            found.extend(gc.get_referents(one))


def check_registries(roots: Iterable[object], objects: int) -> list[object]:
    """Raise when anything holds more than it may; `objects` is how many the cluster has.

    Caches may hold what their budget allows, in bytes or in entries, and what they say they hold,
    and the history of the last hour what it may; everything else that is kept must be in
    proportion to the cluster as it is, not as it once was. Return everything.
    """
    everything = [*reachable(roots)]
    caches = [each for each in everything if isinstance(each, LruCache)]
    for cache in caches:
        _check_cache(cache)
    counted = [each for each in everything if isinstance(each, CountedCache)]
    inside = {id(part) for cache in (*caches, *counted) for part in gc.get_referents(cache)}
    histories = [each for each in everything if isinstance(each, History)]
    inside |= {_check_history(each) for each in histories}
    # What weights add up to has a place for each node there may be.
    columns = [each.by_number for each in everything if isinstance(each, NodeColumn)]
    inside |= {id(each) for each in columns if len(each) <= max(FIRST_CAPACITY, 2 * objects)}
    most = ENTRIES_ANYWAY + ENTRIES_PER_OBJECT * objects
    for each in everything:
        if isinstance(each, _CONTAINERS) and id(each) not in inside and len(each) > most:
            sample = repr(next(iter(each)))[:100]
            about = f"{len(each)} entries in a {type(each).__name__}, such as {sample}"
            raise BrokenError("registry out of bounds", about, ())
    taken = sum(map(_size, everything))
    allowed = BYTES_ANYWAY + BYTES_PER_OBJECT * objects + sum(each.size for each in caches)
    allowed += BYTES_PER_COUNTED * sum(map(_number, counted)) + len(histories) * history.MOST_BYTES
    if taken > allowed:
        about = f"{taken} bytes in all, of {allowed}"
        raise BrokenError("registry out of bounds", about, ())
    return everything


def _number(counted: CountedCache[object, object]) -> int:
    """Return how many entries a cache has that may have so many."""
    if len(counted) > counted._most:  # noqa: SLF001 - whether it counts right is what is to be found out
        about = f"a cache of {counted._most} entries has {len(counted)}"  # noqa: SLF001
        raise BrokenError("registry out of bounds", about, ())
    return len(counted)


def _size(one: object) -> int:
    # A Raw is a view of bytes that are counted with it.
    return len(one) if isinstance(one, msgspec.Raw) else sys.getsizeof(one)


def _check_history(one: History) -> int:
    """Return the id of what holds its entries."""
    entries = one._entries  # noqa: SLF001 - as with caches
    size = sum(each.size for each in entries)
    if len(entries) > history.MOST or size > history.MOST_BYTES:
        about = f"a history has {len(entries)} entries of {size} bytes"
        raise BrokenError("registry out of bounds", about, ())
    return id(entries)


def _check_cache(cache: LruCache[object, object]) -> None:
    sizes = cache._sizes  # noqa: SLF001 - whether it counts right is what is to be found out
    if (
        cache.size > cache.budget
        or cache.size != sum(sizes.values())
        or len(cache) != sum(1 for _ in cache)
    ):
        about = f"a cache of {cache.budget} bytes says {cache.size}, has {sum(sizes.values())}"
        raise BrokenError("registry out of bounds", about, ())
