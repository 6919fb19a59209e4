"""Flags and words."""

from __future__ import annotations

from affinityctl.terminal.flags import (
    config_flag,
    namespace_flags,
    output_flag,
    whole_cluster_group,
)
from extender.core.command_line import Parser, exit_codes

SHORT = "show which placed pods break required rules, and which would be evicted"

DESCRIPTION = """\
Show which placed pods break a required rule where they are: their node affinity, their pod affinity
or their pod anti-affinity; who is in their way; and which of them would be evicted if the extender
moved pods for broken rules, and which not, and why.

Rules in annotations hold during execution where they say so, in the namespaces that --config
selects for them; without it they are ignored. Ordinary rules do in the namespaces that
--plain-rules selects, as plainRules does in the configuration. Placed pods whose annotation cannot
be read are shown as well: nobody can tell whether they break what it means. Nothing is changed.
"""

EPILOG = f"""\
columns:
  POD, NODE   a pod, and where it is
  BROKEN      the rule, the topology domain in which it is broken, and the pods in the way
  OUTCOME     goes: it would be evicted; anything else says why it stays, and is explained below
              the table

since when:
  A command that looks once cannot tell. A running extender can: /violations of its operations
  port, which has the same pods with the field since.

cluster:
  By default the one of kubectl's current context ($KUBECONFIG, or ~/.kube/config); in a pod, that
  of its service account. Needs the right to list nodes, namespaces, pods and poddisruptionbudgets.
  --cluster reads a file instead.

examples:
  affinity-extender violations
      what breaks which rule?
  affinity-extender violations --plain-rules team=shop -n shop
      who would be evicted there, if ordinary rules held during execution?
  affinity-extender dump -o dump.json
  affinity-extender violations --cluster dump.json --plain-rules '' -o json

{exit_codes("at least one pod breaks a rule, or has rules that cannot be read")}"""


def add_flags(of: Parser) -> None:
    namespace_flags(of, "show pods of")
    of.add_argument(
        "--plain-rules",
        metavar="SELECTOR",
        help="labels of namespaces, such as team=shop,!test, in which ordinary rules hold during "
        "execution; an empty one selects all (default: none)",
    )
    config_flag(
        of,
        "where rules in annotations count, and the plugins' arguments",
        "nowhere, the scheduler's defaults",
    )
    output_flag(of, names="the pods that break a rule, or whose rules cannot be read")
    whole_cluster_group(of)
