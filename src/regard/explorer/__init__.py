"""Show it: the curves of a training, one translation in the terminal, and the page that looks inside."""
