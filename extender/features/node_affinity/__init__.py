"""Node selectors and node affinity in the scheduler's place: the plugin NodeAffinity."""
