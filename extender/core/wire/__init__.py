"""JSON in, values out, and back; nothing raw goes further in."""
