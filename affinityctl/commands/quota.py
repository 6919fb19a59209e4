"""The command quota: who uses cross-namespace affinity, and what quotas say about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from affinityctl.flags import (
    config_flag,
    namespace_flags,
    note_empty_namespaces,
    output_flag,
    whole_cluster_group,
)
from extender.command_line import DONE, NOT_FINE, Commands, command, exit_codes, say
from extender.errors import ConfigError, ObjectError

if TYPE_CHECKING:
    import argparse

    from affinityctl.judging import Judging
    from extender.cluster.state import ClusterState
    from extender.model.quota import Amounts
    from extender.verbs.quota_survey import NamespaceSurvey

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


def add_to(commands: Commands) -> None:
    """Add the command."""
    quota = command(
        commands,
        "quota",
        "show which pods use affinity across namespaces, and what quotas allow",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    quota.set_defaults(run=_run)
    namespace_flags(quota, "look at")
    quota.add_argument(
        "--what-if",
        action="append",
        default=[],
        metavar="RESOURCE=LIMIT",
        help="suppose a quota with this limit, such as pods=0; may be repeated (default: none)",
    )
    quota.add_argument(
        "--limited-by-default",
        action="store_true",
        help="suppose that cross-namespace affinity needs a quota that allows it (default: it does "
        "not)",
    )
    config_flag(quota, "where rules in annotations count", "nowhere")
    output_flag(quota, "text", "json")
    whole_cluster_group(quota)


def _run(flags: argparse.Namespace) -> int:
    from affinityctl import quota  # noqa: PLC0415 - see the head of this package
    from affinityctl.judging import judging, note_ignored_annotations  # noqa: PLC0415
    from extender.verbs.quota_survey import survey  # noqa: PLC0415

    what_if = _limits(flags.what_if)
    by = judging(flags.config)
    state = _cluster(flags, by)
    note_ignored_annotations(state)
    note_empty_namespaces(state, flags.namespace)
    found = survey(state, flags.namespace, what_if, limited=flags.limited_by_default)
    report = quota.Report(found, flags.what_if)
    say(quota.json_text(report) if flags.output == "json" else quota.table(report))
    return NOT_FINE if any(map(_would_refuse, found)) else DONE


def _would_refuse(found: NamespaceSurvey) -> bool:
    """Return whether what was supposed would keep a pod away; what is refused today is as it is."""
    from extender.verbs.quota import Cause  # noqa: PLC0415 - see the head of this package

    uncovered = (each.shortfall.cause is Cause.UNCOVERED for each in found.refused_now)
    return bool(found.refused_if) or any(uncovered)


def _limits(texts: list[str]) -> Amounts | None:
    """Read RESOURCE=LIMIT; None when nothing is supposed."""
    from extender.wire.charges import COMPUTE, OF_THE_POD, is_counted  # noqa: PLC0415
    from extender.wire.quantities import read_exact_amounts  # noqa: PLC0415

    limits = {}
    for text in texts:
        resource, _, limit = text.partition("=")
        if not is_counted(resource):
            known = ", ".join((*OF_THE_POD, *COMPUTE))
            raise ConfigError(
                "--what-if",
                f"{resource!r} is not one of {known}, nor one with requests. or limits. before it; "
                "extended resources take requests. (requests.nvidia.com/gpu), huge pages may",
            )
        limits[resource] = limit
    try:
        return read_exact_amounts(limits, "--what-if") if limits else None
    except ObjectError as error:
        raise ConfigError(error.path, error.message) from error


def _cluster(flags: argparse.Namespace, by: Judging) -> ClusterState:
    """Return the pods and quotas of the cluster that the flags name."""
    from affinityctl.cluster import fill  # noqa: PLC0415
    from affinityctl.workloads import WorkloadFiles  # noqa: PLC0415
    from extender.cluster.state import ClusterState  # noqa: PLC0415
    from extender.resources import NAMESPACES, PODS, QUOTAS  # noqa: PLC0415
    from extender.wire.objects import PodReader  # noqa: PLC0415

    state = ClusterState(annotations=by.annotations)
    # Their labels matter to annotations alone.
    namespaces = () if by.annotations is None else (NAMESPACES,)
    resources = (*namespaces, QUOTAS, PODS)
    fill(flags, WorkloadFiles(state, PodReader(charges=True)), resources)
    return state
