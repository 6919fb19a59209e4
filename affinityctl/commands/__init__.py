"""What each command takes; what carries it out is imported when it runs: help comes at once."""
