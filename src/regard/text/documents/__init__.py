"""Documents: take the text out, put the translation back, and leave every other byte alone."""
