"""What each command for people is: a folder, with its flags, its words and what carries it out.

Flags are imported for help, and `run` where the command is called: help comes at once.
"""

from typing import Final

COMMANDS: Final = (
    "explain",
    "simulate",
    "advise",
    "lint",
    "quota",
    "violations",
    "dump",
    "leftovers",
    "config",
    "version",
)
"""In the order of the help."""
