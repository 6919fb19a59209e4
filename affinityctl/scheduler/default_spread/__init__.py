"""Default topology spread constraints of a scheduler, for the commands."""
