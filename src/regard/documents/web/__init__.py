"""Web documents: HTML and Markdown."""
