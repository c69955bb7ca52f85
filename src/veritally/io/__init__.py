"""Vote files and data frames to and from Profile."""

from veritally.io.votes import read, to_frame, write

__all__ = ["read", "to_frame", "write"]
