"""File jobs: line batches, worker pool, resumable translation of large files."""
