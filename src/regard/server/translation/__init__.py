"""Translation service: requests, results, languages and settings; no HTTP, no torch."""
