"""Forecasting: time series from a table to a model folder, and from a model folder to forecasts."""
