"""Votes: profiles of them, one file for each kind, and what people call them."""
