"""English-French sentence pairs from a grammar and a lexicon of our own: a corpus that needs no download."""
