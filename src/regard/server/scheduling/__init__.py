"""Batch scheduler of the translation server: pure, without I/O and without a clock of its own."""
