"""The command config."""
