"""Scores to sequences; knows no model."""
