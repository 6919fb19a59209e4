"""Flags and words."""

from __future__ import annotations

from pathlib import Path

from affinityctl.terminal.flags import (
    config_flag,
    namespace_flag,
    output_flag,
    scheduler_config_flag,
    whole_cluster_group,
)
from extender.core.command_line import Parser, exit_codes

SHORT = "say why a pod fits on some nodes and not on others, and which pods are in the way"

DESCRIPTION = """\
Say which nodes a pod fits, and for every other node what refuses it: room, a taint, or a rule of
affinity, in which topology domain, and which pods are in the way.

The pod is one of the cluster, waiting or placed, or comes from a manifest: a Pod, or a workload
(Deployment, ReplicaSet, StatefulSet, DaemonSet, ReplicationController, Job, CronJob), whose
template is what counts. One that has its node is judged as if it came now, and whether it sits as
well as it can by preferred rules. Resource claims and pod groups are not looked at; a pod that has
them may fit, and so may one with volumes of which too little is known. Nothing is changed.
"""

EPILOG = f"""\
output:
  text   a summary, then each rule with the pods in the way, and what can be done about it
  wide   the same, and a line for each node
  json   one object; what GET /explain of a running extender answers; for several pods a list
  yaml   the same; docs/reference/schemas has the schema of both
  name   the pods that are explained, or that wait

cluster:
  By default the one of kubectl's current context ($KUBECONFIG, or ~/.kube/config); in a pod, that
  of its service account. Needs the right to list nodes, namespaces and pods; without that to list
  resourcequotas, these are not looked at. For pods with volumes, persistentvolumeclaims,
  persistentvolumes, storageclasses, csinodes, csidrivers, csistoragecapacities and
  volumeattachments are listed as well, with -f priorityclasses and limitranges, and with default
  topology spread constraints in --scheduler-config services, replicationcontrollers, replicasets
  and statefulsets. --cluster reads a file instead.

examples:
  affinity-extender explain -A
      which pods wait, since when and for what?
  affinity-extender explain deployment/web -n shop
      why do its replicas wait?
  affinity-extender explain web-7f9c-x2x4z -n shop
      why does this pod wait?
  affinity-extender explain web-7f9c-x2x4z -n shop --node node-17
      why not there?
  affinity-extender explain web-7f9c-x2x4z -n shop --config extender.yaml
      and with the addedAffinity, hardPodAffinityWeight ... of that extender?
  affinity-extender explain web-7f9c-x2x4z -n shop --watch
      what changes until it has a node?
  affinity-extender explain -f deployment.yaml
      would this fit, before it is applied?
  affinity-extender dump -o dump.json
  affinity-extender explain web-7f9c-x2x4z -n shop --cluster dump.json -o wide

{
    exit_codes(
        "a pod fits on no node, or not on the one that --node names",
        "a pod may fit: what is not looked at decides, or no scheduler looks at it",
    )
}"""


def add_flags(of: Parser) -> None:
    of.add_argument(
        "pods",
        nargs="*",
        metavar="POD",
        help="pods of the cluster: NAME, NAMESPACE/NAME, or a workload as deployment/NAME, of "
        "which one pod of each kind is looked at, of those that wait if any does (default: all "
        "pods that wait, by cause)",
    )
    of.add_argument(
        *("-l", "--selector"),
        metavar="SELECTOR",
        help="the pods with these labels instead, likewise",
    )
    of.add_argument(
        *("-A", "--all-namespaces"),
        action="store_true",
        help="in all namespaces, with -l or for all pods that wait",
    )
    of.add_argument(
        *("-f", "--filename"),
        metavar="FILE",
        type=Path,
        help="explain the pods and workloads in this file instead (JSON or YAML) or, with -, from "
        "standard input; what else is in it, such as namespaces, counts as in the cluster",
    )
    namespace_flag(of, "of the pod, and of manifests that name none")
    of.add_argument(
        "--node", metavar="NAME", help="ask about this node only (default: about all nodes)"
    )
    of.add_argument(
        *("-w", "--watch"),
        action="store_true",
        help="go on until the one pod that is named has a node, and say what changes; asks for the "
        "pod every 5 s, and lists the cluster anew when it has changed, 15 s to 1 min after the "
        "last time (default: off)",
    )
    config_flag(
        of,
        "the plugins' arguments, maxScore and feature gates",
        "the scheduler's defaults, scores up to 100",
    )
    scheduler_config_flag(of)
    output_flag(of, "wide", names="the pods that are explained, or wait")
    whole_cluster_group(of)
