"""Panels: what is known of voters besides how much they saw."""
