"""The command line: `main.py`, the verbs, and the arguments and output that they share."""
