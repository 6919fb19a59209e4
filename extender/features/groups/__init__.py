"""Profiles of the scheduler whose pods its own plugins judge: for pod groups."""
