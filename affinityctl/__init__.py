"""The commands for people: they ask a cluster, or files, and may import all of the extender."""
