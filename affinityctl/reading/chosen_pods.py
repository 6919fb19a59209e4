"""The pods of a cluster that a command line names, as kubectl would be told of them."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from affinityctl.reading.label_selectors import parse_selector
from affinityctl.reading.workloads import SHORT_NAMES
from extender.core.cluster.state import ClusterState
from extender.core.command_line import complain
from extender.core.errors import ConfigError
from extender.core.model.objects import Pod
from extender.core.model.workload import Identity
from extender.diagnosis.verbs.waiting import kind_of

POD: Final = "POD"
"""What errors call an argument that names pods."""
SIMILAR: Final = 3
"""Names that an error proposes."""
_PODS: Final = frozenset(("pod", "pods", "po"))


def chosen(state: ClusterState, flags: argparse.Namespace) -> list[Pod]:
    """Return the pods to look at; ConfigError where there is none."""
    if flags.selector is None:
        named = (pod for each in flags.pods for pod in _named(state, flags.namespace, each))
        return list({pod.key: pod for pod in named}.values())
    selector = parse_selector(flags.selector, "--selector")
    if not flags.all_namespaces:
        require_namespace(state, flags.namespace)
    there = in_namespace(state, flags)
    if found := [pod for pod in there if selector.matches(pod.pod_class.labels)]:
        return one_of_each(found)
    raise ConfigError("--selector", f"no pod {where(flags)} has such labels")


def in_namespace(state: ClusterState, flags: argparse.Namespace) -> Iterator[Pod]:
    """Yield the pods of the namespace that is meant, or with -A of all."""
    for pod in state.pods.values():
        if flags.all_namespaces or pod.pod_class.namespace == flags.namespace:
            yield pod


def where(flags: argparse.Namespace) -> str:
    return "in any namespace" if flags.all_namespaces else f"in namespace {flags.namespace}"


def one_of_each(pods: Iterable[Pod]) -> list[Pod]:
    """Return one of those that are alike; of those that wait, if any does."""
    there = sorted(pods, key=lambda pod: pod.key)
    waiting = [pod for pod in there if pod.node is None]
    return list({kind_of(pod): pod for pod in reversed(waiting or there)}.values())


def _named(state: ClusterState, namespace: str, text: str) -> Sequence[Pod]:
    of, slash, name = text.partition("/")
    is_kind = not name and (of in _PODS or of in SHORT_NAMES)
    if is_kind and f"{namespace}/{text}" not in state.pods:
        raise ConfigError(POD, f"{of} is a kind; a name follows a slash: {of}/NAME")
    if of in _PODS and slash:
        return [_pod(state, namespace, name)]
    if slash and of.partition(".")[0] in SHORT_NAMES:
        identity = Identity(namespace, SHORT_NAMES[of.partition(".")[0]], name)
        members = [pod for pod in state.pods.values() if is_of(pod, identity)]
        return one_of_each(members) or [_pod(state, namespace, text)]
    return [_pod(state, of, name) if slash else _pod(state, namespace, text)]


def is_of(pod: Pod, identity: Identity) -> bool:
    """Return whether a workload has made a pod, by the controllers that the pod names."""
    owner = pod.spec.owner
    if owner is None or pod.pod_class.namespace != identity.namespace:
        return False
    return identity in {Identity(identity.namespace, owner.kind, owner.name), pod.workload}


def _pod(state: ClusterState, namespace: str, name: str) -> Pod:
    if found := state.pods.get(f"{namespace}/{name}"):
        return found
    elsewhere = [key for key in state.pods if key.endswith(f"/{name}")]
    if elsewhere:
        spaces = ", ".join(sorted(key.partition("/")[0] for key in elsewhere)[:SIMILAR])
        raise ConfigError(POD, f"no pod {name} in namespace {namespace}, but in {spaces}; use -n")
    require_namespace(state, namespace)
    mine = [key.partition("/")[2] for key in state.pods if key.startswith(f"{namespace}/")]
    made = [each.removesuffix("[0]") for each in mine if each.endswith(f"/{name}[0]")]
    workloads = {pod.workload for pod in state.pods.values() if pod.workload is not None}
    mine += [f"{each.kind.lower()}/{each.name}" for each in workloads if each[0] == namespace]
    close = f"; did you mean {made[0]}?" if made else similar(name, mine)
    raise ConfigError(POD, f"no pod {name} waits or runs in namespace {namespace}{close}")


def require_namespace(state: ClusterState, name: str) -> None:
    """Raise ConfigError for a namespace that there is not, as far as namespaces are known."""
    if state.namespaces and name not in (there := _namespaces(state)):
        raise ConfigError("--namespace", f"no namespace {name}{similar(name, there)}")


def note_empty_namespaces(state: ClusterState, namespaces: Sequence[str]) -> None:
    """Say which of the namespaces that were asked for have no pod: one may be misspelt."""
    with_pods = {pod.pod_class.namespace for pod in state.pods.values()}
    for name in sorted({*namespaces} - with_pods):
        close = "" if name in state.namespaces else similar(name, _namespaces(state))
        complain(f"note: no pod is in namespace {name}{close}")


def _namespaces(state: ClusterState) -> set[str]:
    return {*state.namespaces, *(pod.pod_class.namespace for pod in state.pods.values())}


def similar(name: str, names: Iterable[str]) -> str:
    """Return a question that proposes names; "" without one."""
    close = difflib.get_close_matches(name, list(names), n=SIMILAR)
    return f"; did you mean {' or '.join(close)}?" if close else ""
