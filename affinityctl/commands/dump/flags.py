"""Flags and words."""

from __future__ import annotations

from pathlib import Path

from affinityctl.terminal.flags import whole_cluster_group
from extender.core.command_line import Parser, exit_codes

SHORT = "write what the commands read of a cluster into a file, for --cluster"

DESCRIPTION = """\
Write a file for --cluster of the other commands, such as one to send to somebody: nodes,
namespaces, pods, workloads, services, volumes, PodDisruptionBudgets, LimitRanges and ResourceQuotas
with the fields that scheduling is about, and nothing else. Environment variables, commands and
their arguments, images, options of volumes, and annotations of others are not in it. Only you may
read the file (mode 0600), and it is there once it is whole. Nothing is changed in the cluster.
"""

EPILOG = f"""\
cluster:
  By default the one of kubectl's current context ($KUBECONFIG, or ~/.kube/config); in a pod, that
  of its service account. Needs the right to list nodes, namespaces and pods; of what else you may
  not list, the dump has nothing, and that is said. --cluster takes files of `kubectl get -o json`
  and writes what is read of these.

examples:
  affinity-extender dump
      into dump.json
  affinity-extender dump --context prod -o prod.json
  affinity-extender dump --cluster everything.json.gz -o small.json

{exit_codes("never")}"""


def add_flags(of: Parser) -> None:
    of.add_argument(
        *("-o", "--output"),
        default=Path("dump.json"),
        metavar="FILE",
        type=Path,
        help="file to write, in place of one that is there (default: %(default)s)",
    )
    whole_cluster_group(of)
