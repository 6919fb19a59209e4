"""Loops that run beside the callbacks and never see a request."""
