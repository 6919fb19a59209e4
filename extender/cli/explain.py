"""The command explain: which nodes a pod fits, which rule refuses each other one, and by whom."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from extender.cli.parsing import (
    DONE,
    NOT_FINE,
    Commands,
    command,
    complain,
    config_flag,
    exit_codes,
    output_flag,
    say,
    whole_cluster_group,
)
from extender.errors import ConfigError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from extender.cli.judging import Judging
    from extender.cluster.state import ClusterState
    from extender.verbs.explaining.explanation import Explanation
    from extender.wire.explanation import Explained
    from extender.wire.objects import PodReader

DESCRIPTION = """\
Say which nodes a pod fits by its affinity rules and those of placed pods, and for every other
node which rule refuses it, in which topology domain, and which pods are in the way.

The pod is one of the cluster, waiting or placed, or comes from a manifest: a Pod, or a workload
(Deployment, ReplicaSet, StatefulSet, DaemonSet, ReplicationController, Job, CronJob), whose
template is what counts. Node affinity, the node selector and quotas on cross-namespace affinity are
looked at as well. Taints, resources and volumes do not count for the verdict; a note says where the
scheduler refuses nodes for them. Nothing is changed.
"""

EPILOG = f"""\
output:
  text   a summary, then each rule with the pods in the way, and what can be done about it
  wide   the same, and a line for each node
  json   one object; what GET /explain of a running extender answers
  yaml   the same

cluster:
  By default the one of kubectl's current context ($KUBECONFIG, or ~/.kube/config); in a pod, that
  of its service account. Needs the right to list nodes, namespaces and pods; without that to list
  resourcequotas, no quota is looked at. --cluster reads a file instead.

examples:
  affinity-extender explain web-7f9c-x2x4z -n shop
      why does this pod wait?
  affinity-extender explain web-7f9c-x2x4z -n shop --node node-17
      why not there?
  affinity-extender explain web-7f9c-x2x4z -n shop --config extender.yaml
      and with the addedAffinity, hardPodAffinityWeight ... of that extender?
  affinity-extender explain -f deployment.yaml
      would this fit, before it is applied?
  kubectl get nodes,namespaces,pods,resourcequotas -A -o json > dump.json
  affinity-extender explain web-7f9c-x2x4z -n shop --cluster dump.json -o wide

{exit_codes("a pod fits on no node, or not on the one that --node names")}"""

SIMILAR = 3
"""Names that an error proposes."""


def add_to(commands: Commands) -> None:
    """Add the command."""
    explain = command(
        commands,
        "explain",
        "say why a pod fits on some nodes and not on others, and which pods are in the way",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    explain.set_defaults(run=_run)
    explain.add_argument("pod", nargs="?", metavar="POD", help="name of a pod of the cluster")
    explain.add_argument(
        *("-f", "--filename"),
        metavar="FILE",
        type=Path,
        help="explain the pods and workloads in this file instead (JSON or YAML) or, with -, from "
        "standard input",
    )
    explain.add_argument(
        *("-n", "--namespace"),
        default="default",
        metavar="NAME",
        help="namespace of the pod, and of manifests that name none (default: %(default)s)",
    )
    explain.add_argument(
        "--node", metavar="NAME", help="ask about this node only (default: about all nodes)"
    )
    config_flag(
        explain,
        "the plugins' arguments, maxScore and feature gates",
        "the scheduler's defaults, scores up to 100",
    )
    output_flag(explain, "text", "wide", "json", "yaml")
    whole_cluster_group(explain)


def _run(flags: argparse.Namespace) -> int:
    from extender.cli import explain_report  # noqa: PLC0415 - see the head of this package
    from extender.cli.cluster import cluster_with_nodes  # noqa: PLC0415
    from extender.cli.judging import judging, note_ignored_annotations  # noqa: PLC0415
    from extender.wire.objects import PodReader  # noqa: PLC0415

    if (flags.pod is None) is (flags.filename is None):
        raise ConfigError("POD", "name a pod, or give a manifest with -f; one of the two")
    # A manifest that cannot be read is said before a large cluster is.
    by = judging(flags.config)
    pods = PodReader(by.gates, charges=True, node_affinity=True)
    given = [] if flags.filename is None else _manifests(flags.filename, flags.namespace, pods)
    state, _ = cluster_with_nodes(flags, pods, by=by)
    note_ignored_annotations(state)
    asked = given or [_pod(state, flags.namespace, flags.pod)]
    names = list(state.nodes) if flags.node is None else [_node(state, flags.node)]
    found = [_explained(state, by, each, names) for each in asked]
    say(explain_report.write(state, found, flags.output))
    return DONE if all(each.fits and each.indeterminate is None for each in found) else NOT_FINE


def _explained(
    state: ClusterState, by: Judging, asked: Explained, names: Sequence[str]
) -> Explanation:
    from extender.model.stepping import at_once  # noqa: PLC0415
    from extender.verbs.explaining.explanation import Question  # noqa: PLC0415
    from extender.verbs.explaining.steps import explaining  # noqa: PLC0415

    question = Question(asked.pod, names, by.profile.rules, by.profile.scoring, by.max_score)
    return at_once(explaining(state, question))


def _manifests(path: Path, namespace: str, pods: PodReader) -> list[Explained]:
    from extender.offline import read_manifests  # noqa: PLC0415

    found = read_manifests(path, namespace, pods)
    if found.ignored:
        complain(f"note: {path}: {found.ignored} cannot be explained")
    return found.pods


def _pod(state: ClusterState, namespace: str, name: str) -> Explained:
    """Find a pod by its name, or by kind and name of the workload that a dump has of it."""
    from extender.wire.explanation import Explained  # noqa: PLC0415

    name = name.removeprefix("pod/").removeprefix("pods/")
    for key in (f"{namespace}/{name}", f"{namespace}/{name}[0]"):
        if key in state.pods:
            return Explained(state.pods[key])
    elsewhere = [key for key in state.pods if key.endswith(f"/{name}")]
    if elsewhere:
        spaces = ", ".join(sorted(key.partition("/")[0] for key in elsewhere)[:SIMILAR])
        raise ConfigError("POD", f"no pod {name} in namespace {namespace}, but in {spaces}; use -n")
    mine = [key.partition("/")[2] for key in state.pods if key.startswith(f"{namespace}/")]
    made = [each.removesuffix("[0]") for each in mine if each.endswith(f"/{name}[0]")]
    similar = f"; did you mean {made[0]}?" if made else _similar(name, mine)
    raise ConfigError("POD", f"no pod {name} in namespace {namespace} that has not ended{similar}")


def _node(state: ClusterState, name: str) -> str:
    if name in state.nodes:
        return name
    raise ConfigError("--node", f"no node {name}{_similar(name, state.nodes)}")


def _similar(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(names), n=SIMILAR)
    return f"; did you mean {' or '.join(close)}?" if close else ""
