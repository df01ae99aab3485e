"""A synthetic English-French corpus generated from a grammar and a lexicon; it needs no download."""
