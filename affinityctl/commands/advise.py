"""The command advise: does the extender pay in a cluster, and in which mode?"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from affinityctl.flags import output_flag, whole_cluster_group
from extender.command_line import DONE, Commands, command, exit_codes, say

if TYPE_CHECKING:
    import argparse

    from affinityctl.lint.objects import Objects
    from extender.cluster.state import ClusterState

DESCRIPTION = """\
Say whether the extender pays in a cluster: which affinity rules its pods carry and how many pods
these are about, what they cost each pod that is scheduled, in the scheduler alone and with the
extender, and which mode to take. Traps that lint finds are listed as well. Nothing is changed.
"""

EPILOG = f"""\
  The costs are estimates: a model that is fitted to the project's benchmarks, with the number of
  nodes and the machine of these. docs/advise.md says how far they may be off.

examples:
  affinity-extender advise
      of the cluster of kubectl's current context
  kubectl get nodes,namespaces,pods,deployments,statefulsets,daemonsets -A -o json > dump.json
  affinity-extender advise --cluster dump.json
      of a dump that somebody has sent you

{exit_codes("never: an advice is no refusal")}"""


def add_to(commands: Commands) -> None:
    """Add the command."""
    advise = command(
        commands,
        "advise",
        "say whether the extender pays in a cluster, and which mode to take",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    advise.set_defaults(run=_run)
    output_flag(advise, "text", "json")
    whole_cluster_group(advise)


def _run(flags: argparse.Namespace) -> int:
    from affinityctl import advise  # noqa: PLC0415
    from affinityctl.advice.census import census  # noqa: PLC0415 - see the head of this package
    from affinityctl.advice.costs import costs  # noqa: PLC0415
    from affinityctl.lint.linting import lint  # noqa: PLC0415
    from affinityctl.lint.objects import Objects  # noqa: PLC0415

    objects = Objects()
    state, minor = _cluster(flags, objects)
    found = census(state)
    traps = lint(objects, (), objects.around(whole=True, minor=minor))
    advised = advise.Advised(found, costs(found), advise.worst_first(traps))
    say(advise.json_text(advised) if flags.output == "json" else advise.text(advised))
    return DONE


def _cluster(flags: argparse.Namespace, objects: Objects) -> tuple[ClusterState, int | None]:
    """Return the cluster, and the minor version of its API server where one was asked.

    What files or the server hold is put to the objects for lint as well.
    """
    from affinityctl.cluster import fill  # noqa: PLC0415 - see the head of this package
    from affinityctl.lint.objects import numbered  # noqa: PLC0415
    from affinityctl.workloads import WorkloadFiles  # noqa: PLC0415
    from extender.cluster.state import ClusterState  # noqa: PLC0415
    from extender.wire.objects import PodReader  # noqa: PLC0415

    state = ClusterState()
    if not flags.cluster:
        from affinityctl.lint.live import list_cluster  # noqa: PLC0415

        return state, asyncio.run(list_cluster(flags.kubeconfig, flags.context, objects, state))
    fill(
        flags,
        WorkloadFiles(state, PodReader()),
        (),
        also=lambda path, found: objects.take(numbered(path, found)),
    )
    return state, None
