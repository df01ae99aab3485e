"""Training logs: console, metrics.jsonl, TensorBoard."""
