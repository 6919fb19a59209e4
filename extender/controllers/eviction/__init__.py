"""Evicts pods that break a rule which is to hold for as long as they run."""
