"""Model process of the translation server: its protocol, its main loop and its supervisor."""
