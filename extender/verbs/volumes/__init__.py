"""What volumes say of nodes: the scheduler's four plugins about them, as filter plugins."""
