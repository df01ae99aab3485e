"""HTTP servers: the translation server, the explorer, and the foundation they share."""
