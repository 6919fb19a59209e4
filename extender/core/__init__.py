"""Everything that is no optional feature."""
