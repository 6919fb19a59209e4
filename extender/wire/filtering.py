"""The answer to filter: ExtenderFilterResult."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from extender.model.verdict import Reason
from extender.verbs.verdicts import Verdicts
from extender.wire.error_field import error_text
from extender.wire.extender_args import NULL, ExtenderArgs


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
    failed: list[bytes] = []
    unresolvable: list[bytes] = []
    for reason, names in verdicts.refused:
        if resolvable and reason.resolvable:
            failed.append(_members(names, reason))
            continue
        if waits_for is not None and waits_for in names:
            failed.append(_members([waits_for], reason))
            names = [name for name in names if name != waits_for]  # noqa: PLW2901
        unresolvable.append(_members(names, reason))
    nodes = NULL
    if args.nodes is not None:
        items = b",".join([bytes(args.nodes[name]) for name in verdicts.fits.names])
        nodes, names_json = b'{"metadata":{},"items":[' + items + b"]}", NULL
    return b"".join(
        (
            b'{"Nodes":', nodes,
            b',"NodeNames":', names_json,
            b',"FailedNodes":{', b",".join(filter(None, failed)),
            b'},"FailedAndUnresolvableNodes":{', b",".join(filter(None, unresolvable)),
            b'},"Error":""}',
        )
    )  # fmt: skip


def _members(names: Sequence[str], reason: Reason) -> bytes:
    """Return a JSON object without its braces: each name with the same reason.

    The names are joined with the reason between them: a third of what it takes to make a dictionary
    and write that.
    """
    if not names:
        return b""
    if b"\\" in orjson.dumps(names):
        # No node has a name that JSON writes in another way, but requests may.
        return orjson.dumps(dict.fromkeys(names, reason.value))[1:-1]
    text = '":' + orjson.dumps(reason.value).decode()
    return ('"' + (text + ',"').join(names) + text).encode()


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
