"""Argument groups that several subcommands share."""
