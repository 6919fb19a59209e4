"""Flags and words."""

from __future__ import annotations

from affinityctl.terminal.flags import (
    config_flag,
    namespace_flags,
    output_flag,
    whole_cluster_group,
)
from extender.core.command_line import Parser, exit_codes

SHORT = "show which pods use affinity across namespaces, and what quotas allow"

DESCRIPTION = """\
Show which pods use affinity across namespaces, which quotas they count against, how much of each
quota is used, and which pods one more limit would refuse.

A pod is in scope when one of its affinity or anti-affinity terms, required or preferred, lists
`namespaces` or has a `namespaceSelector`: the scope CrossNamespacePodAffinity of ResourceQuotas.
Nothing is changed.
"""

EPILOG = f"""\
columns:
  IN SCOPE   pods that use affinity across namespaces and have not ended
  WAITING    those of them that have no node yet; only the others count against quotas here
  REFUSED    waiting pods that the quotas do not allow as things are
  USED, HARD what placed pods in scope use of a quota, and its limit

what if:
  --what-if supposes one more quota with the scope in each namespace, and admits all its pods in
  scope one after another, placed ones first. The pods that no longer fit are listed: they keep
  running, but would not come back, neither after an eviction nor with the next release.

cluster:
  By default the one of kubectl's current context ($KUBECONFIG, or ~/.kube/config); in a pod, that
  of its service account. Needs the right to list pods and resourcequotas in all namespaces.

  --cluster reads a file instead. Workloads in it (Deployment, ReplicaSet, StatefulSet, DaemonSet,
  ReplicationController, Job, CronJob) count with the pods that their templates would make, as
  waiting pods. A pod that is in the file as well is counted once: each pod that a workload owns,
  by its ownerReferences, takes the place of one of the workload's replicas.

examples:
  affinity-extender quota
      who uses it?
  affinity-extender quota --namespace shop --what-if pods=0
      which pods could no longer be placed if the namespace were barred?
  affinity-extender quota --limited-by-default
      which waiting pods would need a quota?
  kubectl get pods,resourcequotas -A -o json > dump.json
  affinity-extender quota --cluster dump.json --what-if pods=10 --what-if requests.cpu=4 -o json
  kubectl get pods,resourcequotas -A -o json | affinity-extender quota --cluster -

{exit_codes("--what-if or --limited-by-default would refuse at least one pod")}"""


def add_flags(of: Parser) -> None:
    namespace_flags(of, "look at")
    of.add_argument(
        "--what-if",
        action="append",
        default=[],
        metavar="RESOURCE=LIMIT",
        help="suppose a quota with this limit, such as pods=0; may be repeated (default: none)",
    )
    of.add_argument(
        "--limited-by-default",
        action="store_true",
        help="suppose that cross-namespace affinity needs a quota that allows it (default: it does "
        "not)",
    )
    config_flag(of, "where rules in annotations count", "nowhere")
    output_flag(of, names="the pods in scope")
    whole_cluster_group(of)
