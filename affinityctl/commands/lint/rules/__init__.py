"""The rules, one concept a file; each file has a table RULES."""
