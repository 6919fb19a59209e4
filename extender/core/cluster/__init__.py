"""The live picture of the cluster: mutable, synchronous, pure."""
