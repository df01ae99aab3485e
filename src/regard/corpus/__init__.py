"""Corpora: checked, deduplicated, held out, tokenized and cached before training."""
