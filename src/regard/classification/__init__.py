"""Text classification with a class token on the encoder."""
