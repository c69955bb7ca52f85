"""The answer as a page, a table, or sentences."""

from veritally.report.writing import write_report

__all__ = ["write_report"]
