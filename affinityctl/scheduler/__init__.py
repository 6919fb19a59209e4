"""What the commands know of the scheduler, and a server leaves to it: its file, volumes, spread."""
