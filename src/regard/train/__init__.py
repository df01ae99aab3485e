"""Training: loss, optimizer, loop, checkpoint state, device; independent of the task."""
