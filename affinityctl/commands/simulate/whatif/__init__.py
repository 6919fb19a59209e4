"""What would become of a cluster: pods placed, nodes lost, updates rolled; all of it in memory."""
