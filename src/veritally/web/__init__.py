"""The page: a committee ranks, says what it has seen, and reads the answer."""
