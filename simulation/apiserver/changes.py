"""Writes about pods, as the trace has them."""

from __future__ import annotations

from simulation.apiserver.store import Change
from simulation.apiserver.verbs import mark_of
from simulation.trace import Trace


def write_down(trace: Trace, change: Change) -> None:
    if change.resource != "pods":
        return
    new, old = change.new, change.old
    if new is None:
        what, about = "pod gone", change.key
    elif old is None:
        what, about = "pod created", f"{change.key} {new['spec'].get('nodeName', '')}"
    elif new["spec"].get("nodeName") != old["spec"].get("nodeName"):
        what, about = "pod assigned", f"{change.key} {new['spec']['nodeName']}"
    elif "deletionTimestamp" in new["metadata"] and "deletionTimestamp" not in old["metadata"]:
        what, about = "pod deleting", change.key
    elif mark_of(new) is not None and mark_of(old) is None:
        what, about = "pod marked", f"{change.key} {mark_of(new)}"
    else:
        status = new["status"]
        what = "pod changed"
        about = f"{change.key} {status.get('phase')} {status.get('nominatedNodeName', '')}"
    trace.say(change.by, what, about)
