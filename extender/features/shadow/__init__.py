"""Mode shadow: where the extender would have differed from the scheduler is counted and logged."""
