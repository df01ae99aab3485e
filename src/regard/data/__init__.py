"""Token ids to batches: memory-mapped storage, bucketing, packing, shuffled streams."""
