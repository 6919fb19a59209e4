"""Flags and words."""

from __future__ import annotations

from pathlib import Path

from affinityctl.terminal.flags import output_flag, whole_cluster_group
from extender.core.command_line import Parser, exit_codes

SHORT = "find mistakes in configurations, rights and the affinity of workloads"

DESCRIPTION = """\
Look for mistakes: in the scheduler's file and the extender's, and whether they fit each other; in
the rights that manifests give the extender; and in the affinity of pods and workloads. Each finding
says what is wrong, why it hurts, how to fix it, and where it is. Nothing is changed.

Files may be manifests, dumps or folders of them. Without files, the pods and workloads of a cluster
are looked at.
"""

EPILOG = f"""\
what is found:
  docs/reference/lint-rules.md has every rule with its id.

  Rules about nodes, namespaces and other pods need a cluster: that of --cluster, or, with
  --kubeconfig or --context, a live one. With files and none of these, only the nodes in the files
  are known.

  The scheduler's file is held against the AffinityExtenderConfiguration of --config or among the
  files. Where there is none, the mode is the one that the scheduler's file looks like. Rendered
  manifests may have both files in ConfigMaps.

  An object is spared a rule by its annotation affinity-extender.io/lint-ignore: ID,ID

examples:
  affinity-extender lint scheduler-config.yaml --config extender.yaml
      do the two files belong together?
  affinity-extender lint deploy/ --cluster dump.json
      would these workloads work in the cluster that the dump is of?
  affinity-extender dump -o dump.json
  affinity-extender lint --cluster dump.json
      all workloads of a cluster, without access to it
  affinity-extender lint --cluster dump.json --fix
      the commands that put right what can be, to be read before they are run
  affinity-extender lint manifests/ -o sarif > lint.sarif
      for code scanning in CI

{exit_codes("something was found")}"""


def add_flags(of: Parser) -> None:
    of.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="manifests, a dump or a folder; -, standard input (default: the cluster's workloads)",
    )
    of.add_argument(
        "--config",
        metavar="FILE",
        help="the extender's configuration file (default: the one among the files)",
    )
    of.add_argument(
        "--mode",
        choices=("shadow", "assist", "replace"),
        help="mode of the extender (default: that of a flag of its container in the manifests, or "
        "of its file)",
    )
    of.add_argument(
        "--scheduler-version",
        metavar="MINOR",
        help="minor version of kube-scheduler, such as 1.37 (default: schedulerVersion of the "
        "configuration file, or the live cluster's version)",
    )
    of.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="ID",
        help="leave a rule out; may be repeated (default: none)",
    )
    of.add_argument(
        "--fix",
        action="store_true",
        help="print kubectl commands that patch the workloads, instead of a report; nothing is "
        "changed (default: off; -o json has the patch of each finding)",
    )
    output_flag(of, "sarif", names="the objects with findings, or what made them")
    whole_cluster_group(of)
