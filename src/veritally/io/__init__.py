"""Vote files and data frames to and from Profile."""

from veritally.io.votes import read, write

__all__ = ["read", "write"]
