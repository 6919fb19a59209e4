"""What filter and prioritize are asked: ExtenderArgs (k8s.io/kube-scheduler/extender/v1).

Upstream's types carry no JSON tags, so keys are written as the Go fields are named; Go reads
them in any case, and so do we.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import msgspec

from extender.core.errors import ObjectError, RequestError, one_line
from extender.core.model.objects import Pod
from extender.core.wire.decoding import BROKEN_JSON, decode, decoded
from extender.core.wire.objects import PodReader

T = TypeVar("T")

NULL = b"null"

_NAMES = msgspec.json.Decoder(list[str])


class Envelope(msgspec.Struct):
    """ExtenderArgs in upstream's own spelling."""

    Pod: msgspec.Raw
    Nodes: msgspec.Raw = msgspec.Raw(NULL)
    NodeNames: msgspec.Raw = msgspec.Raw(NULL)

    @property
    def objects_bytes(self) -> int:
        return len(memoryview(self.Pod)) + len(memoryview(self.Nodes))


class _Spec(msgspec.Struct):
    schedulerName: str = ""


class _Pod(msgspec.Struct):
    spec: _Spec


class _AboutPod(msgspec.Struct):
    """The arguments of filter, prioritize and preempt in upstream's own spelling."""

    Pod: _Pod | None = None


class _NodeList(msgspec.Struct):
    items: list[msgspec.Raw] | msgspec.UnsetType | None = msgspec.UNSET


class _NodeMetadata(msgspec.Struct):
    name: str


class _NamedNode(msgspec.Struct):
    metadata: _NodeMetadata


_ARGS = msgspec.json.Decoder(Envelope)
_ANY_CASE = msgspec.json.Decoder(dict[str, msgspec.Raw])
_POD = msgspec.json.Decoder(_Pod)
_ABOUT_POD = msgspec.json.Decoder(_AboutPod)
_NODE_LIST = msgspec.json.Decoder(_NodeList)
_ITEMS = msgspec.json.Decoder(list[msgspec.Raw] | None)
_NAMED_NODE = msgspec.json.Decoder(_NamedNode)


@dataclass(frozen=True, slots=True)
class ExtenderArgs:
    """What filter and prioritize are asked."""

    pod: Pod
    node_names: msgspec.Raw | None
    """The JSON list of names, when the scheduler trusts our cache (nodeCacheCapable). It may be
    hundreds of kilobytes, so it stays where it is, in the request's body."""
    nodes: dict[str, msgspec.Raw] | None
    """Full node objects by name, otherwise."""


def open_args(args: Envelope, pods: PodReader) -> ExtenderArgs:
    """Read what ExtenderArgs hold; ObjectError when it is broken."""
    if is_null(args.Pod):
        raise ObjectError("Pod", "it is null")
    pod = pods.read(args.Pod)
    if not is_null(args.NodeNames):
        return ExtenderArgs(pod, args.NodeNames, None)
    if is_null(args.Nodes):
        raise ObjectError("NodeNames", "neither NodeNames nor Nodes is given")
    _check_text(args.Nodes)
    return ExtenderArgs(pod, None, read_nodes(args.Nodes))


def read_nodes(nodes: msgspec.Raw) -> dict[str, msgspec.Raw]:
    """Read a v1.NodeList: the nodes by name, each as it came."""
    return {
        decode(_NAMED_NODE, item, f"Nodes.items[{index}]").metadata.name: item
        for index, item in enumerate(_items(nodes))
    }


def _items(nodes: msgspec.Raw) -> list[msgspec.Raw]:
    """Return the nodes of a list, however its key is written: without it, all would be left out."""
    items = decode(_NODE_LIST, nodes, "Nodes").items
    if items is msgspec.UNSET:
        found = {key.lower(): value for key, value in decode(_ANY_CASE, nodes, "Nodes").items()}
        items = decode(_ITEMS, found.get("items", msgspec.Raw(NULL)), "Nodes.items")
    return items or []


def _check_text(nodes: msgspec.Raw) -> None:
    """Check what is passed on unread; ObjectError."""
    try:
        str(nodes, "utf-8")
    except UnicodeDecodeError as error:
        raise ObjectError("Nodes", f"not valid JSON: {error}") from error


def read_envelope(body: bytes) -> Envelope:
    """Take a body apart; RequestError when it is no ExtenderArgs object at all."""
    try:
        args = decoded(_ARGS.decode, body)
    except msgspec.ValidationError:
        return _read_any_case(body)
    except BROKEN_JSON as error:
        raise RequestError(f"the body is not JSON: {error}") from error
    # No nodes at all: perhaps they are there in another spelling.
    missing = is_null(args.NodeNames) and is_null(args.Nodes)
    return _read_any_case(body) if missing else args


def read_scheduler(body: bytes) -> str | None:
    """Return the schedulerName of the pod that a request is about; None where it has none to read.

    Of filter, prioritize and preempt.
    """
    try:
        pod = decoded(_ABOUT_POD.decode, body).Pod
        if pod is None:
            pod = decoded(_POD.decode, read_envelope(body).Pod)
    except (RequestError, *BROKEN_JSON):
        return None
    return pod.spec.schedulerName


def is_null(raw: msgspec.Raw) -> bool:
    return len(memoryview(raw)) == len(NULL) and bytes(raw) == NULL


def _read_any_case(body: bytes) -> Envelope:
    try:
        found = folded(body, _ANY_CASE)
    except msgspec.ValidationError as error:
        raise RequestError(f"the body is not an ExtenderArgs object: {error}") from error
    if "pod" not in found:
        raise RequestError("the body is not an ExtenderArgs object: it has no Pod")
    null = msgspec.Raw(NULL)
    return Envelope(found["pod"], found.get("nodes", null), found.get("nodenames", null))


def folded(body: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[dict[str, T]]) -> dict[str, T]:
    """Decode an object and fold its keys to lower case.

    RequestError when it is not JSON, msgspec's ValidationError when it is something else in JSON.
    """
    try:
        return {key.lower(): value for key, value in decoded(decoder.decode, body).items()}
    except msgspec.ValidationError:
        raise
    except BROKEN_JSON as error:
        raise RequestError(f"the body is not JSON: {error}") from error


def read_names(raw: msgspec.Raw) -> list[str]:
    """Return the names of a JSON list; ObjectError when it is not such a list."""
    return decode(_NAMES, raw, "NodeNames")


def error_text(message: str) -> str:
    """Make a message fit for an `Error` field: one bounded line, and no % (Go formats it)."""
    return one_line(one_line(message).replace("%", " percent"))
