"""Where the stages meet."""
