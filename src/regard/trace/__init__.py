"""One translation, looked into: every number that produced it, as plain arrays and JSON."""
