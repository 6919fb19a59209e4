"""Helps pods that were refused on every node: by hints, and by evicting less important pods."""
