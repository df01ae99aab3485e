"""What a training writes: console output, metrics.jsonl and TensorBoard files."""
