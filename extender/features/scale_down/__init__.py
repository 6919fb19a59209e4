"""Deletion costs, by which a scale-down leaves the other pods of a controller spread."""
