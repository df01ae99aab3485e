"""The version of the package, for every layer that records it."""

__version__ = "0.1.0"
