"""The command simulate: what would become of a cluster if something changed."""
