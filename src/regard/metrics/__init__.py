"""Evaluation metrics for translation and classification, with significance tests; no torch."""
