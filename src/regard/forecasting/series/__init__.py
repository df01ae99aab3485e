"""Time series tables: reading, regular time grid, scaling, windows."""
