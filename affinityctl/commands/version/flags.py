"""Flags and words."""

from __future__ import annotations

from affinityctl.terminal.flags import output_flag
from extender.core.command_line import Parser, exit_codes

SHORT = "print the version"

DESCRIPTION = ""

EPILOG = f"""\
examples:
  affinity-extender version
  affinity-extender version -o json

{exit_codes("could not be told")}"""


def add_flags(of: Parser) -> None:
    output_flag(of)
