"""What pods and nodes say of the whole cluster, found without the counters."""
