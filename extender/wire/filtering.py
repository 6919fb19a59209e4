"""The extender's callbacks on the wire: k8s.io/kube-scheduler/extender/v1.

Upstream's types carry no JSON tags, so keys are written as the Go fields are named; Go reads
them in any case, and so do we.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import msgspec
import orjson

from extender.errors import ObjectError, RequestError, one_line
from extender.model.objects import Pod
from extender.verbs.filtering import Verdicts
from extender.wire.decoding import BROKEN_JSON, decode
from extender.wire.objects import PodReader

T = TypeVar("T")

_NULL = b"null"


class Envelope(msgspec.Struct):
    """ExtenderArgs in upstream's own spelling."""

    Pod: msgspec.Raw
    Nodes: msgspec.Raw = msgspec.Raw(_NULL)
    NodeNames: msgspec.Raw = msgspec.Raw(_NULL)

    @property
    def pod_bytes(self) -> int:
        """Return how long the pod's JSON is."""
        return len(memoryview(self.Pod))


class _NodeList(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


class _NodeMetadata(msgspec.Struct):
    name: str


class _NamedNode(msgspec.Struct):
    metadata: _NodeMetadata


class _BindingArgs(msgspec.Struct, rename=str.lower):
    """ExtenderBindingArgs, its keys folded to lower case."""

    PodName: str
    PodNamespace: str
    PodUID: str
    Node: str


_ARGS = msgspec.json.Decoder(Envelope)
_ANY_CASE = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NODE_LIST = msgspec.json.Decoder(_NodeList)
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
    pod_json: msgspec.Raw
    """The pod as it was sent, in the request's body, for what is rarely looked at."""


def read_args(body: bytes, pods: PodReader) -> ExtenderArgs:
    """Read ExtenderArgs.

    RequestError when the body is not such an object at all (the caller is no kube-scheduler);
    ObjectError when it is, but the pod or the nodes in it are broken.
    """
    return open_args(read_envelope(body), pods)


def open_args(args: Envelope, pods: PodReader) -> ExtenderArgs:
    """Read what ExtenderArgs hold; ObjectError when it is broken."""
    pod = pods.read(args.Pod)
    if not _is_null(args.NodeNames):
        return ExtenderArgs(pod, args.NodeNames, None, args.Pod)
    if _is_null(args.Nodes):
        raise ObjectError("NodeNames", "neither NodeNames nor Nodes is given")
    items = decode(_NODE_LIST, args.Nodes, "Nodes").items or []
    nodes = {
        decode(_NAMED_NODE, item, f"Nodes.items[{index}]").metadata.name: item
        for index, item in enumerate(items)
    }
    return ExtenderArgs(pod, None, nodes, args.Pod)


@dataclass(frozen=True, slots=True)
class BindingArgs:
    """Which pod the scheduler wants bound, and where."""

    key: str
    uid: str
    node: str


def read_binding_args(body: bytes) -> BindingArgs:
    """Read ExtenderBindingArgs; RequestError when the body is no such object."""
    try:
        args = msgspec.convert(folded(body, msgspec.json.Decoder(dict[str, str])), _BindingArgs)
    except msgspec.ValidationError as error:
        raise RequestError(f"the body is not an ExtenderBindingArgs object: {error}") from error
    return BindingArgs(f"{args.PodNamespace}/{args.PodName}", args.PodUID, args.Node)


def write_binding_result(error: str = "") -> bytes:
    """Write an ExtenderBindingResult; an empty error is success."""
    return orjson.dumps({"Error": error_text(error)})


def write_filter_result(
    verdicts: Verdicts,
    args: ExtenderArgs,
    names_json: bytes,
    *,
    resolvable: bool,
    waits_for: str | None = None,
) -> bytes:
    """Write an ExtenderFilterResult around the names that write_names made.

    With `resolvable`, anti-affinity refusals go to FailedNodes as in-tree; otherwise every
    refusal is unresolvable, because released schedulers spin on extender refusals in FailedNodes.
    Except for the node that the pod `waits_for`: called unresolvable, the scheduler would give it
    up and evict others elsewhere; otherwise it sees victims going there, and waits as well.
    """
    failed: dict[str, str] = {}
    unresolvable: dict[str, str] = {}
    for reason, names in verdicts.refused:
        refused = failed if resolvable and reason.resolvable else unresolvable
        refused.update(dict.fromkeys(names, reason.value))
    if waits_for in unresolvable:
        failed[waits_for] = unresolvable.pop(waits_for)
    nodes = _NULL
    if args.nodes is not None:
        items = b",".join([bytes(args.nodes[name]) for name in verdicts.fits.names])
        nodes, names_json = b'{"metadata":{},"items":[' + items + b"]}", _NULL
    return b"".join(
        (
            b'{"Nodes":', nodes,
            b',"NodeNames":', names_json,
            b',"FailedNodes":', orjson.dumps(failed),
            b',"FailedAndUnresolvableNodes":', orjson.dumps(unresolvable),
            b',"Error":""}',
        )
    )  # fmt: skip


def write_names(verdicts: Verdicts, args: ExtenderArgs) -> bytes:
    """Return the JSON list of the nodes that fit: the request's own bytes when all do."""
    all_fit = not verdicts.refused and not verdicts.fits.repeated
    if all_fit and args.node_names is not None:
        return bytes(args.node_names)
    return orjson.dumps(verdicts.fits.names)


def write_filter_error(message: str) -> bytes:
    """Write an ExtenderFilterResult that reports a fault."""
    return orjson.dumps(
        {
            "Nodes": None,
            "NodeNames": None,
            "FailedNodes": None,
            "FailedAndUnresolvableNodes": None,
            "Error": error_text(message),
        }
    )


def error_text(message: str) -> str:
    """Make a message fit for an `Error` field: one bounded line, and no % (Go formats it)."""
    return one_line(one_line(message).replace("%", " percent"))


def read_envelope(body: bytes) -> Envelope:
    """Take a body apart; RequestError when it is no ExtenderArgs object at all."""
    try:
        args = _ARGS.decode(body)
    except msgspec.ValidationError:
        return _read_any_case(body)
    except BROKEN_JSON as error:
        raise RequestError(f"the body is not JSON: {error}") from error
    # No nodes at all: perhaps they are there in another spelling.
    missing = _is_null(args.NodeNames) and _is_null(args.Nodes)
    return _read_any_case(body) if missing else args


def _is_null(raw: msgspec.Raw) -> bool:
    return len(memoryview(raw)) == len(_NULL) and bytes(raw) == _NULL


def _read_any_case(body: bytes) -> Envelope:
    try:
        found = folded(body, _ANY_CASE)
    except msgspec.ValidationError as error:
        raise RequestError(f"the body is not an ExtenderArgs object: {error}") from error
    if "pod" not in found:
        raise RequestError("the body is not an ExtenderArgs object: it has no Pod")
    null = msgspec.Raw(_NULL)
    return Envelope(found["pod"], found.get("nodes", null), found.get("nodenames", null))


def folded(body: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[dict[str, T]]) -> dict[str, T]:
    """Decode an object and fold its keys to lower case.

    RequestError when it is not JSON, msgspec's ValidationError when it is something else in JSON.
    """
    try:
        return {key.lower(): value for key, value in decoder.decode(body).items()}
    except msgspec.ValidationError:
        raise
    except BROKEN_JSON as error:
        raise RequestError(f"the body is not JSON: {error}") from error
