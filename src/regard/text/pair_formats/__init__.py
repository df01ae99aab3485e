"""Files that hold both sides of sentence pairs: .tsv, .csv, .jsonl, Parquet, TMX, XLIFF and PO, streamed."""
