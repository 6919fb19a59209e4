"""What must hold whatever happens; each breach ends the run with a name from `docs/protocol.md`."""
