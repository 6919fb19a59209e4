"""How objects are told apart: by namespace and name, and from their namesakes by the uid."""

from __future__ import annotations

from typing import NamedTuple, NewType

Key = NewType("Key", str)
"""namespace/name: one string, for two would be one more for each pod of the cluster."""


class Identity(NamedTuple):
    """One object, which another of the same key is not."""

    key: Key
    uid: str


def key_of(namespace: str, name: str) -> Key:
    return Key(f"{namespace}/{name}")


def namespace_of(key: str) -> str:
    return key.partition("/")[0]


def name_of(key: str) -> str:
    return key.partition("/")[2]
