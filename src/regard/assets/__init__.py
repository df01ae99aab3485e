"""The front end of the explorer and of exported traces: HTML, CSS, JavaScript."""
