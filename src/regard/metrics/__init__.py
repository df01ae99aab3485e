"""How good a translation is; no torch."""
