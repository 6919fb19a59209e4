"""The command version."""
