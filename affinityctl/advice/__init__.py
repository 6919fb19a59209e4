"""Whether the extender pays in a cluster: its rules, what they cost, and the mode to take."""
