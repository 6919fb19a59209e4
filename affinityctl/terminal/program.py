"""Carries one program out: from its parser and arguments to the exit code."""

from __future__ import annotations

import os
import platform
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from extender import __version__
from extender.core.command_line import (
    CLOSED_PIPE,
    DONE,
    INTERRUPTED,
    MISUSED,
    NOT_FINE,
    PROGRAM,
    UNREADABLE,
    Commands,
    Parser,
    complain,
    parser,
)
from extender.core.errors import (
    ConfigError,
    ConfigFaultsError,
    ExtenderError,
    InputError,
    UnreadableError,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence


def program_parser(
    prog: str, description: str, epilog: str, named: str = PROGRAM
) -> tuple[Parser, Commands]:
    """Build a parser and the place for its commands; `--version` calls the program `named`."""
    program = parser(prog, description, epilog)
    program.add_argument(
        "--version",
        action="version",
        version=version_line(named),
        help="print the version and exit",
    )
    return program, program.add_subparsers(title="commands", dest="command", required=True)


def version_line(program: str = PROGRAM) -> str:
    return f"{program} {__version__} (Python {platform.python_version()})"


def carried_out_by(module: str) -> Callable[[argparse.Namespace], int]:
    """Return what runs a command: `run` of a module that is imported only then."""

    def run(flags: argparse.Namespace) -> int:
        code: int = import_module(module).run(flags)
        return code

    return run


def run_program(program: Parser, arguments: Sequence[str] | None) -> int:
    """Run one command and return the exit code; end quietly when the reader or user has gone."""
    code = DONE
    try:
        code = _run(program, arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return CLOSED_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:  # of argparse's help, or of what was left in the buffer
        if code != UNREADABLE:  # else it was said when the answer was written
            complain(f"cannot write to standard output: {error.strerror}", program.prog)
        _drop_output()
        return UNREADABLE
    return code


def _drop_output() -> None:
    """Forget what is left in the buffer: it would fail once more when Python exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(program: Parser, arguments: Sequence[str] | None) -> int:
    try:
        chosen = program.parse(arguments)
    except SystemExit as stop:  # after --help, or after wrong usage
        return stop.code if isinstance(stop.code, int) else DONE
    try:
        _refuse_two_sources(chosen)
        code: int = chosen.run(chosen)
    except ConfigError as error:
        *others, last = error.faults if isinstance(error, ConfigFaultsError) else (error,)
        for fault in others:
            complain(str(fault), program.prog)
        complain(f"{last}; see {program.prog} {chosen.command} --help", program.prog)
        # What was written wrongly counts more than a file that is away.
        return min(map(_code, (*others, last)))
    except ExtenderError as error:
        complain(str(error), program.prog)
        return _code(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        # What nobody foresaw to fail: no file descriptors, no memory, a full disk.
        complain(f"the system refused: {error}", program.prog)
        return UNREADABLE
    return code


def _refuse_two_sources(flags: argparse.Namespace) -> None:
    """Stop a command line that names a file and a live cluster; across layers --cluster wins."""
    live = {
        "kubeconfig": "kubeconfig",
        "context": "context",
        "as_user": "as",
        "as_group": "as-group",
    }
    for name, flag in live.items() if getattr(flags, "cluster", None) else ():
        if getattr(flags, name, None):
            raise ConfigError(f"--{flag}", "has no use beside --cluster; leave one of them out")


def _code(error: ExtenderError) -> int:
    if isinstance(error, UnreadableError):
        return UNREADABLE
    return MISUSED if isinstance(error, InputError) else NOT_FINE
