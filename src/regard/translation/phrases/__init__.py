"""Phrases that a translation must contain or avoid, and the terms of glossaries."""
