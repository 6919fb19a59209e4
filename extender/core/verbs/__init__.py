"""One rule book for each callback: state and question in, answer out."""
