"""The rules, one family a file; ``veritally.registry`` lists them by name."""
