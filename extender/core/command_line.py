"""What all commands share: exit codes, a parser that says things on one line, and complaints."""

from __future__ import annotations

import argparse
import codecs
import difflib
import re
import sys
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from extender.core.errors import UnreadableError, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from _typeshed import SupportsWrite

PROGRAM: Final = "affinity-extender"

DONE: Final = 0
"""Everything is fine."""
NOT_FINE: Final = 1
"""What was looked for is not fine, or could not be done: a refusal, a finding, a failed test."""
MISUSED: Final = 2
"""Wrong usage, or input that is broken."""
UNREADABLE: Final = 3
"""The cluster or a file cannot be read."""
UNKNOWN: Final = 4
"""It cannot be known: what decides is not looked at."""

INTERRUPTED: Final = 130
CLOSED_PIPE: Final = 141
"""As a shell reports a program that SIGINT or SIGPIPE ended."""

_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters but for tab and line end, and what turns the direction of a text: a dump from
another cluster may have them in any name."""

Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # noqa: SLF001 - it has no other name


class Parser(argparse.ArgumentParser):
    """Says on one line what is wrong; the usage in full only when asked for."""

    def error(self, message: str) -> NoReturn:
        self.exit(MISUSED, f"{self.prog}: {message}; see {self.prog} --help\n")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        # argparse's own passes over a reader who has left and over a full disk.
        (file or sys.stderr).write(message)

    def parse(self, arguments: Sequence[str] | None) -> argparse.Namespace:
        """Parse the whole command line; what a command does not know is that command's error."""
        given = sys.argv[1:] if arguments is None else arguments
        first = given[0].partition("=")[0] if given else ""
        if first.startswith("-") and self.commands() and first not in self._option_string_actions:
            self.error(f"unrecognized arguments: {first}; flags come after the command")
        commands = self.commands()
        if commands and first and not first.startswith("-") and first not in commands:
            self.error(f"there is no command {first}{_meant(first, commands)}")
        if not given[1:]:
            commands.get(first, self).teach(given)
        chosen, unknown = self.parse_known_args(given)
        if unknown:
            of = commands.get(getattr(chosen, "command", None) or "", self)
            of.error(f"unrecognized arguments: {' '.join(unknown)}{of.suggestion(unknown)}")
        return chosen

    def commands(self) -> dict[str, Parser]:
        found: dict[str, Parser] = {}
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
                found |= action.choices
        return found

    def groups(self) -> Iterator[tuple[str, list[argparse.Action]]]:
        for group in self._action_groups:
            if group._group_actions:  # noqa: SLF001 - argparse has no reader for it
                yield group.title or "", group._group_actions  # noqa: SLF001 - nor for this

    def suggestion(self, unknown: Sequence[str]) -> str:
        """Return which flag may have been meant by the first that is unknown."""
        name = next((one.partition("=")[0] for one in unknown if one.startswith("-")), "")
        known = [flag for flag in self._option_string_actions if flag.startswith("--")]
        return _meant(name, known)

    def teach(self, given: Sequence[str]) -> None:
        """Show the help in the place of an error where nothing is given and something has to be."""
        needed = any(action.required for action in self._actions)
        if needed and not (given and given[0] in self._option_string_actions):
            self.print_help(sys.stderr)
            self.exit(MISUSED)


def _meant(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def parser(prog: str, description: str, epilog: str) -> Parser:
    return Parser(prog=prog, description=description, epilog=epilog, **_shape())


def command(
    commands: Commands, name: str, short: str, *, description: str = "", epilog: str = ""
) -> Parser:
    """Build the parser of a command; `short` is its line in the list of all.

    The epilog has examples as of PROGRAM: the plugin of kubectl may be there without it.
    """
    made: Parser = commands.add_parser(
        name, help=short, description=description or short, **_shape()
    )
    made.epilog = epilog.replace(f"{PROGRAM} {name}", made.prog)
    return made


def exit_codes(one: str, four: str = "") -> str:
    """Write the part of a help text on exit codes, the same for all commands save for 1 and 4."""
    return (
        "exit codes:\n"
        "  0  fine\n"
        f"  1  {one}\n"
        "  2  wrong usage, or broken input\n"
        "  3  the cluster or a file cannot be read\n"
    ) + (f"  4  {four}\n" if four else "")


def complain(message: str, program: str = PROGRAM) -> None:
    """Say what is wrong on standard error, on one line whatever a file or variable holds."""
    line = printable(" ".join(message.split()))
    print(f"{program}: {line}", file=sys.stderr)  # noqa: T201 - no log yet


def say(text: str) -> None:
    """Write the answer that was asked for, harmless."""
    try:
        print(harmless(text), end="\n" if text else "", flush=True)  # noqa: T201 - that is what a command is for
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UnreadableError(f"cannot write to standard output: {error.strerror}") from error


def harmless(text: str) -> str:
    """Escape what could drive a terminal, or is not in the encoding of the output, as in JSON."""
    text = _CONTROLS.sub(lambda found: _spelled(found[0]), text)
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, _SPELLED).decode(encoding)


def _spelled(text: str) -> str:
    """Spell characters as JSON does, those beyond 16 bits as two."""
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _spell(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)  # noqa: S101 - nothing is decoded with it
    return _spelled(error.object[error.start : error.end]), error.end


_SPELLED: Final = "spelled"
"""What becomes of characters that a terminal or a pipe that is not of Unicode cannot take."""
codecs.register_error(_SPELLED, _spell)


def _shape() -> dict[str, Any]:
    return {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
