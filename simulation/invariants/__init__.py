"""What must hold whatever happens; each breach ends the run with its name."""
