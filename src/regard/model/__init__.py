"""The Transformer, one file per section of the paper; imports nothing but torch."""
