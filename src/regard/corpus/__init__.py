"""Training corpora: checked, deduplicated, held out, tokenized and cached."""
