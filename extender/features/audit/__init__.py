"""Counters are compared with a recount while the program runs."""
