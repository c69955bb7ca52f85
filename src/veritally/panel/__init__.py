"""Panels: which voters share errors."""
