"""Counters per topology domain, and what moves them."""
