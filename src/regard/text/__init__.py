"""Text to token ids; no torch."""
