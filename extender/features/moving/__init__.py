"""Evicts running pods: for rules that are to hold while they run, and for preferred ones."""
