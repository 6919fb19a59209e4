"""What is booked on nodes, namespaces and pods: sums that events move."""
