"""Learned rules: networks that encode each voter, sum, and decode."""
