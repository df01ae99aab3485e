"""HTTP servers: the explorer and what every server shares."""
