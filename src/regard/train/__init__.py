"""Loss down, step by step; knows no task."""
