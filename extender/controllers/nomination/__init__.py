"""Points pods that were refused to nodes that the scheduler did not ask about."""
