"""Answers to people's questions: why a pod fits where it does, and which rules are broken."""
