"""Node affinity out of manifests, together with the node selector of the same pod."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

import msgspec

from extender.core.errors import ObjectError
from extender.core.model import memory
from extender.core.model.labels import Operator, Requirement
from extender.core.model.lru_cache import LruCache
from extender.core.model.node_selection import (
    NO_ANNOTATED_RULES,
    NO_NODE_SELECTION,
    AnnotatedNodeRules,
    NodeRule,
    NodeSelection,
    NodeTerm,
)
from extender.core.wire.class_cache import Alive, decoded_size
from extender.core.wire.decoding import decode
from extender.core.wire.limits import OF_REQUESTS, PER
from extender.core.wire.manifests import NULL
from extender.core.wire.node_terms import Fault, NodeAffinityManifest, read_preferred, read_required

_PATH = "spec.affinity.nodeAffinity"
_NULL = bytes(NULL)
ANY_NODE = (_NULL, _NULL)
"""The affinity and the node selector of a pod that asks for no node."""

_Key: TypeAlias = tuple[bytes, bytes] | tuple[bytes, bytes, AnnotatedNodeRules]
"""The JSON of affinity and node selector, and rules from an annotation where there are some."""


class _Affinity(msgspec.Struct, rename={"nodes": "nodeAffinity"}):
    """v1.Affinity without what is about other pods."""

    nodes: NodeAffinityManifest | None = None


_AFFINITY = msgspec.json.Decoder(_Affinity | None)
_NODE_AFFINITY = msgspec.json.Decoder(NodeAffinityManifest)
_SELECTOR = msgspec.json.Decoder(dict[str, str] | None)


class NodeSelectionReader:
    """Reads node affinity once for all pods that have the same, recognised by its bytes."""

    def __init__(self, most_entries: int | None = None) -> None:
        """With `most_entries`, longer rules are an ObjectError."""
        self._most_entries = most_entries
        self._known: LruCache[_Key, NodeSelection] = LruCache(memory.NODE_AFFINITIES)
        self._alive: Alive[NodeSelection] = Alive()
        """Those of some pod, which are shared however far apart they were read."""

    def read(
        self,
        affinity: bytes,
        node_selector: bytes,
        annotated: AnnotatedNodeRules = NO_ANNOTATED_RULES,
    ) -> NodeSelection | None:
        """Read the JSON of a pod's `affinity` and `nodeSelector`; None if any node will do.

        `annotated` is what its annotation says, which is added to it.
        """
        key: _Key = (affinity, node_selector)
        if annotated is not NO_ANNOTATED_RULES:
            key = (affinity, node_selector, annotated)
        elif key == ANY_NODE:
            return None
        found = self._known.peek(key)
        if found is None:
            found = self._read(affinity, node_selector)
            size = sum(rule.size for rule in annotated.rules)
            found = replace(found, annotated=annotated, size=found.size + size)
            found = self._alive.shared(found)
            self._known.put(key, found, _size(affinity, node_selector) + size)
        return None if found == NO_NODE_SELECTION else found

    def forgetting(self) -> Iterator[None]:
        """Give up what was not read since this was gone through last, an entry at a step."""
        return self._known.forgetting()

    def _read(self, affinity: bytes, node_selector: bytes) -> NodeSelection:
        pairs = decode(_SELECTOR, node_selector, "spec.nodeSelector") or {}
        manifest = decode(_AFFINITY, affinity, "spec.affinity")
        rules = None if manifest is None else manifest.nodes
        if rules is None:
            if not pairs:
                return NO_NODE_SELECTION
            rules = NodeAffinityManifest()
        self._check_length(rules, pairs)
        # The decoded part in JSON again: of the pod's affinity, most may be about other pods.
        size = _size(msgspec.json.encode(rules), node_selector)
        return _affinity(rules, pairs, size, [])

    def _check_length(self, rules: NodeAffinityManifest, pairs: dict[str, str]) -> None:
        most = self._most_entries
        if most is None:
            return
        terms = [*rules.terms()]
        # Terms by the ten thousand are not even looked into.
        _check(len(terms), most, "terms")
        entries = len(pairs) + sum(term.entries for term in terms)
        _check(entries, most, "terms, conditions and values")
        conditions = len(pairs) + sum(term.conditions for term in terms)
        _check(conditions, OF_REQUESTS.conditions, "conditions")


def _check(number: int, most: int, what: str) -> None:
    if number > most:
        raise ObjectError(
            _PATH,
            f"{number} {what} are more than the {most} that are answered within the time of a call",
        )


def read_node_selection(raw: bytes) -> tuple[NodeSelection, list[Fault]]:
    """Read a v1.NodeAffinity that is no pod's, and say what is wrong with its terms."""
    faults: list[Fault] = []
    return _affinity(decode(_NODE_AFFINITY, raw), {}, _size(raw), faults), faults


def _size(*documents: bytes) -> int:
    """Estimate what some JSON and the node affinity read from it take, in bytes."""
    return PER.affinity + decoded_size(*documents)


def _affinity(
    rules: NodeAffinityManifest, pairs: dict[str, str], size: int, faults: list[Fault]
) -> NodeSelection:
    required = named = None
    common = [Requirement(key, Operator.IN, frozenset((pairs[key],))) for key in sorted(pairs)]
    if rules.required is not None:
        required = NodeRule.required(read_required(rules.required, faults), common, size=size)
        # Nearly always equal to these: then one set is kept.
        named = rules.required.named
        named = required.names if named == required.names else named
    elif common:
        required = NodeRule.required((NodeTerm(),), common, size=size)
    broken: list[Fault] = []
    terms = tuple(read_preferred(rules.preferred or (), broken))
    preferred = NodeRule.preferred(terms, size=size) if terms else None
    faults.extend(broken)
    fault = (f"{_PATH}.{broken[0][0]}", broken[0][1]) if broken else None
    return NodeSelection(required, preferred, fault, size, named=named)
