"""Rules in the annotations of a pod, read strictly: a pod with a broken one is not placed at all.

docs/annotations.md is written for those who write them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import ClassVar, Final

import msgspec

from extender.core.errors import ObjectError
from extender.core.model import memory
from extender.core.model.carried_rules import WrittenRules
from extender.core.model.lru_cache import LruCache
from extender.core.model.node_selection import NO_ANNOTATED_RULES, AnnotatedNodeRules, NodeRule
from extender.core.model.workload import OWN
from extender.core.wire.affinity import Gates, read_affinity
from extender.core.wire.class_cache import decoded_size
from extender.core.wire.decoding import decode
from extender.core.wire.limits import OF_RULES
from extender.core.wire.manifests import NULL, REVISIONS_ANNOTATION
from extender.core.wire.node_terms import read_preferred, read_required
from extender.core.wire.rules_beside import RulesBeside
from extender.features.annotations.manifests import (
    AFFINITY_ANNOTATION,
    OF_ANNOTATIONS,
    StrictAffinity,
    StrictNodeAffinity,
    StrictNodeSelector,
    faults_of,
)

POLICY_ANNOTATION: Final = "affinity-extender.io/affinity-policy"

AFFINITY_PATH: Final = f"metadata.annotations[{AFFINITY_ANNOTATION}]"
POLICY_PATH: Final = f"metadata.annotations[{POLICY_ANNOTATION}]"
REVISIONS_PATH: Final = f"metadata.annotations[{REVISIONS_ANNOTATION}]"

POLICY_REMOVED: Final = (
    "no longer read: rules in annotations are added to those of the spec. Take the rules that "
    "should not count out of spec.affinity, and remove this annotation"
)
_NULL = bytes(NULL)
_TEXT = msgspec.json.Decoder(str)
_AFFINITY = msgspec.json.Decoder(StrictAffinity)


class AnnotationReader:
    """Reads annotations once for all pods of a namespace that have the same, by their bytes."""

    annotations: ClassVar = (AFFINITY_ANNOTATION, POLICY_ANNOTATION, REVISIONS_ANNOTATION)

    def __init__(self, gates: Gates) -> None:
        self._gates = gates
        self._known: LruCache[tuple[str, tuple[bytes, ...]], RulesBeside] = LruCache(
            memory.ANNOTATIONS, share=2
        )

    def read(self, namespace: str, found: tuple[bytes, ...]) -> RulesBeside:
        """Read what a pod in a namespace has; O(1) where it was read lately."""
        key = (namespace, found)
        known = self._known.get(key)
        if known is None:
            try:
                known = self._read(namespace, *found)
            except ObjectError as error:
                known = RulesBeside(fault=(_cut(error.path), _cut(error.message)))
            self._known.put(key, known, decoded_size(*found))
        return known

    def forgetting(self) -> Iterator[None]:
        """Give up what was not read since this was gone through last, an entry at a step."""
        return self._known.forgetting()

    def _read(
        self, namespace: str, affinity: bytes, policy: bytes, revisions: bytes
    ) -> RulesBeside:
        if policy != _NULL:
            raise ObjectError(POLICY_PATH, POLICY_REMOVED)
        manifest = StrictAffinity()
        if affinity != _NULL:
            manifest = _decoded(decode(_TEXT, affinity, AFFINITY_PATH).encode())
        own = revisions != _NULL
        if own and decode(_TEXT, revisions, REVISIONS_PATH) != OWN:
            raise ObjectError(REVISIONS_PATH, f"not a choice; there is {OWN} alone")
        self._gates.drop_disabled(manifest)
        during_execution = manifest.during_execution()
        pods = WrittenRules(
            read_affinity(manifest, namespace), read_affinity(during_execution, namespace)
        )
        says_nothing = pods == WrittenRules()
        return RulesBeside(
            None if says_nothing else pods,
            _node_rules(manifest.nodeAffinity),
            key=b"" if says_nothing else affinity,
            own_revisions=own,
            path=AFFINITY_PATH,
        )


def _cut(text: str) -> str:
    return text if len(text) <= OF_ANNOTATIONS.fault else f"{text[: OF_ANNOTATIONS.fault]}..."


def _decoded(text: bytes) -> StrictAffinity:
    """Decode the value of the annotation, and check it as the API server would."""
    if len(text) > OF_ANNOTATIONS.size:
        raise ObjectError(AFFINITY_PATH, f"{len(text)} bytes are more than {OF_ANNOTATIONS.size}")
    manifest = decode(_AFFINITY, text, AFFINITY_PATH)
    fault = OF_RULES.fault(*manifest.size)
    if fault is not None:
        raise ObjectError(AFFINITY_PATH, fault)
    for number, limit, what in (
        (manifest.entries, OF_ANNOTATIONS.entries, "terms, conditions and values about nodes"),
        (manifest.conditions, OF_ANNOTATIONS.conditions, "conditions on nodes"),
    ):
        if number > limit:
            raise ObjectError(AFFINITY_PATH, f"{number} {what} are more than {limit}")
    # A field that is there twice would count once; depth and length are known to be bounded by now.
    json.loads(text, object_pairs_hook=_distinct)
    for where, what in faults_of(manifest):
        raise ObjectError(f"{AFFINITY_PATH}.{where}", what)
    return manifest


def _distinct(pairs: list[tuple[str, object]]) -> None:
    seen = set()
    for key, _ in pairs:
        if key in seen:
            raise ObjectError(AFFINITY_PATH, f"the field {key!r} is there twice")
        seen.add(key)


def _node_rules(found: StrictNodeAffinity | None) -> AnnotatedNodeRules:
    if found is None:
        return NO_ANNOTATED_RULES
    size = decoded_size(msgspec.json.encode(found))
    preferred = tuple(read_preferred(found.preferred or (), []))
    return AnnotatedNodeRules(
        _required(found.required, size),
        _required(found.during_execution, size),
        NodeRule.preferred(preferred, size=size) if preferred else None,
    )


def _required(selector: StrictNodeSelector | None, size: int) -> NodeRule | None:
    return None if selector is None else NodeRule.required(read_required(selector, []), size=size)
