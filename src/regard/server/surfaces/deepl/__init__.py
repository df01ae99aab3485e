"""DeepL's API, so that its clients can use this server unchanged."""
