"""Volumes, for the commands: what there is of them, and what the scheduler's four plugins say."""
