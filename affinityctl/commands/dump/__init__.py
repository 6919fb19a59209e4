"""The command dump: what the other commands read of a cluster, in a file."""
