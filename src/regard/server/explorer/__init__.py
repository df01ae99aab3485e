"""The explorer: its routes, the trace service, checkpoints of a run and training metrics."""
