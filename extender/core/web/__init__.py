"""The HTTP edges: callbacks for the scheduler, operations for people and probes."""
