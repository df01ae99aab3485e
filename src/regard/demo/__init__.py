"""The demo corpus of `regard demo`."""
