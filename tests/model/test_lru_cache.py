"""Caches: what they keep, and what they give up first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.model.lru_cache import ENTRY_BYTES, CountedCache, LruCache

ROOM = 100
"""Bytes of an entry in these tests, beside what every entry takes."""


def cache_of(entries: int, most: int | None = None) -> LruCache[str, int]:
    """Build a cache with room for so many entries of ROOM bytes."""
    return LruCache(entries * (ROOM + ENTRY_BYTES), most=most, share=1)


def test_what_was_used_longest_ago_goes_first() -> None:
    cache = cache_of(2)
    for number, key in enumerate("ab"):
        cache.put(key, number, ROOM)
    assert cache.get("a") == 0
    cache.put("c", 2, ROOM)
    assert list(cache) == ["a", "c"]
    assert cache.get("b") is None


def test_a_large_entry_drives_out_as_many_as_it_needs_room() -> None:
    cache = cache_of(4)
    for number, key in enumerate("abcd"):
        cache.put(key, number, ROOM)
    cache.put("large", 9, 2 * ROOM + ENTRY_BYTES)
    assert list(cache) == ["c", "d", "large"]


@pytest.mark.parametrize(
    ("size", "kept"),
    [
        pytest.param(1000 - ENTRY_BYTES, True, id="its share of the budget"),
        pytest.param(1001 - ENTRY_BYTES, False, id="more than that"),
    ],
)
def test_what_is_too_large_is_not_kept(size: int, kept: bool) -> None:
    cache: LruCache[str, int] = LruCache(4000, share=4)
    cache.put("small", 1, 0)
    cache.put("key", 1, 0)
    assert cache.put("key", 2, size) is kept
    assert cache.get("key") == (2 if kept else None), "never the value that was replaced"
    assert cache.get("small") == 1


def test_the_number_of_entries_may_be_bounded_as_well() -> None:
    cache = cache_of(9, most=2)
    for number, key in enumerate("abc"):
        cache.put(key, number, 0)
    assert list(cache) == ["b", "c"]


def test_whoever_wants_to_know_is_told_what_had_to_go() -> None:
    dropped: list[int] = []
    cache: LruCache[str, int] = LruCache(1 << 20, most=2, dropped=dropped.append)
    for number, key in enumerate("abac"):
        cache.put(key, number, 0)
    cache.pop("a")
    assert not cache.put("c", 9, 1 << 20)
    assert dropped == [1], "neither what was replaced nor what was given up"


def test_what_was_not_used_between_two_looks_is_given_up() -> None:
    dropped: list[int] = []
    cache: LruCache[str, int] = LruCache(1 << 20, dropped=dropped.append)
    for number, key in enumerate("abc"):
        cache.put(key, number, ROOM)
    assert list(cache.forgetting()) == []
    assert cache.get("b") == 1
    cache.put("d", 3, ROOM)
    steps = cache.forgetting()
    next(steps)
    assert cache.get("c") == 2, "used before its turn has come"
    assert list(steps) == []
    assert (dropped, list(cache)) == ([0], ["b", "d", "c"])
    assert cache.size == 3 * (ROOM + ENTRY_BYTES)
    assert len(list(cache.forgetting())) == 3
    assert (len(cache), cache.size, cache.oldest()) == (0, 0, None)


def test_the_budget_holds_while_looks_are_taken() -> None:
    cache = cache_of(2)
    list(cache.forgetting())
    for number, key in enumerate("abc"):
        cache.put(key, number, ROOM)
    assert list(cache) == ["b", "c"]
    assert list(cache.forgetting()) == [], "all of them came since"


def test_an_empty_cache_has_no_oldest_entry() -> None:
    cache = cache_of(2)
    assert cache.oldest() is None
    cache.put("a", 1, ROOM)
    cache.put("b", 2, ROOM)
    assert cache.oldest() == 1
    assert cache.pop_oldest() == 1
    assert cache.pop("b") == 2
    assert cache.pop("b") is None
    assert (len(cache), cache.size) == (0, 0)


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcdef"), st.sampled_from(["put", "pop", "get"]), st.integers(0, 900)
        )
    )
)
def test_the_budget_is_never_exceeded_and_what_goes_is_given_back(
    steps: list[tuple[str, str, int]],
) -> None:
    cache: LruCache[str, int] = LruCache(2000, share=2)
    sizes: dict[str, int] = {}
    for key, what, size in steps:
        match what:
            case "put":
                sizes[key] = size + ENTRY_BYTES
                assert cache.put(key, size, size) is (sizes[key] <= cache.largest)
            case "pop":
                cache.pop(key)
            case _:
                cache.get(key)
        assert cache.size == sum(sizes[each] for each in cache) <= cache.budget


def test_of_entries_of_a_bounded_size_the_number_is_bounded() -> None:
    cache: CountedCache[str, int] = CountedCache(2)
    for number, key in enumerate("ab"):
        cache.put(key, number)
    assert cache.get("a") == 0
    cache.put("c", 2)
    assert [cache.peek(key) for key in "abc"] == [0, None, 2]


def test_what_is_put_in_again_is_used() -> None:
    cache: CountedCache[str, int] = CountedCache(2)
    for key in "abac":
        cache.put(key, 1)
    assert [cache.peek(key) for key in "abc"] == [1, None, 1]
    cache.pop("a")
    cache.pop("b")
    assert (len(cache), cache.get("a")) == (1, None)
