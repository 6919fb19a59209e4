"""Explanations and workloads as JSON."""
