"""The whole program in a simulated cluster: years of faults in minutes, replayable by a seed."""
