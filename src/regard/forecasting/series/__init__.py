"""Time series tables: read, put on a regular time grid, scaled and cut into windows."""
