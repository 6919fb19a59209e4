"""What every command does with a terminal: flags, exit codes, tables, progress, completion."""
