"""Which placed pods break rules: in the log, as a metric, as JSON and on the page."""
