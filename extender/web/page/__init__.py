"""The page for people: HTML made here, without scripts, and nothing loaded from anywhere."""
