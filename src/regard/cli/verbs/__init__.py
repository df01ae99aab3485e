"""The verbs of the command line: one module each, with its arguments and what it runs."""
