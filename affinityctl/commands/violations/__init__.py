"""The command violations: which placed pods break required rules, and what becomes of them."""
