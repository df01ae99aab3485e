"""HTTP servers: the foundation they share, and the explorer."""
