"""A model made ready to be searched."""
