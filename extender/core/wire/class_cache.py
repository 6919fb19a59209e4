"""Pod classes and affinities that were read lately, known by their bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeAlias, TypeVar
from weakref import WeakKeyDictionary, ref

from extender.core.model import memory
from extender.core.model.lru_cache import LruCache
from extender.core.model.objects import PodClass
from extender.core.model.pod_affinity import WrittenAffinity
from extender.core.wire.limits import PER

T = TypeVar("T")

MadeBy: TypeAlias = "tuple[str, str, bool] | None"
"""Kind and name of a pod's controller, and whether it has the annotation about revisions. None if
revisions do not matter."""
ClassKey: TypeAlias = tuple[str, bytes, bytes, bool, MadeBy, bytes]
"""Namespace, the JSON of labels and affinity, whether an API server has merged label keys, who made
the pod, and the JSON of rules in annotations."""


class Alive(Generic[T]):
    """Large objects, shared by all holders of an equal one for as long as one of them lives."""

    def __init__(self) -> None:
        self._live: WeakKeyDictionary[T, ref[T]] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self._live)

    def shared(self, made: T) -> T:
        known = self._live.get(made)
        shared = (None if known is None else known()) or made
        if shared is made:
            self._live[shared] = ref(shared)
        return shared


class ClassCache:
    """What the pods of one workload have in common, so that it is decoded and held once."""

    def __init__(self) -> None:
        self._classes: LruCache[ClassKey, PodClass] = LruCache(memory.CLASSES)
        self._affinities: LruCache[tuple[str, bytes], WrittenAffinity] = LruCache(memory.AFFINITIES)
        self._written: Alive[WrittenAffinity] = Alive()
        """Classes that are alike but for labels share theirs however far apart they were read."""
        self._live: Alive[PodClass] = Alive()
        """The classes that some pod is of and that are too large to be kept for their bytes."""
        self.find: Callable[[ClassKey], PodClass | None] = self._classes.peek
        """Returns a class that is kept; nearly every pod that is read asks."""

    def keep(self, key: ClassKey, pod_class: PodClass) -> PodClass:
        """Keep a class that was just read; return the object that all its pods are to share."""
        if self._classes.put(key, pod_class, pod_class.size):
            return pod_class
        return self._live.shared(pod_class)

    def affinity(
        self, namespace: str, raw: bytes, read: Callable[[bytes], WrittenAffinity]
    ) -> WrittenAffinity:
        """Return the rules in a namespace that JSON means, read when it was not seen lately."""
        key = (namespace, raw)
        known = self._affinities.get(key)
        if known is None:
            known = self._written.shared(read(raw))
            self._affinities.put(key, known, decoded_size(raw))
        return known

    def forgetting(self) -> Iterator[None]:
        """Give up what was not read since this was gone through last, an entry at a step."""
        yield from self._classes.forgetting()
        yield from self._affinities.forgetting()


def class_size(key: ClassKey, written: WrittenAffinity) -> int:
    """Estimate what a class and its JSON take, in bytes; see `decoded_size`."""
    _, labels, affinity, _, _, annotation = key
    return decoded_size(labels, affinity, annotation) + PER.merged_key * written.label_keys


def decoded_size(*documents: bytes) -> int:
    """Estimate what some JSON and the values read from it take together, in bytes.

    Tests hold it against the allocator: at least nine tenths of what labels, affinity and resources
    take, and at most five times as much. O(length), at the speed of memchr: 0.1 ms for 400 KB.
    """
    return sum(
        2 * len(each)
        + PER.string // 2 * each.count(b'"')
        + PER.pair * (each.count(b'":"') + each.count(b'": "'))
        + PER.object * each.count(b"{")
        for each in documents
    )
