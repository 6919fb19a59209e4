"""The command quota: who uses cross-namespace affinity, and what quotas say about it."""
