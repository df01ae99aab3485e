"""Operations of the translation server: API keys and quotas, metrics, reload."""
