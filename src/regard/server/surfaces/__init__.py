"""HTTP interfaces of the translation server, each as its clients know it, on `TranslationService`."""
