"""Oddities: voters who deserve a look, found by their votes alone."""
