"""Finds mistakes: in the scheduler's file and ours, in rights, and in the affinity of workloads.

`rules/` has one subject a file, `rulebook` the table of all rules by their ids. A rule looks at one
subject (a `Setup`, `Rights`, a `Template`) and yields what it finds; nothing here asks a cluster.
"""
