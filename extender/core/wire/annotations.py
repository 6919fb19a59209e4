"""Rules in the annotations of a pod, read strictly: a pod with a broken one is not placed at all.

docs/annotations.md is written for those who write them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import msgspec

from extender.core.errors import ObjectError
from extender.core.model import memory
from extender.core.model.annotation_rules import WrittenAnnotation
from extender.core.model.lru_cache import LruCache
from extender.core.model.node_selection import NO_ANNOTATED_RULES, AnnotatedNodeRules, NodeRule
from extender.core.model.objects import Pod
from extender.core.model.pod_affinity import WrittenAffinity
from extender.core.model.workload import OWN
from extender.core.wire.affinity import Gates, read_affinity
from extender.core.wire.annotation_manifests import (
    StrictAffinity,
    StrictNodeAffinity,
    StrictNodeSelector,
    faults_of,
)
from extender.core.wire.class_cache import decoded_size
from extender.core.wire.decoding import decode
from extender.core.wire.limits import OF_ANNOTATIONS, OF_RULES
from extender.core.wire.manifests import (
    AFFINITY_ANNOTATION,
    NULL,
    POLICY_ANNOTATION,
    REVISIONS_ANNOTATION,
    PodAnnotations,
)
from extender.core.wire.node_terms import Fault, read_preferred, read_required

AFFINITY_PATH: Final = f"metadata.annotations[{AFFINITY_ANNOTATION}]"
POLICY_PATH: Final = f"metadata.annotations[{POLICY_ANNOTATION}]"
REVISIONS_PATH: Final = f"metadata.annotations[{REVISIONS_ANNOTATION}]"

POLICY_REMOVED: Final = (
    "no longer read: rules in annotations are added to those of the spec. Take the rules that "
    "should not count out of spec.affinity, and remove this annotation"
)
_TEXT = msgspec.json.Decoder(str)
_AFFINITY = msgspec.json.Decoder(StrictAffinity)


@dataclass(frozen=True, slots=True)
class Annotation:
    """What the annotations of a pod say, or what is wrong with them."""

    pods: WrittenAnnotation | None = None
    """Rules about other pods; None where there are none, and the spec's count as if alone."""
    nodes: AnnotatedNodeRules = NO_ANNOTATED_RULES
    fault: Fault | None = None
    """The broken field, and what is wrong with it; then nothing is said of rules."""
    key: bytes = b""
    """What tells these rules about other pods from all others."""
    own_revisions: bool = False
    """Whether anti-affinity between pods of its workload counts those of its revision alone."""

    def beside(self, written: WrittenAffinity) -> Annotation:
        """Return the annotation of a pod with these rules in its spec: both may be too many."""
        if self.pods is None:
            return self
        terms, conditions = (sum(each) for each in zip(self.pods.size, written.size, strict=True))
        fault = OF_RULES.fault(terms, conditions)
        if fault is None:
            return self
        return Annotation(fault=(AFFINITY_PATH, f"with those of spec.affinity, {fault}"))

    def digest(self, labels: Mapping[str, str]) -> str:
        """Return what tells the rules about other pods of an owner with these labels."""
        if self.pods is None:
            return ""
        named = {key: labels[key] for key in sorted(self.pods.named_labels & labels.keys())}
        # NULL stands where affinity-policy was: what pods have on record has to go on counting.
        return sha256(self.key + NULL + msgspec.json.encode(named)).hexdigest()


NO_ANNOTATION: Final = Annotation()
UNREAD: Final = Annotation()
"""There is one, and it counts nowhere."""


class AnnotationReader:
    """Reads annotations once for all pods of a namespace that have the same, by their bytes."""

    def __init__(self, gates: Gates, *, anywhere: bool = True) -> None:
        """Without `anywhere` no annotation counts, so that editing them costs nothing."""
        self._gates = gates
        self._anywhere = anywhere
        self._known: LruCache[tuple[str, tuple[bytes, ...]], Annotation] = LruCache(
            memory.ANNOTATIONS, share=2
        )

    def read(self, namespace: str, found: PodAnnotations | None) -> Annotation:
        """Read what a pod in a namespace has; O(1) where it was read lately."""
        if not found:
            return NO_ANNOTATION
        if not self._anywhere:
            return UNREAD
        key = (namespace, found.rules)
        known = self._known.get(key)
        if known is None:
            try:
                known = self._read(namespace, found)
            except ObjectError as error:
                known = Annotation(fault=(_cut(error.path), _cut(error.message)))
            self._known.put(key, known, decoded_size(*key[1]))
        return known

    def _read(self, namespace: str, found: PodAnnotations) -> Annotation:
        if found.policy is not NULL:
            raise ObjectError(POLICY_PATH, POLICY_REMOVED)
        manifest = StrictAffinity()
        if found.affinity is not NULL:
            manifest = _decoded(decode(_TEXT, found.affinity, AFFINITY_PATH).encode())
        own = found.revisions is not NULL
        if own and decode(_TEXT, found.revisions, REVISIONS_PATH) != OWN:
            raise ObjectError(REVISIONS_PATH, f"not a choice; there is {OWN} alone")
        self._gates.drop_disabled(manifest)
        during_execution = manifest.during_execution()
        pods = WrittenAnnotation(
            read_affinity(manifest, namespace), read_affinity(during_execution, namespace)
        )
        says_nothing = pods == WrittenAnnotation()
        return Annotation(
            None if says_nothing else pods,
            _node_rules(manifest.nodeAffinity),
            key=b"" if says_nothing else bytes(found.affinity),
            own_revisions=own,
        )


def broken_rules(pod: Pod) -> ObjectError | None:
    """Return what is wrong with a pod's rules, None if nothing is."""
    return None if pod.spec.broken_rules is None else ObjectError(*pod.spec.broken_rules)


def write_broken_annotation(pod: Pod) -> dict[str, Any]:
    """Write a pod whose rules cannot be read or are too many: what else it breaks is unknown."""
    field, fault = pod.spec.broken_rules or ("", "")
    return {"pod": pod.key, "node": pod.node, "field": field, "fault": fault}


def check_rules(pod: Pod) -> None:
    """Raise an ObjectError for a pod with broken rules in an annotation, or with too many."""
    error = broken_rules(pod)
    if error is not None:
        raise error


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
