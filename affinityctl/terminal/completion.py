"""The command completion: a script that makes a shell complete commands, flags and file names."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from extender.core.command_line import DONE, Commands, Parser, command, exit_codes, say

if TYPE_CHECKING:
    from collections.abc import Callable

SHELLS = ("bash", "zsh", "fish")

DESCRIPTION = """\
Print a script that makes your shell complete commands, flags, their values and file names.
"""

EPILOG = f"""\
examples:
  source <({{program}} completion bash)
      for this bash; put the line into ~/.bashrc to have it always
  {{program}} completion zsh > "${{{{fpath[1]}}}}/_{{program}}"
      for every zsh that you open from now on
  {{program}} completion fish > ~/.config/fish/completions/{{program}}.fish
      for every fish

{exit_codes("the script could not be written")}"""


def add_to(commands: Commands, program: str, whole: Callable[[], Parser]) -> None:
    """Add the command; `whole` builds the program's parser, of which the script is made."""
    completion = command(
        commands,
        "completion",
        "print a script for completion in bash, zsh or fish",
        description=DESCRIPTION,
        epilog=EPILOG.format(program=program),
    )
    completion.add_argument("shell", choices=SHELLS, help="your shell")

    def run(flags: argparse.Namespace) -> int:
        say(script(whole(), program, flags.shell))
        return DONE

    completion.set_defaults(run=run)


def script(of: Parser, program: str, shell: str) -> str:
    """Return the script for a shell; it does not start the program to complete anything."""
    import shtab  # noqa: PLC0415 - help comes at once

    of.prog = program  # kubectl's plugin is called otherwise than its file
    for each in (of, *of.commands().values()):
        for _, actions in each.groups():
            for action in actions:
                action.choices = vars(action).get("completed_with") or action.choices
                if action.metavar in COMPLETED_BY:
                    vars(action)["complete"] = getattr(shtab, COMPLETED_BY[action.metavar])
    return shtab.complete(of, shell)


COMPLETED_BY: dict[str | tuple[str, ...] | None, str] = {"FILE": "FILE", "FOLDER": "DIRECTORY"}
"""What shtab calls the values that flags with these metavars take."""
