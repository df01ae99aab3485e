"""Office documents and e-books: zip archives of XML parts, of which only the text changes."""
