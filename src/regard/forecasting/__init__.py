"""Time series forecasting with the encoder-decoder."""
