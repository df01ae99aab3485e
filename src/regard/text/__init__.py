"""Text to token ids: lines, compression, Unicode, tokenizers, sentences and glossary. No torch."""
