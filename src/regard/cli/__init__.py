"""The command `regard`, one file per verb."""
