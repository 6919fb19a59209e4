"""Flags and words."""

from __future__ import annotations

from pathlib import Path

from extender.core.command_line import Parser, exit_codes

SHORT = "write an extender's configuration file as the version of today"

DESCRIPTION = """\
Write a configuration file of the extender that is affinity-extender.io/v1alpha1 as
affinity-extender.io/v1, to standard output. Everything else stays as it is written, comments
too. A file with fields that do not exist, or values that they cannot have, is refused.
"""

EPILOG = f"""\
examples:
  affinity-extender config convert config.yaml
  affinity-extender config convert config.yaml --write
      into the same file

{exit_codes("never")}"""


def add_flags(of: Parser) -> None:
    of.add_argument("action", choices=("convert",), help="what is done with the file")
    of.add_argument("file", metavar="FILE", type=Path, help="an AffinityExtenderConfiguration")
    of.add_argument(
        *("-w", "--write"),
        action="store_true",
        help="write the file itself, in place of standard output",
    )
