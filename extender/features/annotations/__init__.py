"""Rules that pods carry in annotations: affinity-extender.io/affinity and others of that name."""
