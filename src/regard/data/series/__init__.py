"""Series: from a table with a time column to scaled windows."""
