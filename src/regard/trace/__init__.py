"""Traces: one prediction recorded with its attention, candidates, beam and layers."""
