"""The demo corpus."""
