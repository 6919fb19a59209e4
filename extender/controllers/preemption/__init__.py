"""Evicts less important pods for those that only our rules keep from every node."""
