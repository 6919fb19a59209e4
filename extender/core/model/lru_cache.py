"""Caches: bounded by the bytes that entries take, or by their number where they are small."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Final, Generic, TypeVar

PER_NAME: Final = 128
"""Bytes of the name of a node or the uid of a pod, beside its text, and of what it is kept in."""

K = TypeVar("K")
V = TypeVar("V")

ENTRY_BYTES: Final = 256
"""What an entry takes beside its key and value: its places in the table and the numbers kept with
it. So a budget bounds the number of entries too."""

LARGEST_SHARE: Final = 8
"""An entry that would take more than the budget divided by this is not kept at all: a single huge
object must not drive out what thousands of others need. It also bounds the work of one `put`, which
may have to make room for it."""


class Mark(Enum):
    """Stands among the keys of a cache, in the order of use."""

    PERIOD = auto()
    """What is before it was not used since it was put there."""


class LruCache(Generic[K, V]):
    """What was used lately; what was used longest ago goes first when the budget is spent.

    Every operation is O(1), amortised: an entry is put in once and driven out at most once, and
    nothing is ever cleared as a whole.
    """

    __slots__ = ("_dropped", "_most", "_sizes", "_values", "budget", "largest", "peek", "size")

    def __init__(
        self,
        budget: int,
        *,
        most: int | None = None,
        share: int = LARGEST_SHARE,
        dropped: Callable[[V], None] | None = None,
    ) -> None:
        """`budget` is in bytes, `most` in entries; `share` as LARGEST_SHARE.

        `dropped` is told of each value that has to go to make room for another key's.
        """
        self.budget = budget
        self.largest = budget // share
        self.size = 0
        """Bytes that the entries take, as those who put them in have said."""
        self._most = most
        self._dropped = dropped
        self._values: dict[K, V] = {}
        self._sizes: OrderedDict[K | Mark, int] = OrderedDict()
        """In the order of use."""
        self.peek: Callable[[K], V | None] = self._values.get
        """Like `get`, but no use in the sense of the cache, and at the speed of a dictionary: where
        nearly all look-ups are hits, what is in use and goes all the same is soon back."""

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[K]:
        """Yield the keys, that of the entry used longest ago first."""
        return (key for key in self._sizes if not isinstance(key, Mark))

    def values(self) -> Iterator[V]:
        return iter(self._values.values())

    def get(self, key: K) -> V | None:
        value = self._values.get(key)
        if value is not None:
            self._sizes.move_to_end(key)
        return value

    def put(self, key: K, value: V, size: int) -> bool:
        """Keep a value in place of the key's last one; return whether it was small enough.

        `size` is what key and value take, in bytes: rather too much than too little.
        """
        self.pop(key)
        size += ENTRY_BYTES
        if size > self.largest:
            return False
        self._values[key] = value
        self._sizes[key] = size
        self.size += size
        while self.size > self.budget or (self._most is not None and len(self) > self._most):
            value = self.pop_oldest()
            if self._dropped is not None:
                self._dropped(value)
        return True

    def pop(self, key: K) -> V | None:
        value = self._values.pop(key, None)
        if value is not None:
            self.size -= self._sizes.pop(key)
        return value

    def oldest(self) -> V | None:
        """Return the value that was used longest ago, None when there is none."""
        return next((self._values[key] for key in self), None)

    def pop_oldest(self) -> V:
        """Give up the entry that was used longest ago; KeyError when there is none."""
        key, size = self._sizes.popitem(last=False)
        if isinstance(key, Mark):
            return self.pop_oldest()
        self.size -= size
        return self._values.pop(key)

    def forgetting(self) -> Iterator[None]:
        """Give up what was not used since this was gone through last, an entry at a step.

        The cache may change between two steps.
        """
        sizes = self._sizes
        while Mark.PERIOD in sizes and next(iter(sizes)) is not Mark.PERIOD:
            value = self.pop_oldest()
            if self._dropped is not None:
                self._dropped(value)
            yield
        sizes[Mark.PERIOD] = 0
        sizes.move_to_end(Mark.PERIOD)


class CountedCache(Generic[K, V]):
    """What was used lately, bounded by number: for entries of a bounded size."""

    __slots__ = ("_most", "_values", "peek")

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[K, V] = OrderedDict()
        """In the order of use."""
        self.peek: Callable[[K], V | None] = self._values.get
        """As that of `LruCache`."""

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._most:
            self._values.popitem(last=False)

    def pop(self, key: K) -> None:
        self._values.pop(key, None)
