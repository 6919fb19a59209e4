"""The one kind of cache there is: bounded by the bytes that its entries take."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

ENTRY_BYTES: Final = 256
"""What an entry takes beside its key and value: its places in the table and the numbers kept with
it. So a budget bounds the number of entries too."""

LARGEST_SHARE: Final = 8
"""An entry that would take more than one part in so many of the budget is not kept at all: a single
huge object must not drive out what thousands of others need. It also bounds the work of one `put`,
which may have to make room for it."""


class LruCache(Generic[K, V]):
    """What was used lately; what was used longest ago goes first when the budget is spent.

    Every operation is O(1), amortised: an entry is put in once and driven out at most once, and
    nothing is ever cleared as a whole.
    """

    __slots__ = ("_entries", "_most", "budget", "largest", "size")

    def __init__(self, budget: int, *, most: int | None = None, share: int = LARGEST_SHARE) -> None:
        """`budget` is in bytes, `most` in entries; `share` as LARGEST_SHARE."""
        self.budget = budget
        self.largest = budget // share
        self.size = 0
        """Bytes that the entries take, as those who put them in have said."""
        self._most = most
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        """Yield the keys, that of the entry used longest ago first."""
        return iter(self._entries)

    def get(self, key: K) -> V | None:
        """Return the value of a key, None when it is not kept (any more)."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: K, value: V, size: int) -> bool:
        """Keep a value in place of the key's last one; tell whether it was small enough.

        `size` is what key and value take, in bytes: rather too much than too little.
        """
        self.pop(key)
        size += ENTRY_BYTES
        if size > self.largest:
            return False
        self._entries[key] = value, size
        self.size += size
        while self.size > self.budget or (self._most is not None and len(self) > self._most):
            self.pop_oldest()
        return True

    def pop(self, key: K) -> V | None:
        """Give an entry up, and return its value if there was one."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        self.size -= entry[1]
        return entry[0]

    def oldest(self) -> V | None:
        """Return the value that was used longest ago, None when there is none."""
        return next((value for value, _ in self._entries.values()), None)

    def pop_oldest(self) -> V:
        """Give up the entry that was used longest ago; KeyError when there is none."""
        _, (value, size) = self._entries.popitem(last=False)
        self.size -= size
        return value


class Pool(Generic[V]):
    """One object for all equal ones, as long as one of them was seen lately."""

    __slots__ = ("_known",)

    def __init__(self, budget: int) -> None:
        """`budget` is in bytes."""
        self._known: LruCache[V, V] = LruCache(budget)

    def shared(self, value: V, size: int) -> V:
        """Return the object to use in place of this one, which takes `size` bytes itself."""
        known = self._known.get(value)
        if known is not None:
            return known
        self._known.put(value, value, size)
        return value
