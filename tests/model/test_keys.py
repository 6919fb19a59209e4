"""Keys are namespace/name."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from extender.core.model.keys import key_of, name_of, namespace_of

NAMES = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?", fullmatch=True)


@given(NAMES, NAMES)
def test_a_key_holds_namespace_and_name(namespace: str, name: str) -> None:
    key = key_of(namespace, name)
    assert (namespace_of(key), name_of(key)) == (namespace, name)


@given(NAMES)
def test_two_pairs_never_share_a_key(name: str) -> None:
    assert key_of("a", name) != key_of("b", name)
    assert key_of(name, "a") != key_of(name, "b")
