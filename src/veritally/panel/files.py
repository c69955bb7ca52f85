"""Reading a panel, whether a person wrote it or it was learned."""

from os import PathLike

from veritally.panel.base import LEARNED, AnyPanel
from veritally.panel.checks import read_json
from veritally.panel.learned import LearnedPanel
from veritally.panel.panel import Panel


def read_panel(path: str | PathLike[str]) -> AnyPanel:
    """Read a panel from a JSON file: one that was learned, or one that says who belongs together."""
    with read_json(path) as given:
        learned = isinstance(given, dict) and given.get("format") == LEARNED
        return LearnedPanel.from_dict(given) if learned else Panel.from_dict(given)
