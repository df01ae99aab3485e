"""Localization files: gettext, translation memories, XLIFF and the string resources of applications."""
