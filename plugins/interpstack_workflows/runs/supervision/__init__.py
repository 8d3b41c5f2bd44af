"""Supervise the runs of one process: leases, activations, suspension and wake-ups."""
