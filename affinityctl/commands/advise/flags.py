"""Flags and words."""

from __future__ import annotations

from affinityctl.terminal.flags import output_flag, whole_cluster_group
from extender.core.command_line import Parser, exit_codes

SHORT = "say whether the extender pays in a cluster, and which mode to take"

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
  affinity-extender dump -o dump.json
  affinity-extender advise --cluster dump.json
      of a dump that somebody has sent you

{exit_codes("never: an advice is no refusal")}"""


def add_flags(of: Parser) -> None:
    output_flag(of, names="the objects that have traps")
    whole_cluster_group(of)
