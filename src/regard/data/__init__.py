"""Token ids to batches: memory-mapped corpora, shuffled streams, packing and caching."""
