"""Scenario → votes with a known truth → rules → regret."""
