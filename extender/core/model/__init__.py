"""What the words mean: immutable values, no I/O, no clock."""
