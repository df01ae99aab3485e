"""Scores to sequences: greedy and beam search, sampling, constraints; independent of the model."""
