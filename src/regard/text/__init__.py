"""Text to token ids and back: lines, compression, tokenizer, BPE, sentences, glossary; no torch."""
