"""The answer to filter: ExtenderFilterResult."""

from __future__ import annotations

import orjson

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
    failed: dict[str, str] = {}
    unresolvable: dict[str, str] = {}
    for reason, names in verdicts.refused:
        refused = failed if resolvable and reason.resolvable else unresolvable
        refused.update(dict.fromkeys(names, reason.value))
    if waits_for in unresolvable:
        failed[waits_for] = unresolvable.pop(waits_for)
    nodes = NULL
    if args.nodes is not None:
        items = b",".join([bytes(args.nodes[name]) for name in verdicts.fits.names])
        nodes, names_json = b'{"metadata":{},"items":[' + items + b"]}", NULL
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
