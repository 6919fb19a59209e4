"""Flags and words."""

from __future__ import annotations

from affinityctl.commands.simulate.changes import add_changes
from affinityctl.terminal.flags import (
    config_flag,
    namespace_flag,
    output_flag,
    scheduler_config_flag,
    whole_cluster_group,
)
from extender.core.command_line import Parser, exit_codes

SHORT = "say what would happen if pods came, nodes went or a workload was updated"

DESCRIPTION = """\
Say what would become of a cluster if something changed: which pods would land where, which would
stay pending and why, which rule is most in the way, and whether an update would get stuck. Changes
apply in the order in which they are given. Nothing is changed in the cluster.

Pods are placed one by one, as the scheduler would by inter-pod affinity, node affinity, topology
spread constraints, taints, requests, host ports, volumes and ResourceQuotas on affinity across
namespaces; a pod that evicts less important ones does so here as well. Devices, scheduling gates
and other schedulers are not looked at; pods that use them are named.
"""

EPILOG = f"""\
output:
  text   what each change did, and why pods wait
  wide   the same, with each pod and its node, and each turn of an update
  json   one object with everything
  yaml   the same

  docs/simulate.md says what is modelled and what is not.

cluster:
  By default the one of kubectl's current context ($KUBECONFIG, or ~/.kube/config); in a pod, that
  of its service account. Needs the right to list nodes, namespaces and pods; without that to list
  poddisruptionbudgets and resourcequotas, these are not looked at. For pods with volumes,
  persistentvolumeclaims, persistentvolumes, storageclasses, csinodes, csidrivers,
  csistoragecapacities and volumeattachments are listed as well, and with default topology spread
  constraints in --scheduler-config services, replicationcontrollers, replicasets and statefulsets.
  Where pods of manifests and templates are made, priorityclasses and limitranges; where those of
  StatefulSets go, statefulsets, without which each is taken to be OrderedReady. --cluster reads a
  file instead.

examples:
  affinity-extender simulate -f web.yaml --replicas 12
      would twelve of these find a place, and where?
  affinity-extender simulate -f web.yaml --until-full --cluster dump.json
      how many of them does this cluster take?
  affinity-extender simulate --lose zone=b
      where would the pods of zone b go, and who would wait?
  affinity-extender simulate --lose-each zone
      which zone must not fail? With --drain-each: which node cannot be drained?
  affinity-extender simulate --drain pool=old --add-nodes 3 --like node-17
      is there room for what is on the old nodes, and do three more nodes help?
  affinity-extender simulate --roll web.yaml -n shop
      would this update get stuck?
  affinity-extender simulate --roll web.yaml -n shop --config extender.yaml
      and with the addedAffinity, hardPodAffinityWeight ... of that extender?
  affinity-extender dump -o dump.json
  affinity-extender simulate --restart deployment/web -n shop --cluster dump.json

{
    exit_codes(
        "pods wait that did not before, or are gone for good; or a drain or update does not end",
        "what is not looked at may refuse a pod that was placed",
    )
}"""


def add_flags(of: Parser) -> None:
    add_changes(of)
    namespace_flag(of, "of workloads that are named, and of manifests that name none")
    of.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="draw by this seed between nodes that are equally good, as the scheduler draws "
        "(default: take the first by name, as explain does)",
    )
    of.add_argument(
        "--scheduler-name",
        action="append",
        default=[],
        metavar="NAME",
        help="pods of this scheduler go by these rules as well; may be repeated (beside "
        "default-scheduler and affinity-scheduler)",
    )
    config_flag(of, "the plugins' arguments and feature gates", "the scheduler's defaults")
    scheduler_config_flag(of)
    output_flag(
        of, "wide", names="the pods that would wait, not start, be gone for good, or block a drain"
    )
    whole_cluster_group(of)
