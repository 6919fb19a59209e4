"""The command leftovers."""
