"""What all commands share: exit codes, a parser that says things on one line, and complaints."""

from __future__ import annotations

import argparse
import sys
from typing import Any, NoReturn, TypeAlias

PROGRAM = "affinity-extender"

# Exit codes, as the help text of the commands says.
DONE, FAILED, MISUSED = 0, 1, 2

Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # noqa: SLF001 - it has no other name
Group: TypeAlias = "argparse._ArgumentGroup"  # noqa: SLF001 - nor has this


class Parser(argparse.ArgumentParser):
    """Says on one line what is wrong; the usage in full only when asked for."""

    def error(self, message: str) -> NoReturn:
        """End the program for wrong usage."""
        self.exit(MISUSED, f"{self.prog}: {message}; see {self.prog} --help\n")


def parser(prog: str, description: str, epilog: str) -> Parser:
    """Build the parser of the program."""
    return Parser(prog=prog, description=description, epilog=epilog, **_shape())


def command(
    commands: Commands, name: str, short: str, *, description: str = "", epilog: str = ""
) -> Parser:
    """Build the parser of a command; `short` is its line in the list of all."""
    return commands.add_parser(
        name, help=short, description=description or short, epilog=epilog, **_shape()
    )


def cluster_group(of: Parser) -> Group:
    """Add the flags that say which API server to ask; a command has more of its own beside them."""
    group = of.add_argument_group("cluster")
    group.add_argument("--kubeconfig", metavar="FILE", help="how to reach the API server")
    group.add_argument("--context", metavar="NAME", help="context of the kubeconfig file")
    return group


def complain(message: str, program: str = PROGRAM) -> None:
    """Say what is wrong on standard error, on one line whatever a file or variable holds."""
    print(f"{program}: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201 - no log yet


def say(text: str) -> None:
    """Write the answer that was asked for."""
    print(text)  # noqa: T201 - that is what a command is for


def _shape() -> dict[str, Any]:
    return {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
