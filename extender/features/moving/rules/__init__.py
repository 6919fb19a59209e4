"""What is booked and decided about running pods and their rules: no I/O, clock or log."""
