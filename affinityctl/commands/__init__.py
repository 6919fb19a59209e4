"""What each command takes. What it needs is imported when it runs, so that help comes at once."""
