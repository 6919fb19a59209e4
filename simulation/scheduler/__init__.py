"""A kube-scheduler as an extender meets it: queue, cache, cycles, and preemption."""
