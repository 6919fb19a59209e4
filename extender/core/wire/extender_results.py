"""What filter and prioritize answer: ExtenderFilterResult, HostPriorityList."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import orjson

from extender.core.cluster.counts.topology import picker
from extender.core.model.verdict import AnyReason
from extender.core.verbs.plugins import FilterResult, Refused
from extender.core.verbs.prioritizing import Scored
from extender.core.wire.extender_args import NULL, Envelope, ExtenderArgs, error_text

NO_SCORES = b"[]"
_HOST = '{"Host":"'


def write_filter_result(
    verdicts: FilterResult | None,
    args: ExtenderArgs,
    *,
    resolvable: bool,
    waits_for: str | None = None,
) -> bytes:
    """Write an ExtenderFilterResult; None refuses nothing.

    With `resolvable`, anti-affinity refusals go to FailedNodes as in-tree; otherwise every
    refusal is unresolvable, because released schedulers spin on extender refusals in FailedNodes.
    Except for the node that the pod `waits_for`: called unresolvable, the scheduler would give it
    up and evict others elsewhere; otherwise it sees victims going there, and waits as well.
    """
    refused: Refused = () if verdicts is None else verdicts.refused
    plain = bool(refused) and _are_plain(args)
    failed: list[bytes] = []
    unresolvable: list[bytes] = []
    for reason, names in refused:
        if resolvable and reason.resolvable:
            _add(failed, names, reason, plain=plain)
            continue
        if waits_for is not None and waits_for in names:
            _add(failed, [waits_for], reason, plain=plain)
            names = [name for name in names if name != waits_for]  # noqa: PLW2901
        _add(unresolvable, names, reason, plain=plain)
    nodes = NULL
    if args.nodes is not None:
        fits = args.nodes if verdicts is None else verdicts.fits.names
        items = b",".join([bytes(args.nodes[name]) for name in fits])
        nodes = b'{"metadata":{},"items":[' + items + b"]}"
    return b"".join(
        (
            b'{"Nodes":', nodes,
            b',"NodeNames":', _names(verdicts, args),
            b',"FailedNodes":{', *failed,
            b'},"FailedAndUnresolvableNodes":{', *unresolvable,
            b'},"Error":""}',
        )
    )  # fmt: skip


def write_all_fit(args: Envelope) -> bytes:
    parts = (
        b'{"Nodes":', args.Nodes,
        b',"NodeNames":', args.NodeNames,
        b',"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}',
    )  # fmt: skip
    return b"".join(map(memoryview, parts))


def _add(members: list[bytes], names: Sequence[str], reason: AnyReason, *, plain: bool) -> None:
    """Add names, each with the same reason, to the members of a JSON object.

    Plain names are joined with the reason between them: a third of what it takes to make a
    dictionary and write that. The whole may be 200 KB, so it stays in pieces.
    """
    if not names:
        return
    if members:
        members.append(b",")
    if plain:
        text = '":' + orjson.dumps(reason.value).decode()
        members += (b'"', (text + ',"').join(names).encode(), text.encode())
    else:
        members.append(orjson.dumps(dict.fromkeys(names, reason.value))[1:-1])


def _are_plain(args: ExtenderArgs) -> bool:
    """Return whether JSON writes each name as it is: no node is called otherwise, but may be asked.

    Their list is looked through where it lies, which is sooner done than to write a name.
    """
    return args.node_names is not None and b"\\" not in bytes(args.node_names)


def _names(verdicts: FilterResult | None, args: ExtenderArgs) -> bytes:
    """Return the JSON list of the nodes that fit: the request's own bytes when all do."""
    if args.node_names is None:
        return NULL
    if verdicts is None or not (verdicts.refused or verdicts.fits.repeated):
        return bytes(args.node_names)
    return orjson.dumps(verdicts.fits.names)


def write_filter_error(message: str) -> bytes:
    return orjson.dumps(
        {
            "Nodes": None,
            "NodeNames": None,
            "FailedNodes": None,
            "FailedAndUnresolvableNodes": None,
            "Error": error_text(message),
        }
    )


def write_scores(scored: Scored) -> bytes:
    """Write a HostPriorityList; hosts that are left out score 0.

    An answer may name every node of the cluster, and pasting text together costs less than half
    of what encoding an object for each would. JSON writes the name of a known node as it is.
    """
    if not scored.raw:
        return NO_SCORES
    endings = {
        raw: f'","Score":{score}}},{_HOST}' if score else "" for raw, score in scored.final.items()
    }
    tails = picker(scored.raw)(endings)
    named = list(compress(scored.names, tails))
    # Pasted in two strides and one join: twice as fast as a text for each entry.
    parts = [_HOST] * (2 * len(named))
    parts[0::2] = named
    parts[1::2] = compress(tails, tails)
    parts[0] = f"[{_HOST}{named[0]}"
    parts[-1] = parts[-1].removesuffix(f",{_HOST}") + "]"
    return "".join(parts).encode()
