"""Figures: training curves, attention matrices, forecasts; SVG, HTML and terminal."""
