"""Document formats: extract the text, insert the translation, keep every other byte."""
