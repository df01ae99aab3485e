"""Training from a request: the settings of a run, and the task that trains it."""
